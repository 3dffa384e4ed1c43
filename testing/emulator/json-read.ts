/** Reads untrusted JSON without ever throwing: a request body is whatever the client sent. */
import type { z } from 'zod';
import type { JsonObject, JsonValue } from '../../workflows/core/json';

/** The value as an object, or an empty one. */
export function objectOf(value: JsonValue | undefined): JsonObject {
  return isObject(value) ? value : {};
}

/** True for a JSON object (not an array, not null). */
export function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value as a list, or an empty one. */
export function listOf(value: JsonValue | undefined): readonly JsonValue[] {
  return isList(value) ? value : [];
}

/** True for a JSON array. */
export function isList(value: JsonValue | undefined): value is readonly JsonValue[] {
  return Array.isArray(value);
}

/** The value as a string, or an empty one. */
export function stringOf(value: JsonValue | undefined): string {
  return typeof value === 'string' ? value : '';
}

/** The value as a number, if it is one. */
export function numberOf(value: JsonValue | undefined): number | undefined {
  return typeof value === 'number' ? value : undefined;
}

/** A content block list; a bare string counts as one block of the given type. */
export function blocksOf(value: JsonValue | undefined, textType = 'text'): readonly JsonObject[] {
  if (typeof value === 'string') return [{ type: textType, text: value }];
  return listOf(value).map(objectOf);
}

/** The text of all blocks of the given types, one per line. */
export function textOf(
  value: JsonValue | undefined,
  types: readonly string[] = ['text', 'input_text', 'output_text'],
): string {
  return blocksOf(value)
    .filter((block) => types.includes(stringOf(block['type'])))
    .map((block) => stringOf(block['text']))
    .join('\n');
}

/** What is wrong within the one shape of a union that the value is meant to fit; undefined if it fits none. */
export function innerIssue(union: z.core.$ZodIssueInvalidUnion): z.core.$ZodIssue | undefined {
  const inner = union.errors
    .map(([first]) => first)
    .find((first) => first?.code !== 'invalid_type' || first.path.length > 0);
  return inner && { ...inner, path: [...union.path, ...inner.path] };
}
