/** Encryption of everything that runs say: payloads and failures in Temporal, and the content of the store. */
import { existsSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { checkOptions } from '../lifecycle/check-options';
import { rememberSecret } from '../untrusted/known-secrets';
import type { Encryption } from './encryption-shape';
import { EncryptionKeyError, keyBytes, keyFromText, KeyRing, type KeyResolver } from './key-ring';
import { payloadCodec } from './payload-codec';

/** The keys of `createEncryption`. */
type Keys = Parameters<typeof createEncryption>[0]['keys'];

/** Ids of keys: they stand in payloads, in the store, and in environment variables. */
const keyIdShape = z
  .string({ error: 'give a string' })
  .regex(/^[^\s,]{1,200}$/, 'give 1 to 200 characters without spaces and commas');

/** What is wrong with the keys; undefined if nothing is. */
function keysProblem(keys: unknown): string | undefined {
  if (typeof keys === 'function') return undefined;
  if (typeof keys !== 'object' || keys === null)
    return 'give an object of keys by id, or a function from a key id to 32 bytes';
  for (const [id, key] of Object.entries(keys) as [string, unknown][]) {
    if (!keyIdShape.safeParse(id).success)
      return `${JSON.stringify(id)} is no id: give 1 to 200 characters without spaces and commas`;
    const bytes = typeof key === 'string' ? keyFromText(key) : key;
    if (!(bytes instanceof Uint8Array && bytes.length === keyBytes))
      return `"${id}" is not a key: give 32 bytes, or their base64 or hexadecimal digits (\`openssl rand -base64 32\` makes one)`;
  }
  return undefined;
}

const optionsShape = z
  .strictObject({
    keyId: keyIdShape,
    keys: z.custom<Keys>((keys) => keysProblem(keys) === undefined, {
      error: ({ input }) => keysProblem(input),
    }),
  })
  .superRefine(({ keyId, keys }, context) => {
    if (typeof keys === 'function' || Object.hasOwn(keys, keyId)) return;
    const message = `is "${keyId}", which is not among the keys (${Object.keys(keys).join(', ') || 'none'}): add it to keys`;
    context.addIssue({ code: 'custom', path: ['keyId'], message });
  });

function resolverOf(keys: Keys): KeyResolver {
  if (typeof keys === 'function') return keys;
  const byId = new Map(
    Object.entries(keys).map(([id, key]) => {
      if (typeof key !== 'string') return [id, Buffer.from(key)];
      rememberSecret(key);
      return [id, keyFromText(key)];
    }),
  );
  return (keyId) => {
    const key = byId.get(keyId);
    if (key !== undefined) return key;
    throw new EncryptionKeyError(
      `Encryption key "${keyId}" is not among the keys (${[...byId.keys()].join(', ')}). Add it to the keys of createEncryption (for commands: HOLDFAST_ENCRYPTION_KEYS) of every worker, client and command.`,
    );
  };
}

/** The compiled file if this is compiled, else its source: the SDK loads it by path, and bundles it with the workflows. */
function failureConverterPath(): string {
  const stem = path.join(__dirname, 'encoded-failures');
  return existsSync(`${stem}.js`) ? `${stem}.js` : `${stem}.ts`;
}

/**
 * Makes the encryption of a deployment: AES-256-GCM, with a key that has an id, so that keys can change while runs are in flight.
 *
 * Errors: `UserError` for a key or an id that is none, and for a `keyId` without its key. A function's keys are asked for when
 * they are needed: first when `openStore` opens the store.
 */
export function createEncryption(options: {
  /** Id of the key that encrypts from now on; 1 to 200 characters without spaces. It is readable in history and store. */
  readonly keyId: string;
  /**
   * The keys by id, each of 32 bytes: as bytes, or as text in base64 or hexadecimal digits. Or a function that finds a key at a
   * key management service; it is asked once per key and process, and again after an error.
   */
  readonly keys:
    | Readonly<Record<string, string | Uint8Array>>
    | ((keyId: string) => Uint8Array | Promise<Uint8Array>);
}): Encryption {
  const { keyId, keys } = checkOptions(
    'createEncryption',
    '',
    optionsShape,
    options,
    'Give { keyId, keys }.',
  );
  const ring = new KeyRing(resolverOf(keys));
  return {
    keyId,
    dataConverter: {
      payloadCodecs: [payloadCodec(keyId, ring)],
      failureConverterPath: failureConverterPath(),
    },
    key: (id) => ring.key(id),
  };
}
