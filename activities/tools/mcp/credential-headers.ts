/** The headers of an MCP server over HTTP; a function is asked again once the server refuses what it gave. */
import { setTimeout as delay } from 'node:timers/promises';
import type { FetchLike } from '@modelcontextprotocol/sdk/shared/transport.js';
import { forgetSecretsOf, rememberSecretsOf } from '../../untrusted/known-secrets';
import type { HttpServer } from './mcp-options';

type HeaderSet = Readonly<Record<string, string>>;

/** Milliseconds that a function for headers may take. */
const askMs = 30_000;
/** Sets of headers whose secrets are still known: an expired token is none, and each costs time in every text. */
const keptSets = 4;

/** The author's function `headers` gave none. */
export class HeadersProblem extends Error {
  override readonly name = 'HeadersProblem';
}

/** Sends requests with the current headers. */
export interface CredentialHeaders {
  readonly fetch: FetchLike;
}

async function asked(give: () => HeaderSet | Promise<HeaderSet>): Promise<HeaderSet> {
  const done = new AbortController();
  const late = delay(askMs, undefined, { ref: false, signal: done.signal }).then(() => {
    throw new Error(`it took more than ${askMs} ms`);
  });
  try {
    return await Promise.race([give(), late]);
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    throw new HeadersProblem(`its function "headers" failed: ${why}`, { cause: thrown });
  } finally {
    done.abort();
    late.catch(() => undefined);
  }
}

/** Whether a refusal says that the credential is the cause: nothing was done then. */
function isCredentialRefused({ status, headers }: Response): boolean {
  const challenge = headers.get('www-authenticate') ?? '';
  return status === 401 || (status === 403 && challenge.includes('invalid_token'));
}

/** The sets of one server, oldest first, over all its sessions. */
export type RememberedHeaders = HeaderSet[];

/**
 * Makes the headers of one session. A function is asked with the first request and after each refusal, once per refusal: the
 * request is then sent a second time, since a server that refuses a credential has not looked at the request.
 *
 * Errors: `HeadersProblem` if the function throws or takes longer than 30 s.
 */
export function credentialHeaders(
  given: HttpServer['headers'],
  remembered: RememberedHeaders,
): CredentialHeaders {
  let current: Promise<HeaderSet> | undefined;
  const ask = (): Promise<HeaderSet> => {
    const headers = typeof given === 'function' ? asked(given) : Promise.resolve(given ?? {});
    current = headers.then((set) => {
      rememberSecretsOf(set);
      remembered.push(set);
      if (remembered.length > keptSets) {
        forgetSecretsOf(remembered.shift());
        remembered.forEach(rememberSecretsOf);
      }
      return set;
    });
    current.catch(() => {
      current = undefined;
    });
    return current;
  };
  /** Other headers than these: another call may have asked already. */
  const renewed = (used: Promise<HeaderSet>): Promise<HeaderSet> =>
    current === undefined || current === used ? ask() : current;
  const send = async (url: string | URL, init: RequestInit | undefined, set: HeaderSet) => {
    const headers = new Headers(init?.headers);
    for (const [name, value] of Object.entries(set)) headers.set(name, value);
    return fetch(url, { ...init, headers });
  };
  return {
    fetch: async (url, init) => {
      const used = (current ??= ask());
      const response = await send(url, init, await used);
      if (typeof given !== 'function' || !isCredentialRefused(response)) return response;
      await response.body?.cancel();
      return send(url, init, await renewed(used));
    },
  };
}
