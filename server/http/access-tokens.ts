/** Bearer tokens: only their hashes are configured, and every check takes the same time whatever is presented. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { tenantPattern } from '../../workflows/core/limits';

/** What a token may do: read, or also start, steer and end runs. */
export type TokenRole = 'view' | 'operate';

/** A token as it is configured. */
export interface AccessToken {
  /** Who uses it, for the log and for what is done with it. */
  readonly name: string;
  /** SHA-256 of the token, 64 hexadecimal digits. */
  readonly sha256: string;
  readonly role: TokenRole;
  /** The tenant whose runs it reaches; absent: the runs of all. */
  readonly tenant?: string;
}

const tokenSchema = z
  .strictObject({
    name: z.string({ error: 'name must be a string' }).regex(/^[\w.@:-]{1,100}$/, {
      error: 'name must be 1 to 100 letters, digits, "_", "-", ".", "@" and ":"',
    }),
    sha256: z.string({ error: 'sha256 must be a string' }).regex(/^[0-9a-f]{64}$/, {
      error:
        'sha256 must be 64 hexadecimal digits, the hash of the token and never the token; `holdfast gateway-token NAME` makes both',
    }),
    role: z.enum(['view', 'operate'], { error: 'role must be "view" or "operate"' }),
    tenant: z
      .string({ error: 'tenant must be a string, or left out for all tenants' })
      .regex(tenantPattern, {
        error: 'tenant must be 1 to 100 letters, digits, "_", "-", ".", "@" and ":"',
      })
      .exactOptional(),
  })
  .readonly();

const tokensSchema = z
  .array(tokenSchema, {
    error: 'the tokens must be a list, such as [{ "name", "sha256", "role" }]',
  })
  .min(1, { error: 'there is no token, so nobody could do anything' })
  .max(1_000, { error: 'there are more than 1,000 tokens' })
  .refine((tokens) => new Set(tokens.map(({ name }) => name)).size === tokens.length, {
    error: 'two tokens have the same name',
  })
  .refine((tokens) => new Set(tokens.map(({ sha256 }) => sha256)).size === tokens.length, {
    error: 'two entries are for the same token',
  });

/** The tokens in a JSON text. Errors: a plain `Error` with every problem, in which no token stands. */
export function parseTokens(text: string): readonly AccessToken[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    throw new Error('it is no JSON');
  }
  const parsed = tokensSchema.safeParse(value);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) =>
    path.length === 0 ? message : `entry ${Number(path[0]) + 1}: ${message}`,
  );
  throw new Error(problems.join('; '));
}

/** A new token of 256 random bits, and how it is configured. */
export function makeToken(entry: Omit<AccessToken, 'sha256'>): {
  readonly token: string;
  readonly entry: AccessToken;
} {
  const token = `hf_${randomBytes(32).toString('base64url')}`;
  return { token, entry: { ...entry, sha256: hashOf(token).toString('hex') } };
}

function hashOf(token: string): Buffer {
  return createHash('sha256').update(token).digest();
}

/** Characters of the longest token that is looked at; headers as a whole have at most 16 KB. */
const tokenChars = 512;
const bearer = /^bearer +([\w.~+/-]+=*)$/i;

/** Finds who presents a token. Contract: compares hashes with all tokens, each in constant time. */
export function tokenFinder(
  tokens: readonly AccessToken[],
): (authorization: string | undefined) => AccessToken | undefined {
  const known = tokens.map((token) => ({ token, hash: Buffer.from(token.sha256, 'hex') }));
  return (authorization = '') => {
    const [, given = ''] = bearer.exec(authorization.slice(0, tokenChars)) ?? [];
    const hash = hashOf(given);
    let found: AccessToken | undefined;
    for (const each of known) if (timingSafeEqual(each.hash, hash)) found = each.token;
    return given === '' || authorization.length > tokenChars ? undefined : found;
  };
}
