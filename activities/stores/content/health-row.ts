/** Maps shared health to rows and back, and finds rows that were changed. */
import type { SharedHealth } from '../store';
import { canonicalJson, contentHash } from '../content-hash';
import type { HealthRow } from '../sql/row-engine';

/** The row of a record. */
export function healthRow(health: SharedHealth): HealthRow {
  const record = canonicalJson(health);
  return { record, recordSum: contentHash(record) };
}

/** The record in a row; undefined where there is none, or it is not what was written for `route`. */
export function healthRecord(route: string, row: HealthRow | undefined): SharedHealth | undefined {
  if (row === undefined || contentHash(row.record) !== row.recordSum) return undefined;
  const value: unknown = JSON.parse(row.record);
  return isHealth(value) && value.route === route ? value : undefined;
}

function isHealth(value: unknown): value is SharedHealth {
  if (typeof value !== 'object' || value === null) return false;
  const fields = new Map(Object.entries(value));
  return (
    ['route', 'status'].every((name) => typeof fields.get(name) === 'string') &&
    ['errorCount', 'cooldownUntilMs', 'probeFromMs'].every((name) => {
      return typeof fields.get(name) === 'number';
    })
  );
}
