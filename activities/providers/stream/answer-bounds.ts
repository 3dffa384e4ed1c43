/** How large an answer may be, after decompression: a server's word for its size is worth nothing (ADR 0047). */

/** Bytes of a whole successful answer: 128,000 tokens, each in an event of its own of 500 bytes (ADR 0047). */
export const maxReplyBytes = 64 * 1024 * 1024;

/** Bytes of one event or of one line: eight times an answer of 1 MB (ADR 0047). */
export const maxEventBytes = 8 * 1024 * 1024;

/** Events of one answer: four for each of 128,000 tokens (ADR 0047). */
export const maxEvents = 512_000;

/** Characters that a model may say in one reply: 500,000 tokens of English (ADR 0047). */
export const maxSaidCharacters = 2 * 1024 * 1024;

/** Bytes of an error's body that are read: a vendor's error says what it says in its first lines (ADR 0047). */
export const maxErrorBytes = 64 * 1024;

/** Milliseconds that an error's body may take once its head is there; then the status alone says what failed (ADR 0047). */
export const errorBodyMs = 5_000;

/** Thrown for an answer beyond a bound; the message names the bound. */
export class OversizeAnswer extends Error {
  constructor(found: string) {
    super(found);
    this.name = 'OversizeAnswer';
  }
}

const newLine = 10;
const carriageReturn = 13;

/** Index behind the last blank line, where an event ends, or -1; a line ends with LF, CRLF or CR. */
function endOfLastEvent(bytes: Uint8Array, from: number): number {
  for (let at = bytes.length - 1; at > from; at -= 1) {
    const [last, before] = [bytes[at], bytes[at - 1]];
    if (last !== newLine && last !== carriageReturn) continue;
    if (before === last) return at + 1;
    if (last !== newLine || before !== carriageReturn) continue;
    if (bytes[at - 2] === newLine) return at + 1;
  }
  return -1;
}

/**
 * Passes an answer on in whole events, within the bounds.
 *
 * Contract: the bytes stay the same, the rest at the end included. An SDK searches all that it holds with each piece that
 * arrives, so a long event in small pieces would take time in proportion to the square of its length: here it arrives at once.
 * Errors: the stream fails with `OversizeAnswer`, and its source is cancelled.
 */
export function boundedAnswer(
  onBytes: (chunk: Uint8Array) => void,
): TransformStream<Uint8Array, Uint8Array> {
  const held = new HeldBytes();
  let totalBytes = 0;
  const flush = (controller: TransformStreamDefaultController<Uint8Array>): void => {
    if (held.length > 0) controller.enqueue(held.take());
  };
  return new TransformStream({
    transform: (chunk, controller) => {
      onBytes(chunk);
      totalBytes += chunk.length;
      if (totalBytes > maxReplyBytes)
        throw new OversizeAnswer(`more than ${maxReplyBytes} bytes of an answer`);
      // An event's end may begin in what is held.
      const tail = held.last(3);
      const joined = tail.length === 0 ? chunk : Buffer.concat([tail, chunk]);
      const end = Math.max(endOfLastEvent(joined, 0) - tail.length, 0);
      if (end > 0 && held.length === 0) controller.enqueue(chunk.subarray(0, end));
      else if (end > 0) {
        held.add(chunk.subarray(0, end));
        flush(controller);
      }
      held.add(chunk.subarray(end));
      if (held.length > maxEventBytes)
        throw new OversizeAnswer(`more than ${maxEventBytes} bytes of one event or line`);
    },
    flush,
  });
}

/** Bytes that wait for the end of their event; adding takes time in proportion to what is added, however small the pieces. */
class HeldBytes {
  length = 0;
  #bytes = Buffer.alloc(0);

  add(piece: Uint8Array): void {
    const length = this.length + piece.length;
    if (length > this.#bytes.length) {
      const grown = Buffer.allocUnsafe(Math.max(length, 2 * this.#bytes.length));
      this.#bytes.copy(grown, 0, 0, this.length);
      this.#bytes = grown;
    }
    this.#bytes.set(piece, this.length);
    this.length = length;
  }

  last(count: number): Uint8Array {
    return this.#bytes.subarray(Math.max(0, this.length - count), this.length);
  }

  take(): Uint8Array {
    const taken = this.#bytes.subarray(0, this.length);
    this.#bytes = Buffer.alloc(0);
    this.length = 0;
    return taken;
  }
}

/** The head of an error's body, as far as it comes within its bounds; whatever breaks or stalls it ends it. */
export async function headOfBody(
  body: ReadableStream<Uint8Array>,
  onBytes: (chunk: Uint8Array) => void,
): Promise<Buffer> {
  const reader = body.getReader();
  const parts: Uint8Array[] = [];
  let bytes = 0;
  const timer = setTimeout(() => void reader.cancel().catch(() => undefined), errorBodyMs);
  try {
    while (bytes < maxErrorBytes) {
      const { done, value } = await reader.read();
      if (done) break;
      onBytes(value);
      parts.push(value);
      bytes += value.length;
    }
  } catch {
    // What has arrived is enough.
  } finally {
    clearTimeout(timer);
    void reader.cancel().catch(() => undefined);
  }
  return Buffer.concat(parts).subarray(0, maxErrorBytes);
}
