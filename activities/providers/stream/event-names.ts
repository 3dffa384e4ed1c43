/** Events of a stream that an SDK would drop without a word: those that have lost their name, or their data. */
import { BrokenStream } from './stream-assembly';

const newline = 10;
const carriageReturn = 13;
const blank = 32;
const brace = '{'.charCodeAt(0);
const fields = { event: Buffer.from('event:'), data: Buffer.from('data:') };
/** Bytes of a line that tell its field. */
const fieldBytes = 6;

/** What is known of the event that arrives. */
interface EventSoFar {
  hasName: boolean;
  isPing: boolean;
  hasData: boolean;
  /** Its data begins as a JSON object: text such as `[DONE]` is left to the SDK. */
  hasObject: boolean;
}

function beginsWith(line: Buffer, field: Buffer): boolean {
  return line.length >= field.length && line.subarray(0, field.length).equals(field);
}

/**
 * Passes an answer on unchanged, as long as every event has a name and data, as Anthropic's have.
 *
 * Contract: what is no stream of events passes, as do comments, pings, and unnamed data that is no JSON object.
 * Errors: the stream fails with `BrokenStream`: with such an event a part of the reply is lost.
 */
export function wholeEvents(): TransformStream<Uint8Array, Uint8Array> {
  const line = Buffer.alloc(fieldBytes + 8);
  let length = 0;
  let event: EventSoFar = { hasName: false, isPing: false, hasData: false, hasObject: false };
  const endLine = (): void => {
    const begun = line.subarray(0, length);
    if (beginsWith(begun, fields.event)) {
      event.hasName = true;
      event.isPing = begun.subarray(fieldBytes).toString().trim() === 'ping';
    } else if (beginsWith(begun, fields.data)) {
      event.hasData = true;
      const first = begun[fields.data.length];
      const value = first === blank ? begun[fields.data.length + 1] : first;
      event.hasObject ||= value === brace;
    }
    if (length === 0) endEvent();
    length = 0;
  };
  const endEvent = (): void => {
    const { hasName, isPing, hasData, hasObject } = event;
    event = { hasName: false, isPing: false, hasData: false, hasObject: false };
    if (hasObject && !hasName)
      throw new BrokenStream('an event of the stream came without its name');
    if (hasName && !hasData && !isPing)
      throw new BrokenStream('an event of the stream came without its data');
  };
  let afterReturn = false;
  return new TransformStream({
    transform: (chunk, controller) => {
      for (const byte of chunk) {
        const isSecondHalf = byte === newline && afterReturn;
        afterReturn = byte === carriageReturn;
        if (isSecondHalf) continue;
        if (byte === newline || byte === carriageReturn) endLine();
        else if (length < line.length) {
          line[length] = byte;
          length += 1;
        }
      }
      controller.enqueue(chunk);
    },
  });
}
