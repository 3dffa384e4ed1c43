/** Rows that hold a value as JSON with its hash, so that a changed byte is found. */
import type { ContentHash } from '../../../workflows/core/message';
import { canonicalJson, contentHash } from '../content-hash';
import { textOf, type SqlQuery, type SqlRow } from './sql-database';

/** A stored record. */
export interface RecordRow {
  /** Canonical JSON. */
  readonly record: string;
  readonly recordSum: ContentHash;
}

/** The changed row; undefined leaves it unchanged. */
export interface RecordChange<Row extends RecordRow = RecordRow> {
  readonly row: Row | undefined;
}

/** The row of a value. */
export function recordRow(value: object): RecordRow {
  const record = canonicalJson(value);
  return { record, recordSum: contentHash(record) };
}

/** The row in the columns `record` and `record_sum`. */
export function recordRowOf(row: SqlRow): RecordRow {
  return { record: textOf(row['record']) ?? '', recordSum: textOf(row['record_sum']) ?? '' };
}

/** The value in a row; undefined if the row was damaged: forgetting costs little, and refusing would stop every run. */
export function valueIn<T>(
  row: RecordRow | undefined,
  isOne: (value: unknown) => value is T,
): T | undefined {
  if (row === undefined || contentHash(row.record) !== row.recordSum) return undefined;
  const value: unknown = JSON.parse(row.record);
  return isOne(value) ? value : undefined;
}

/** Locks a row, which `lockSql` adds empty if none, and saves what `update` makes of it. */
export async function updateRecord<Row extends RecordRow, T extends RecordChange<Row>>(
  query: SqlQuery,
  lockSql: string,
  key: string,
  update: (known: RecordRow | undefined) => T,
  save: (row: Row) => Promise<unknown>,
): Promise<T> {
  const [locked] = (await query(lockSql, [key])).map(recordRowOf);
  const updated = update(locked?.record === '' ? undefined : locked);
  if (updated.row !== undefined) await save(updated.row);
  return updated;
}
