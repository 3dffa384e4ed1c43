/** Encodes the body of a request. A conversation is sent again with each request, and each of its messages is encoded only once. */
import { isRecord } from '../untrusted-json';
import { perObject } from './per-object';

/** Fields of a body that hold the conversation. */
const conversationFields: ReadonlySet<string> = new Set(['messages', 'input']);

const messageBytes = perObject((message: object) => Buffer.from(JSON.stringify(message)));

const [comma, open, close] = [Buffer.from(','), Buffer.from('['), Buffer.from(']')] as const;

function bytesOf(value: unknown): Buffer {
  return isRecord(value) ? messageBytes(value) : Buffer.from(JSON.stringify(value));
}

/**
 * The JSON of a request body as UTF-8, the same bytes as those of `JSON.stringify`.
 *
 * Contract: a message that is sent again is the same object, and never changes. Another one is only encoded again.
 */
export function bodyBytes(body: object): Buffer {
  const pieces: Buffer[] = [];
  let before = '{';
  for (const [field, value] of Object.entries(body) as [string, unknown][]) {
    if (value === undefined) continue;
    const name = `${before}${JSON.stringify(field)}:`;
    before = ',';
    if (!conversationFields.has(field) || !Array.isArray(value)) {
      pieces.push(Buffer.from(name + JSON.stringify(value)));
      continue;
    }
    pieces.push(Buffer.from(name), open);
    value.forEach((message, index) => {
      if (index > 0) pieces.push(comma);
      pieces.push(bytesOf(message));
    });
    pieces.push(close);
  }
  pieces.push(Buffer.from(before === '{' ? '{}' : '}'));
  return Buffer.concat(pieces);
}
