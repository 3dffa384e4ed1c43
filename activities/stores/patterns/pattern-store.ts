/** The part of a store that learning uses. */
import { contentHash } from '../content-hash';
import { recordRow, recordRowOf, valueIn } from '../sql/record-row';
import type { SqlDatabase, SqlRow, SqlValue } from '../sql/sql-database';
import { textOf } from '../sql/sql-database';
import type { Observation, Pattern } from './pattern-shape';
import { isObservation, isPattern } from './pattern-shape';
import { sanitizeObservation } from './sanitize-observation';

/** Observations kept per tenant; the oldest are dropped first (ADR 0027). */
const keptObservations = 2_000;

const insertObservationSql = `
  INSERT INTO @observations (key_hash, tenant, at_ms, record, record_sum)
  VALUES (?name, ?, ?, ?sealed, ?name)
  ON CONFLICT (key_hash) DO NOTHING`;

const pruneSql = `
  DELETE FROM @observations WHERE tenant = ? AND key_hash NOT IN (
    SELECT key_hash FROM @observations WHERE tenant = ?
    ORDER BY at_ms DESC, key_hash LIMIT ?
  )`;

const selectObservationsSql = `
  SELECT {record}, {record_sum} FROM @observations WHERE tenant = ?
  ORDER BY at_ms DESC, key_hash`;

const selectPatternsSql = `
  SELECT {record}, {record_sum} FROM @patterns
  WHERE (CAST(? AS text) IS NULL OR tenant = ?) AND (CAST(?name AS text) IS NULL OR cluster = ?name)
  ORDER BY id`;

/** Adds an empty row, which is no pattern, if there is none, and locks the row until the transaction ends. */
const lockPatternSql = `
  INSERT INTO @patterns (id, tenant, cluster, record, record_sum) VALUES (?name, '', '', '', '')
  ON CONFLICT (id) DO UPDATE SET id = excluded.id
  RETURNING {record}, {record_sum}`;

const savePatternSql = `
  UPDATE @patterns SET tenant = ?, cluster = ?name, record = ?sealed, record_sum = ?name
  WHERE id = ?name`;

const touchKnowledgeSql = `
  UPDATE @tool_knowledge SET touched_ms = $now
  WHERE digest = ?name AND touched_ms < $now - 86400000`;

/** The kind of error that a pattern is for. */
type ErrorKind = Pick<Pattern, 'tool' | 'errorFingerprint'>;

function clusterHash({ tool, errorFingerprint }: ErrorKind): string {
  return contentHash(tool, '\n', errorFingerprint);
}

/**
 * Keeps what runs learn in one database.
 *
 * Contract: everything is scoped by tenant and bounded per tenant, the oldest goes first; text is sanitized on its way in;
 * a record that was damaged counts as none. Writes are atomic and harmless when repeated.
 * Errors: `store_unavailable`.
 */
export class PatternStore {
  constructor(private readonly database: SqlDatabase) {}

  /** Records observations whose keys are new, then removes the oldest of each of their tenants beyond `keep`. */
  async recordObservations(given: readonly Observation[], keep = keptObservations): Promise<void> {
    if (given.length === 0) return;
    const observations = given.map(sanitizeObservation);
    const tenants = [...new Set(observations.map(({ tenant }) => tenant))].sort();
    await this.database.transaction(async (query) => {
      for (const observation of observations) {
        const { tenant, key, atMs } = observation;
        const { record, recordSum } = recordRow(observation);
        const keyHash = contentHash(tenant, '\n', key);
        const values = [keyHash, tenant, Math.trunc(atMs), record, recordSum];
        await query(insertObservationSql, values);
      }
      for (const tenant of tenants) await query(pruneSql, [tenant, tenant, keep]);
    });
  }

  /** A tenant's observations, newest first. */
  async observations(tenant: string): Promise<readonly Observation[]> {
    const rows = await this.select(selectObservationsSql, [tenant]);
    return rows.flatMap((row) => valueIn(recordRowOf(row), isObservation) ?? []);
  }

  /** Tenants that have observations. */
  async tenants(): Promise<readonly string[]> {
    const sql = 'SELECT {tenant} FROM @observations GROUP BY tenant ORDER BY tenant';
    return (await this.select(sql, [])).map((row) => textOf(row['tenant']) ?? '');
  }

  /** Patterns of a tenant, or of all, for one kind of error, or for any; oldest first. */
  async patterns(tenant?: string, kind?: ErrorKind): Promise<readonly Pattern[]> {
    const [ofTenant, cluster] = [tenant ?? null, kind === undefined ? null : clusterHash(kind)];
    const values = [ofTenant, ofTenant, cluster, cluster];
    return (await this.select(selectPatternsSql, values))
      .flatMap((row) => valueIn(recordRowOf(row), isPattern) ?? [])
      .sort((left, right) => left.createdAtMs - right.createdAtMs);
  }

  async pattern(id: string): Promise<Pattern | undefined> {
    const sql = 'SELECT {record}, {record_sum} FROM @patterns WHERE id = ?name';
    const [row] = await this.select(sql, [id]);
    return row && valueIn(recordRowOf(row), isPattern);
  }

  /**
   * Replaces a pattern by the result of `change`, exclusively; undefined leaves it unchanged. `change` may run
   * twice, its last answer counts. Returns the pattern after it.
   */
  updatePattern(
    id: string,
    change: (known: Pattern | undefined) => Pattern | undefined,
  ): Promise<Pattern | undefined> {
    return this.database.transaction(async (query) => {
      const [row] = (await query(lockPatternSql, [id])).map(recordRowOf);
      const known = valueIn(row, isPattern);
      const changed = change(known);
      if (changed !== undefined) {
        const { record, recordSum } = recordRow(changed);
        const values = [changed.tenant, clusterHash(changed), record, recordSum, id];
        await query(savePatternSql, values);
      }
      await query(`DELETE FROM @patterns WHERE id = ?name AND record = ''`, [id]);
      return changed ?? known;
    });
  }

  /** Removes a tenant's observations and patterns; returns how many there were. */
  async erase(tenant: string, dryRun: boolean): Promise<number> {
    let count = 0;
    for (const table of ['observations', 'patterns']) {
      const sql = dryRun
        ? `SELECT {tenant} FROM @${table} WHERE tenant = ?`
        : `DELETE FROM @${table} WHERE tenant = ? RETURNING {tenant}`;
      const [rows = []] = await this.database.write([[sql, [tenant]]]);
      count += rows.length;
    }
    return count;
  }

  /** Knowledge of a set of tools, by the digest of their definitions. */
  async knowledge(digest: string): Promise<string | undefined> {
    const sql = 'SELECT {record}, {record_sum} FROM @tool_knowledge WHERE digest = ?name';
    const [row] = (await this.select(sql, [digest])).map(recordRowOf);
    if (row === undefined) return undefined;
    // Once a day, so that what is in use is not swept.
    await this.database.write([[touchKnowledgeSql, [digest]]]);
    return contentHash(row.record) === row.recordSum ? row.record : undefined;
  }

  /** Keeps it; the first one stays. */
  async keepKnowledge(digest: string, json: string): Promise<void> {
    const sql = `INSERT INTO @tool_knowledge (digest, record, record_sum, touched_ms)
                 VALUES (?name, ?sealed, ?name, $now)
                 ON CONFLICT (digest) DO NOTHING`;
    await this.database.write([[sql, [digest, json, contentHash(json)]]]);
  }

  private select(sql: string, values: readonly SqlValue[]): Promise<readonly SqlRow[]> {
    return this.database.read((query) => query(sql, values));
  }
}
