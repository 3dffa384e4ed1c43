/** What OpenAI refuses on the Responses wire. */
import type { JsonObject } from '../../workflows/core/json';
import { isList, objectOf, stringOf } from './json-read';
import type { VendorError } from './script';
import type { ValidationContext } from './wire';

/** The input as items: a bare string is one user message, and `type: "message"` may be left out. */
export function inputItems(body: JsonObject): readonly JsonObject[] {
  const input = body['input'];
  if (typeof input === 'string') return [{ type: 'message', role: 'user', content: input }];
  if (!isList(input)) return [];
  return input.map((entry) => {
    const item = objectOf(entry);
    return stringOf(item['type']) === '' && item['role'] !== undefined
      ? { ...item, type: 'message' }
      : item;
  });
}

/** The vendor's refusal of a request body, or nothing. */
export function validateResponses(
  _body: JsonObject,
  _context: ValidationContext,
): VendorError | undefined {
  return undefined;
}
