/** A fetch that remembers what the SDKs throw away: first byte, status, headers, and the head of the body. */
import type { SeenAnswer } from '../failure/error-evidence';

/** Characters of a body that are kept to explain a failure. */
const keptBodyBytes = 16_384;

/** Headers of an SDK's own that may leave. Credentials are not among them: an SDK may take those from the environment. */
const ownHeaders =
  /^(?:accept|content-type|user-agent|anthropic-version|anthropic-beta|x-stainless-[a-z-]+)$/;

/** One request's fetch and what it saw. */
export interface ObservedFetch {
  readonly fetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response>;
  readonly seen: () => SeenAnswer;
  readonly requestId: () => string | undefined;
}

/** What goes out with every request, and who hears of the first byte. */
export interface ObservedFetchOptions {
  /** Sent as they are; these win over everything that an SDK adds. */
  readonly headers: Readonly<Record<string, string>>;
  readonly onFirstByte: () => void;
}

/**
 * Makes the fetch of exactly one request.
 *
 * Contract: the answer reaches the SDK unchanged; only the configured headers and the SDK's own leave the process, so that no
 * environment variable changes a request.
 */
export function observedFetch(options: ObservedFetchOptions): ObservedFetch {
  let status: number | undefined;
  let headers: Headers | undefined;
  const kept: Uint8Array[] = [];
  let keptBytes = 0;
  const keep = (chunk: Uint8Array): void => {
    if (keptBytes === 0) options.onFirstByte();
    if (keptBytes < keptBodyBytes) kept.push(chunk.subarray(0, keptBodyBytes - keptBytes));
    keptBytes += chunk.byteLength;
  };
  return {
    fetch: async (input, init) => {
      const response = await fetch(input, { ...init, headers: sentHeaders(init, options.headers) });
      status = response.status;
      headers = response.headers;
      return observedResponse(response, keep);
    },
    seen: () => ({
      ...(status === undefined ? {} : { status }),
      ...(headers === undefined ? {} : { headers }),
      ...(keptBytes === 0 ? {} : { bodyText: Buffer.concat(kept).toString('utf8') }),
    }),
    requestId: () => headers?.get('request-id') ?? headers?.get('x-request-id') ?? undefined,
  };
}

function sentHeaders(
  init: RequestInit | undefined,
  own: Readonly<Record<string, string>>,
): Headers {
  const sent = new Headers();
  new Headers(init?.headers).forEach((value, name) => {
    if (ownHeaders.test(name)) sent.set(name, value);
  });
  for (const [name, value] of Object.entries(own)) sent.set(name, value);
  return sent;
}

function observedResponse(response: Response, keep: (chunk: Uint8Array) => void): Response {
  if (response.body === null) return response;
  const observer = new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, controller) => {
      keep(chunk);
      controller.enqueue(chunk);
    },
  });
  return new Response(response.body.pipeThrough(observer), {
    status: response.status,
    statusText: response.statusText,
    headers: response.headers,
  });
}
