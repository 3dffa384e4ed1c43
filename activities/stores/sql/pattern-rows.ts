/** The rows of what runs learn. */
import type { ContentHash } from '../../../workflows/core/message';
import { recordRowOf, updateRecord, type RecordChange, type RecordRow } from './record-row';
import { textOf, type SqlDatabase, type SqlRow, type SqlValue } from './sql-database';

/** A stored observation. */
export interface ObservationRow extends RecordRow {
  readonly keyHash: ContentHash;
  readonly tenant: string;
  readonly atMs: number;
}

/** A stored pattern. */
export interface PatternRow extends RecordRow {
  readonly id: string;
  readonly tenant: string;
  /** Hash of tool and kind of error. */
  readonly cluster: ContentHash;
}

const insertObservationSql = `
  INSERT INTO @observations (key_hash, tenant, at_ms, record, record_sum) VALUES (?, ?, ?, ?, ?)
  ON CONFLICT (key_hash) DO NOTHING`;

const pruneSql = `
  DELETE FROM @observations WHERE tenant = ? AND key_hash NOT IN (
    SELECT key_hash FROM @observations WHERE tenant = ?
    ORDER BY at_ms DESC, key_hash LIMIT ?
  )`;

const selectPatternsSql = `
  SELECT {record}, {record_sum} FROM @patterns
  WHERE (CAST(? AS text) IS NULL OR tenant = ?) AND (CAST(? AS text) IS NULL OR cluster = ?)
  ORDER BY id`;

/** Adds an empty row, which is no pattern, if there is none, and locks the row until the transaction ends. */
const lockPatternSql = `
  INSERT INTO @patterns (id, tenant, cluster, record, record_sum) VALUES (?, '', '', '', '')
  ON CONFLICT (id) DO UPDATE SET id = excluded.id
  RETURNING {record}, {record_sum}`;

const savePatternSql = `
  UPDATE @patterns SET tenant = ?, cluster = ?, record = ?, record_sum = ? WHERE id = ?`;

/** The tables of learning in one database. */
export class PatternRows {
  constructor(readonly database: SqlDatabase) {}

  /** Adds rows whose keys are new, then removes the oldest of each of their tenants beyond `keep`. */
  async insertObservations(rows: readonly ObservationRow[], keep: number): Promise<void> {
    await this.database.transaction(async (query) => {
      for (const { keyHash, tenant, atMs, record, recordSum } of rows)
        await query(insertObservationSql, [keyHash, tenant, atMs, record, recordSum]);
      const tenants = [...new Set(rows.map((row) => row.tenant))].sort();
      for (const tenant of tenants) await query(pruneSql, [tenant, tenant, keep]);
    });
  }

  /** Newest first. */
  selectObservations(tenant: string): Promise<readonly RecordRow[]> {
    return this.#records(
      `SELECT {record}, {record_sum} FROM @observations WHERE tenant = ?
       ORDER BY at_ms DESC, key_hash`,
      [tenant],
    );
  }

  async selectTenants(): Promise<readonly string[]> {
    const sql = 'SELECT {tenant} FROM @observations GROUP BY tenant ORDER BY tenant';
    const rows = await this.#select(sql, []);
    return rows.map((row) => textOf(row['tenant']) ?? '');
  }

  /** Ordered by id. */
  selectPatterns(tenant?: string, cluster?: ContentHash): Promise<readonly RecordRow[]> {
    const [ofTenant, ofCluster] = [tenant ?? null, cluster ?? null];
    return this.#records(selectPatternsSql, [ofTenant, ofTenant, ofCluster, ofCluster]);
  }

  async selectPattern(id: string): Promise<RecordRow | undefined> {
    return (
      await this.#records('SELECT {record}, {record_sum} FROM @patterns WHERE id = ?', [id])
    )[0];
  }

  /** Replaces a row with what `update` makes of it, in a transaction; `update` may run twice, and its last result counts. */
  updatePattern<T extends RecordChange<PatternRow>>(
    id: string,
    update: (known: RecordRow | undefined) => T,
  ): Promise<T> {
    return this.database.transaction(async (query) => {
      const updated = await updateRecord(query, lockPatternSql, id, update, (row: PatternRow) =>
        query(savePatternSql, [row.tenant, row.cluster, row.record, row.recordSum, id]),
      );
      await query(`DELETE FROM @patterns WHERE id = ? AND record = ''`, [id]);
      return updated;
    });
  }

  async #records(sql: string, values: readonly SqlValue[]): Promise<readonly RecordRow[]> {
    return (await this.#select(sql, values)).map(recordRowOf);
  }

  #select(sql: string, values: readonly SqlValue[]): Promise<readonly SqlRow[]> {
    return this.database.read((query) => query(sql, values));
  }
}
