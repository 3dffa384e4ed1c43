/** Reads untrusted values: never throws, never guesses. */

/** The value as an object, or undefined. */
export function asObject(value: unknown): Readonly<Record<string, unknown>> | undefined {
  return isRecord(value) ? value : undefined;
}

/** True for an object that is not an array. */
export function isRecord(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value as a list, or an empty one. */
export function asList(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The value as text, or an empty one. */
export function asText(value: unknown): string {
  return typeof value === 'string' ? value : '';
}

/** The value as a finite number, or undefined. */
export function asNumber(value: unknown): number | undefined {
  return typeof value === 'number' && Number.isFinite(value) ? value : undefined;
}

/** A count of tokens, also as text: whole, and at least 0; undefined for anything else. A larger one than can be is left to its reader. */
export function asCount(value: unknown): number | undefined {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof number !== 'number' || !(number >= 0)) return undefined;
  return Math.min(Math.round(number), Number.MAX_SAFE_INTEGER);
}

/** A property of a value that may not be an object. */
export function property(value: unknown, name: string): unknown {
  return asObject(value)?.[name];
}

/** Parsed JSON, or undefined if the text is not JSON. */
export function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
