/** A fetch that records what the SDKs discard (bytes, status, headers, the head of the body), and bounds what they hold. */
import { defined } from '../../../workflows/core/json';
import type { SeenAnswer } from '../failure/error-evidence';
import { boundedAnswer, boundedBytes, headOfBody } from './answer-bounds';
import { wholeEvents } from './event-names';

/** Bytes of a body that are kept to explain a failure. */
const keptBodyBytes = 16_384;
/** Bytes of a JSON body that are kept, as it may be the whole reply: far above the largest one, 128,000 tokens. */
const keptJsonBytes = 8 * 1024 * 1024;

/** Headers of the SDKs that are sent. Credentials are not among them: an SDK may read those from the environment. */
const ownHeaders =
  /^(?:accept|content-type|content-length|user-agent|anthropic-version|anthropic-beta|x-stainless-[a-z-]+)$/;

/** The fetch of one request, and what it observed. */
export interface ObservedFetch {
  readonly fetch: (input: string | URL | Request, init?: RequestInit) => Promise<Response>;
  readonly seen: () => SeenAnswer;
  /** Bytes of the body so far, decompressed. */
  readonly bytes: () => number;
  readonly requestId: () => string | undefined;
}

/** What is sent with the request, and who is notified of the body's bytes. */
export interface ObservedFetchOptions {
  /** Sent unchanged; they override everything that an SDK adds. */
  readonly headers: Readonly<Record<string, string>>;
  /** Everything that the SDK adds is sent: it signs the request. */
  readonly signsItself?: boolean;
  readonly onBytes: () => void;
  /** The SDK drops an event of the stream that has lost its name or its data: the answer then fails instead. */
  readonly namesEvents?: boolean;
}

/**
 * Makes the fetch of exactly one request.
 *
 * Contract: the SDK gets the response within its bounds: an error's body is cut, a larger answer fails (`answer-bounds.ts`).
 * Only the configured headers and those of `ownHeaders` are sent, so no environment variable changes a request, unless its client
 * signs it. No redirect is followed.
 */
export function observedFetch(options: ObservedFetchOptions): ObservedFetch {
  let status: number | undefined;
  let headers: Headers | undefined;
  const kept: Uint8Array[] = [];
  let keptBytes = 0;
  /** Whatever type its header names: gateways send JSON as text or as an event stream. */
  let beginsAsJson = false;
  const keep = (chunk: Uint8Array): void => {
    options.onBytes();
    if (keptBytes === 0)
      beginsAsJson = /^\ufeff?\s*\{/.test(Buffer.from(chunk.subarray(0, 64)).toString());
    const most = beginsAsJson && status === 200 ? keptJsonBytes : keptBodyBytes;
    if (keptBytes < most) kept.push(chunk.subarray(0, most - keptBytes));
    keptBytes += chunk.byteLength;
  };
  return {
    fetch: async (input, init) => {
      const own = sentHeaders(init, options);
      // A redirect would carry the key to another host: fetch takes only `authorization` away.
      const response = await fetch(input, {
        ...init,
        ...bytesOf(init),
        headers: own,
        redirect: 'manual',
      });
      status = response.status;
      headers = response.headers;
      return boundedResponse(response, keep, options.namesEvents === true);
    },
    seen: () => {
      const bodyText = keptBytes === 0 ? undefined : Buffer.concat(kept).toString('utf8');
      return defined({ status, headers, bodyText });
    },
    bytes: () => keptBytes,
    requestId: () => headers?.get('request-id') ?? headers?.get('x-request-id') ?? undefined,
  };
}

/** The body as UTF-8: `fetch` itself searches a text for lone surrogates first, which takes longer than all that is left to do. */
function bytesOf(init: RequestInit | undefined): Pick<RequestInit, 'body'> {
  return typeof init?.body === 'string' ? { body: Buffer.from(init.body) } : {};
}

function sentHeaders(
  init: RequestInit | undefined,
  { headers: own, signsItself = false }: ObservedFetchOptions,
): Headers {
  const sent = new Headers();
  new Headers(init?.headers).forEach((value, name) => {
    if (signsItself || ownHeaders.test(name)) sent.set(name, value);
  });
  for (const [name, value] of Object.entries(own)) sent.set(name, value);
  return sent;
}

/** Frames of their own length, each of at most 16 MB, which its SDK takes apart (Amazon Bedrock). */
const framedType = 'application/vnd.amazon.eventstream';

async function boundedResponse(
  response: Response,
  keep: (chunk: Uint8Array) => void,
  namesEvents: boolean,
): Promise<Response> {
  const { body, ok, status, statusText, headers } = response;
  if (body === null) return response;
  const isFramed = headers.get('content-type')?.includes(framedType) === true;
  const bound = isFramed ? boundedBytes(keep) : boundedAnswer(keep);
  const whole = ok && namesEvents && !isFramed ? body.pipeThrough(wholeEvents()) : body;
  const bounded = ok ? whole.pipeThrough(bound) : await headOfBody(body, keep);
  return new Response(bounded, { status, statusText, headers });
}
