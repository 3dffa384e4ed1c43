/** Maps tool records to rows and back, and detects changed rows. */
import { z } from 'zod';
import { contentHash, canonicalJson } from '../content-hash';
import type { ToolIntent, ToolRecord } from '../store';
import type { ToolRow } from '../sql/content-rows';

/** The row of an execution that begins. */
export function toolRow(intent: ToolIntent): ToolRow {
  const text = canonicalJson(intent);
  return { intent: text, intentSum: contentHash(text), outcome: undefined, outcomeSum: undefined };
}

/** Binds an outcome to its execution, so that neither can be swapped. */
export function outcomeSum(key: string, outcome: string): string {
  return contentHash(canonicalJson(key), outcome);
}

/** Equal JSON, in which characters that a database's text column cannot store are escaped. */
export function storableJson(json: string): string {
  return json
    .replaceAll('\0', '\\u0000')
    .replace(/[\uD800-\uDFFF]/gu, (unit) => `\\u${unit.charCodeAt(0).toString(16)}`);
}

/** The record in a row; undefined if the row is not what was written for `key`. */
export function toolRecord(key: string, row: ToolRow | undefined): ToolRecord | undefined {
  if (row === undefined) return { type: 'none' };
  const intent = parseIntent(row);
  if (intent?.key !== key) return undefined;
  if (row.outcome === undefined) {
    return row.outcomeSum === undefined ? { type: 'begun', intent } : undefined;
  }
  if (row.outcomeSum !== outcomeSum(key, row.outcome)) return undefined;
  return { type: 'finished', intent, outcome: row.outcome };
}

function parseIntent(row: ToolRow): ToolIntent | undefined {
  if (contentHash(row.intent) !== row.intentSum) return undefined;
  const value: unknown = JSON.parse(row.intent);
  return isIntent(value) ? value : undefined;
}

const intentShape = z.object({
  key: z.string(),
  tool: z.string(),
  inputDigest: z.string(),
  startedAtMs: z.number(),
});

function isIntent(value: unknown): value is ToolIntent {
  return intentShape.safeParse(value).success;
}
