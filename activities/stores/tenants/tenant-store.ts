/** The part of a store that the caps of tenants use: what each has spent on a day, and which of its runs have a place. */
import { contentHash } from '../content-hash';
import { recordRow, recordRowOf, updateRecord, valueIn } from '../sql/record-row';
import type { SqlDatabase } from '../sql/sql-database';
import {
  afterEnds,
  afterEntry,
  afterHold,
  afterRequest,
  beforeRequest,
  isDay,
  isPlaces,
  newDay,
  type RunPlace,
  type TenantAmount,
  type TenantDay,
  type TenantPlaces,
  type TenantRequest,
} from './tenant-usage';

/** Adds an empty row, which is no record, if there is none, and locks the row until the transaction ends. */
const lockSql = `
  INSERT INTO @tenant_usage (key_hash, tenant, record, record_sum) VALUES (?name, '', '', '')
  ON CONFLICT (key_hash) DO UPDATE SET key_hash = excluded.key_hash
  RETURNING {record}, {record_sum}`;

const saveSql = `
  UPDATE @tenant_usage SET tenant = ?, record = ?sealed, record_sum = ?name, touched_ms = $now
  WHERE key_hash = ?name`;

/**
 * Counts for tenants in one database.
 *
 * Contract: each method is one transaction on one row, whatever number of workers calls it, and harmless when repeated; a record
 * that was damaged counts as none.
 * Errors: `store_unavailable`.
 */
export class TenantStore {
  constructor(private readonly database: SqlDatabase) {}

  /**
   * Holds the most that a request may use, if `decide` says so. It may run twice, and its last answer counts. A hold ends with
   * `settle`, with the next request of the same call, or at `untilMs`: then it counts as spent.
   */
  hold<Decision extends { readonly most?: TenantAmount }>(
    request: TenantRequest,
    atMs: number,
    decide: (day: TenantDay) => Decision,
  ): Promise<Decision> {
    return this.#onDay(request, (stored) => {
      const known = beforeRequest(stored, request, atMs);
      const decision = decide(known);
      const { most } = decision;
      return [most === undefined ? known : afterHold(known, request, most), decision];
    });
  }

  /** Counts what a request has used instead of what was held for it; nothing if its hold has ended. */
  async settle(request: TenantRequest, used: TenantAmount): Promise<void> {
    await this.#onDay(request, (known) => [afterRequest(known, request, used), undefined]);
  }

  /** What every tenant has used on a day, by name. */
  async usage(day: string): Promise<readonly TenantDay[]> {
    const rows = await this.database.read((query) =>
      query('SELECT {record}, {record_sum} FROM @tenant_usage ORDER BY tenant'),
    );
    return rows
      .flatMap((row) => valueIn(recordRowOf(row), isDay) ?? [])
      .filter((each) => each.day === day);
  }

  /** Gives a run a place; if all `most` are taken, returns who has them. */
  enter(tenant: string, run: RunPlace, most: number): Promise<readonly RunPlace[] | undefined> {
    return this.#onPlaces(tenant, (known) => {
      const entered = afterEntry(known, run, most);
      return entered === undefined ? [known, known.places] : [entered, undefined];
    });
  }

  /** Frees the places of runs that have ended. */
  async leave(tenant: string, ended: readonly RunPlace[]): Promise<void> {
    await this.#onPlaces(tenant, (known) => [afterEnds(known, ended), undefined]);
  }

  /** Removes all that is known of a tenant; returns how many rows there were. */
  async erase(tenant: string, dryRun: boolean): Promise<number> {
    const sql = dryRun
      ? 'SELECT {key_hash} FROM @tenant_usage WHERE tenant = ?'
      : 'DELETE FROM @tenant_usage WHERE tenant = ? RETURNING {key_hash}';
    const [rows = []] = await this.database.write([[sql, [tenant]]]);
    return rows.length;
  }

  #onDay<Result>(
    { tenant, day }: TenantRequest,
    change: (known: TenantDay) => readonly [TenantDay, Result],
  ): Promise<Result> {
    return this.#update(tenant, day, isDay, newDay(tenant, day), change);
  }

  #onPlaces<Result>(
    tenant: string,
    change: (known: TenantPlaces) => readonly [TenantPlaces, Result],
  ): Promise<Result> {
    return this.#update(tenant, 'runs', isPlaces, { tenant, places: [] }, change);
  }

  async #update<T extends object, Result>(
    tenant: string,
    of: string,
    isOne: (value: unknown) => value is T,
    initial: T,
    change: (known: T) => readonly [T, Result],
  ): Promise<Result> {
    const keyHash = contentHash(tenant, '\n', of);
    const { result } = await this.database.transaction((query) =>
      updateRecord(
        query,
        lockSql,
        keyHash,
        (row) => {
          const known = valueIn(row, isOne) ?? initial;
          const [changed, answer] = change(known);
          return { result: answer, row: changed === known ? undefined : recordRow(changed) };
        },
        ({ record, recordSum }) => query(saveSql, [tenant, record, recordSum, keyHash]),
      ),
    );
    return result;
  }
}
