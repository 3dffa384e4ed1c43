/** Encodes the body of a request. A conversation is sent again with each request, and what was encoded for an earlier one is kept. */
import { isRecord } from '../untrusted-json';

/** Fields of a body that hold the conversation. */
const conversationFields: ReadonlySet<string> = new Set(['messages', 'input']);

/** Characters of JSON from which consecutive messages are kept as one piece, and bytes from which a body is sent in pieces. */
const pieceSize = 65_536;

/** Consecutive messages as they are sent. */
interface Piece {
  readonly messages: readonly unknown[];
  /** A comma and the JSON of the messages, with commas between them. */
  readonly bytes: Buffer;
}

/** By their first message, as long as that lives. */
const keptPieces = new WeakMap<object, Piece>();

function keptPiece(messages: readonly unknown[], at: number): Piece | undefined {
  const first = messages[at];
  const kept = isRecord(first) ? keptPieces.get(first) : undefined;
  return kept?.messages.every((message, index) => message === messages[at + index]) === true
    ? kept
    : undefined;
}

function newPiece(messages: readonly unknown[], at: number): Piece {
  let json = '';
  let end = at;
  // The first one is a piece of its own: where it is the system prompt, it is another object in each request.
  const most = at === 0 ? 1 : messages.length;
  for (; end < most && json.length < pieceSize; end += 1)
    json += `,${JSON.stringify(messages[end])}`;
  const piece = { messages: messages.slice(at, end), bytes: Buffer.from(json) };
  const first = messages[at];
  // A shorter one is the last, and will be another in the next request.
  if (json.length >= pieceSize && isRecord(first)) keptPieces.set(first, piece);
  return piece;
}

function piecesOf(messages: readonly unknown[]): readonly Buffer[] {
  const pieces: Buffer[] = [];
  for (let at = 0; at < messages.length;) {
    const piece = keptPiece(messages, at) ?? newPiece(messages, at);
    pieces.push(at === 0 ? piece.bytes.subarray(1) : piece.bytes);
    at += piece.messages.length;
  }
  return pieces;
}

/**
 * The JSON of a request body as UTF-8 in pieces; together they are the bytes of `JSON.stringify`.
 *
 * Contract: a message that is sent again is the same object, and never changes. Another one is only encoded again.
 */
export function bodyPieces(body: object): readonly Buffer[] {
  const pieces: Buffer[] = [];
  let text = '{';
  for (const [field, value] of Object.entries(body) as [string, unknown][]) {
    if (value === undefined) continue;
    if (text !== '{') text += ',';
    text += `${JSON.stringify(field)}:`;
    if (conversationFields.has(field) && Array.isArray(value)) {
      pieces.push(Buffer.from(`${text}[`), ...piecesOf(value));
      text = ']';
    } else text += JSON.stringify(value);
  }
  return [...pieces, Buffer.from(`${text}}`)];
}

/**
 * Whether this version of Node's `fetch` makes a network error of an answer of 401 to a request that is sent as a stream.
 *
 * Source: nodejs/undici#4940; the code of undici 7.19.0 to 7.24.x and 8.0.0 to 8.0.2.
 */
export function losesUnauthorized(undici = ''): boolean {
  return /^(?:7\.(?:19|2[0-4])|8\.0)\./.test(undici);
}

/** A body for `fetch`, and the headers that describe it. */
interface EncodedBody {
  readonly body: Buffer | ReadableStream<Buffer>;
  readonly headers: Readonly<Record<string, string>>;
}

/** Encodes a body: a long one as a stream of pieces, since `fetch` copies a buffer three times (ADR 0093). */
export function encodedBody(body: object): EncodedBody {
  const pieces = bodyPieces(body);
  const bytes = pieces.reduce((sum, piece) => sum + piece.byteLength, 0);
  const headers = { 'content-type': 'application/json', 'content-length': `${bytes}` };
  if (bytes < pieceSize || losesUnauthorized(process.versions['undici']))
    return { body: Buffer.concat(pieces), headers };
  const stream = new ReadableStream<Buffer>({
    start: (controller) => {
      for (const piece of pieces) controller.enqueue(piece);
      controller.close();
    },
  });
  return { body: stream, headers };
}
