/** A fetch that records what the SDKs discard: first byte, status, headers, and the head of the body. */
import { defined } from '../../../workflows/core/json';
import type { SeenAnswer } from '../failure/error-evidence';

/** Bytes of a body that are kept to explain a failure. */
const keptBodyBytes = 16_384;
/** Bytes of a JSON body that are kept, as it may be the whole reply: far above the largest one, 128,000 tokens. */
const keptJsonBytes = 8 * 1024 * 1024;

/** Headers of the SDKs that are sent. Credentials are not among them: an SDK may read those from the environment. */
const ownHeaders =
  /^(?:accept|content-type|user-agent|anthropic-version|anthropic-beta|x-stainless-[a-z-]+)$/;

/** The fetch of one request, and what it observed. */
export interface ObservedFetch {
  readonly fetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response>;
  readonly seen: () => SeenAnswer;
  readonly requestId: () => string | undefined;
}

/** What is sent with the request, and who is notified of the first byte. */
export interface ObservedFetchOptions {
  /** Sent unchanged; they override everything that an SDK adds. */
  readonly headers: Readonly<Record<string, string>>;
  readonly onFirstByte: () => void;
}

/**
 * Makes the fetch of exactly one request.
 *
 * Contract: the SDK gets the response unchanged; only the configured headers and those of `ownHeaders` are sent, so no environment
 * variable changes a request.
 */
export function observedFetch(options: ObservedFetchOptions): ObservedFetch {
  let status: number | undefined;
  let headers: Headers | undefined;
  const kept: Uint8Array[] = [];
  let keptBytes = 0;
  const keep = (chunk: Uint8Array): void => {
    if (keptBytes === 0) options.onFirstByte();
    const isJson = headers?.get('content-type')?.includes('application/json') === true;
    const most = isJson && status === 200 ? keptJsonBytes : keptBodyBytes;
    if (keptBytes < most) kept.push(chunk.subarray(0, most - keptBytes));
    keptBytes += chunk.byteLength;
  };
  return {
    fetch: async (input, init) => {
      const response = await fetch(input, { ...init, headers: sentHeaders(init, options.headers) });
      status = response.status;
      headers = response.headers;
      return observedResponse(response, keep);
    },
    seen: () => {
      const bodyText = keptBytes === 0 ? undefined : Buffer.concat(kept).toString('utf8');
      return defined({ status, headers, bodyText });
    },
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
