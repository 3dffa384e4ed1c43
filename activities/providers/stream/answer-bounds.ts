/** How large an answer may be, after decompression: a server's word for its size is worth nothing (ADR 0047). */

/** Bytes of a whole successful answer: 128,000 tokens, each in an event of its own of 500 bytes (ADR 0047). */
const maxReplyBytes = 64 * 1024 * 1024;

/** Bytes of one event or of one line: eight times an answer of 1 MB (ADR 0047). */
const maxEventBytes = 8 * 1024 * 1024;

/** Events and comments of one answer: four for each of 128,000 tokens (ADR 0047). */
const maxEvents = 512_000;

/** Characters that a model may say in one reply: 500,000 tokens of English (ADR 0047). */
export const maxSaidCharacters = 2 * 1024 * 1024;

/** Blocks, items, calls or details of one reply: more than a hundred times what is ever run of it (ADR 0047). */
const maxParts = 10_000;

/** Bytes of an error's body that are read: a vendor's error says what it says in its first lines (ADR 0047). */
const maxErrorBytes = 64 * 1024;

/** Milliseconds that an error's body may take once its head is there; then the status alone says what failed (ADR 0047). */
const errorBodyMs = 5_000;

/** Thrown for an answer beyond a bound; the message names the bound. */
export class OversizeAnswer extends Error {
  constructor(found: string) {
    super(found);
    this.name = 'OversizeAnswer';
  }
}

/**
 * Makes sure that a reply may have one more part.
 *
 * Errors: `OversizeAnswer`.
 */
export function requireRoom(parts: number): void {
  if (parts >= maxParts) throw new OversizeAnswer(`more than ${maxParts} parts of a reply`);
}

/** Finds where events end: behind a blank line. A line ends with LF, CRLF or CR. */
class EventEnds {
  #isBlank = true;
  #afterReturn = false;
  /** The last byte ended an event. */
  #hasEnded = false;

  /** Takes the next byte; true if an event ends behind it. A CRLF gives two ends, the latter of which counts. */
  next(byte: number): boolean {
    const isReturn = byte === 13;
    const isSecondHalf = byte === 10 && this.#afterReturn;
    if (!isSecondHalf) {
      const endsLine = isReturn || byte === 10;
      this.#hasEnded = endsLine && this.#isBlank;
      this.#isBlank = endsLine;
    }
    this.#afterReturn = isReturn;
    return this.#hasEnded;
  }
}

/** Bytes of whole events that are passed on at once: an SDK copies what is left of a piece for each event in it. */
const pieceBytes = 4_096;

/** Takes note of each chunk. Errors: `OversizeAnswer` once they are more than a whole answer. */
function boundedTotal(onBytes: (chunk: Uint8Array) => void): (chunk: Uint8Array) => void {
  let totalBytes = 0;
  return (chunk) => {
    onBytes(chunk);
    totalBytes += chunk.length;
    if (totalBytes > maxReplyBytes)
      throw new OversizeAnswer(`more than ${maxReplyBytes} bytes of an answer`);
  };
}

/**
 * Passes an answer on in whole events, within the bounds.
 *
 * Contract: the bytes stay the same, the rest at the end included. SDKs search all that they hold with each piece that arrives,
 * and copy the rest of a piece with each event: a long event in small pieces, or many events in a large one, would take time in
 * proportion to the square of their length. Here an event arrives whole, and few others with it.
 * Errors: the stream fails with `OversizeAnswer`, and its source is cancelled.
 */
export function boundedAnswer(
  onBytes: (chunk: Uint8Array) => void,
): TransformStream<Uint8Array, Uint8Array> {
  const held = new HeldBytes();
  const ends = new EventEnds();
  const count = boundedTotal(onBytes);
  let events = 0;
  return new TransformStream({
    transform: (chunk, controller) => {
      count(chunk);
      let [sent, ended] = [0, 0];
      const send = (): void => {
        if (ended > sent) controller.enqueue(held.take(chunk.subarray(sent, ended)));
        sent = ended;
      };
      for (let at = 0; at < chunk.length; at += 1) {
        if (!ends.next(chunk[at] ?? 0)) continue;
        if (ended !== at) events += 1;
        if (ended - sent >= pieceBytes && ended !== at) send();
        ended = at + 1;
      }
      send();
      if (events > maxEvents) throw new OversizeAnswer(`more than ${maxEvents} events`);
      held.add(chunk.subarray(sent));
      if (held.length > maxEventBytes)
        throw new OversizeAnswer(`more than ${maxEventBytes} bytes of one event or line`);
    },
    flush: (controller) => {
      if (held.length > 0) controller.enqueue(held.take(new Uint8Array()));
    },
  });
}

/** Passes bytes on as they come, up to those of a whole answer. Errors: as `boundedAnswer`. */
export function boundedBytes(
  onBytes: (chunk: Uint8Array) => void,
): TransformStream<Uint8Array, Uint8Array> {
  const count = boundedTotal(onBytes);
  return new TransformStream({
    transform: (chunk, controller) => {
      count(chunk);
      controller.enqueue(chunk);
    },
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

  /** What is held, and the piece behind it; then nothing is held. */
  take(piece: Uint8Array): Uint8Array {
    if (this.length === 0) return piece;
    this.add(piece);
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
