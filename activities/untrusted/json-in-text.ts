/** Reads JSON objects out of a model's answer, which may have words or a fence around them. */
import { isRecord, parsedJson } from '../providers/untrusted-json';

/** Places where an object may begin or end, at most: a long text of braces must not cost a worker its time. */
const mostPlaces = 20;

function placesOf(brace: string, text: string): readonly number[] {
  return [...text.matchAll(new RegExp(`\\${brace}`, 'g'))].map(({ index }) => index);
}

/** Every object that the text holds, the outermost of each place. Never throws. */
export function* objectsInText(text: string): Generator<Readonly<Record<string, unknown>>> {
  const ends = placesOf('}', text).slice(-mostPlaces).toReversed();
  let from = 0;
  for (const start of placesOf('{', text).slice(0, mostPlaces)) {
    for (const end of start < from ? [] : ends.filter((place) => place > start)) {
      // Where this is no object, a shorter part may be one.
      const value = parsedJson(text.slice(start, end + 1));
      if (!isRecord(value)) continue;
      from = end;
      yield value;
      break;
    }
  }
}

/** The first object of a text; undefined if none. Never throws. */
export function objectInText(text: string): Readonly<Record<string, unknown>> | undefined {
  for (const value of objectsInText(text)) return value;
  return undefined;
}
