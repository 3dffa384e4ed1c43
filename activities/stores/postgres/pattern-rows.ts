/** The tables of learning in Postgres. */
import type { ContentHash } from '../../../workflows/core/message';
import type { ObservationRow, PatternChange, PatternRows, RecordRow } from '../sql/pattern-rows';
import type { PostgresConnection } from './connection';

/** Learning on the connections of a store. */
export class PostgresPatternRows implements PatternRows {
  readonly #connection: PostgresConnection;

  constructor(connection: PostgresConnection) {
    this.#connection = connection;
  }

  async insertObservations(rows: readonly ObservationRow[], keep: number): Promise<void> {
    await this.#connection.transaction(async (query) => {
      for (const row of rows) {
        const values = [row.keyHash, row.tenant, row.atMs, row.record, row.recordSum];
        await query(insertObservationSql, values);
      }
      const tenants = [...new Set(rows.map((row) => row.tenant))].sort();
      for (const tenant of tenants) await query(pruneSql, [tenant, keep]);
    });
  }

  async selectObservations(tenant: string): Promise<readonly RecordRow[]> {
    const { rows } = await this.#connection.query(selectObservationsSql, [tenant]);
    return rows.map(recordRow);
  }

  async selectTenants(): Promise<readonly string[]> {
    const { rows } = await this.#connection.query(selectTenantsSql);
    return rows.map((row) => text(row['tenant']));
  }

  async selectPatterns(tenant?: string, cluster?: ContentHash): Promise<readonly RecordRow[]> {
    const values = [tenant ?? null, cluster ?? null];
    const { rows } = await this.#connection.query(selectPatternsSql, values);
    return rows.map(recordRow);
  }

  async selectPattern(id: string): Promise<RecordRow | undefined> {
    const { rows } = await this.#connection.query(selectPatternSql, [id]);
    return rows.map(recordRow)[0];
  }

  updatePattern<T extends PatternChange>(
    id: string,
    update: (known: RecordRow | undefined) => T,
  ): Promise<T> {
    return this.#connection.transaction(async (query) => {
      // A row that is not there yet cannot be locked: the id itself is, until the transaction ends.
      await query(lockIdSql, [id]);
      const { rows } = await query(selectPatternSql, [id]);
      const updated = update(rows.map(recordRow)[0]);
      if (updated.row !== undefined) {
        const { tenant, cluster, record, recordSum } = updated.row;
        await query(replacePatternSql, [id, tenant, cluster, record, recordSum]);
      }
      return updated;
    });
  }

  async selectKnowledge(digest: string): Promise<RecordRow | undefined> {
    const { rows } = await this.#connection.query(selectKnowledgeSql, [digest]);
    return rows.map(recordRow)[0];
  }

  async insertKnowledge(digest: string, { record, recordSum }: RecordRow): Promise<void> {
    await this.#connection.query(insertKnowledgeSql, [digest, record, recordSum]);
  }
}

const insertObservationSql = `
  INSERT INTO holdfast.observations VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING`;

const pruneSql = `
  DELETE FROM holdfast.observations WHERE key_hash IN (
    SELECT key_hash FROM holdfast.observations WHERE tenant = $1
    ORDER BY at_ms DESC, key_hash OFFSET $2
  )`;

const selectObservationsSql = `
  SELECT record, record_sum FROM holdfast.observations
  WHERE tenant = $1 ORDER BY at_ms DESC, key_hash`;

const selectTenantsSql = 'SELECT DISTINCT tenant FROM holdfast.observations ORDER BY tenant';

const selectPatternsSql = `
  SELECT record, record_sum FROM holdfast.patterns
  WHERE ($1::text IS NULL OR tenant = $1) AND ($2::text IS NULL OR cluster = $2) ORDER BY id`;

const selectPatternSql = 'SELECT record, record_sum FROM holdfast.patterns WHERE id = $1';

const lockIdSql = `SELECT pg_advisory_xact_lock(hashtextextended('holdfast pattern ' || $1, 0))`;

const replacePatternSql = `
  INSERT INTO holdfast.patterns VALUES ($1, $2, $3, $4, $5)
  ON CONFLICT (id) DO UPDATE SET record = excluded.record, record_sum = excluded.record_sum`;

const selectKnowledgeSql = `
  SELECT record, record_sum FROM holdfast.tool_knowledge WHERE digest = $1`;

const insertKnowledgeSql = `
  INSERT INTO holdfast.tool_knowledge VALUES ($1, $2, $3) ON CONFLICT DO NOTHING`;

function recordRow(row: Record<string, unknown>): RecordRow {
  return { record: text(row['record']), recordSum: text(row['record_sum']) };
}

function text(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
