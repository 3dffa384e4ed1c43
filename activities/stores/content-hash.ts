/** Names content by its SHA-256, so that content can be checked against its name. */
import { createHash, hash as hashAtOnce } from 'node:crypto';
import type { ContentHash, Head } from '../../workflows/core/message';

/** Levels of nesting that a message may have; deeper JSON is refused before it can exhaust the stack (ADR 0018). */
export const maxJsonDepth = 512;

/**
 * JSON text that is equal for equal values: sorted keys, no white space, no keys without a value.
 *
 * Contract: the text is well-formed Unicode without NUL, whatever the strings contain.
 * Errors: TypeError for what JSON cannot carry, RangeError beyond `maxJsonDepth`.
 */
export function canonicalJson(value: unknown, depth = 0): string {
  return jsonText(value, depth, 'sorted');
}

/** The same, with keys in the order that they have, where a model reads them: it fills in what it is told first, first. */
export function orderedJson(value: unknown): string {
  return jsonText(value, 0, 'as-given');
}

type KeyOrder = 'sorted' | 'as-given';

function jsonText(value: unknown, depth: number, order: KeyOrder): string {
  if (depth > maxJsonDepth) throw new RangeError(`JSON is nested deeper than ${maxJsonDepth}`);
  if (Array.isArray(value)) {
    return `[${value.map((item) => jsonText(item, depth + 1, order)).join(',')}]`;
  }
  if (typeof value === 'object' && value !== null) return objectText(value, depth, order);
  if (value === null || typeof value === 'string' || typeof value === 'boolean') {
    return JSON.stringify(value);
  }
  if (typeof value === 'number' && Number.isFinite(value)) return JSON.stringify(value);
  throw new TypeError(`JSON cannot carry a value of type ${typeof value}`);
}

function objectText(value: object, depth: number, order: KeyOrder): string {
  if ('toJSON' in value) throw new TypeError('JSON cannot carry an object with toJSON unchanged');
  const fields = Object.entries(value).filter(([, field]) => field !== undefined);
  if (order === 'sorted') fields.sort(([left], [right]) => (left < right ? -1 : 1));
  const texts = fields.map(
    ([key, field]) => `${JSON.stringify(key)}:${jsonText(field, depth + 1, order)}`,
  );
  return `{${texts.join(',')}}`;
}

/** SHA-256 of the parts in sequence, base64url, 43 characters. */
export function contentHash(...parts: readonly (string | Uint8Array)[]): ContentHash {
  const [whole] = parts;
  if (whole !== undefined && parts.length === 1) return hashAtOnce('sha256', whole, 'base64url');
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest('base64url');
}

/**
 * Name of a transcript node.
 *
 * Contract: `messagesJson` is canonical JSON of an array; as it begins with `[`, which no hash contains,
 * no other parent and messages give the same bytes.
 */
export function nodeHash(parent: Head | undefined, messagesJson: string): Head {
  return contentHash(`${parent ?? ''}${messagesJson}`);
}

/** True for text that can be the name of content. */
export function isContentHash(text: string): boolean {
  return /^[\w-]{43}$/.test(text);
}
