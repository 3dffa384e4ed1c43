/** What a row of a tool execution says, and the order of executions. */
import type { ContentHash } from '../../../workflows/core/message';
import { canonicalJson, contentHash } from '../content-hash';
import type { ToolRow } from '../sql/content-rows';
import type { ToolIntent, ToolRecord } from '../store';
import { toolIntentShape } from '../store';

/** Binds an outcome to its execution, so that neither can be swapped. */
export function outcomeSum(key: string, outcome: string): ContentHash {
  return contentHash(canonicalJson(key), outcome);
}

/** The record in a row; undefined if the row is not what was written for `key`. */
export function toolRecord(key: string, row: ToolRow | undefined): ToolRecord | undefined {
  if (row === undefined) return { type: 'none' };
  const intent = parseIntent(row);
  if (intent?.key !== key) return undefined;
  if (row.outcome === undefined) {
    const { phase } = row;
    const isPhase = phase === 'begun' || phase === 'executing';
    return row.outcomeSum === undefined && isPhase ? { type: phase, intent } : undefined;
  }
  if (row.outcomeSum !== outcomeSum(key, row.outcome)) return undefined;
  return { type: 'finished', intent, outcome: row.outcome };
}

/** The intent in a row; undefined if it was changed. */
export function parseIntent({ intent, intentSum }: ToolRow): ToolIntent | undefined {
  return contentHash(intent) === intentSum
    ? toolIntentShape.safeParse(JSON.parse(intent)).data
    : undefined;
}

/** The order of two executions: calls of one reply are scheduled at the same time, and their keys end with their numbers. */
export function byStart(left: ToolIntent, right: ToolIntent): number {
  const later = left.startedAtMs - right.startedAtMs;
  return later === 0 ? left.key.localeCompare(right.key, 'en', { numeric: true }) : later;
}
