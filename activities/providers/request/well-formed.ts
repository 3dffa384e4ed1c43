/** Makes text that every vendor's JSON parser accepts: strict ones refuse a whole request for one lone surrogate. */
import type { ModelRequest } from '../provider';
import type { JsonObject, JsonValue } from '../../../workflows/core/json';

/** Replaces each lone surrogate by U+FFFD; whole emoji stay. */
export function wellFormedText(text: string): string {
  return text.replace(/\p{Surrogate}/gu, '\uFFFD');
}

/** The text in at most so many characters. */
export function shortened(text: string, chars: number): string {
  return text.length <= chars ? text : `${wellFormedText(text.slice(0, chars - 1))}…`;
}

/** The same as `wellFormedText` for every string and key within a JSON value. */
function wellFormedJson(value: JsonValue): JsonValue {
  if (typeof value === 'string') return wellFormedText(value);
  if (typeof value !== 'object' || value === null) return value;
  return isList(value) ? value.map(wellFormedJson) : wellFormedObject(value);
}

/** The same for a JSON object. */
export function wellFormedObject(value: JsonObject): JsonObject {
  return Object.fromEntries(
    Object.entries(value).map(([key, entry]) => [wellFormedText(key), wellFormedJson(entry)]),
  );
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** The note of a request, as sent; undefined if there is none. */
export function noteOf({ note = '' }: Pick<ModelRequest, 'note'>): string | undefined {
  return note.trim() === '' ? undefined : wellFormedText(note);
}
