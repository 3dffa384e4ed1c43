/** The tables of learning in SQLite. */
import type Database from 'libsql';
import type { ContentHash } from '../../../workflows/core/message';
import type { ObservationRow, PatternChange, PatternRows, RecordRow } from '../sql/pattern-rows';
import type { SqliteConnection } from './connection';
import { textField } from './connection';

/** Learning on the connection of a store. */
export class SqlitePatternRows implements PatternRows {
  readonly #connection: SqliteConnection;

  constructor(connection: SqliteConnection) {
    this.#connection = connection;
  }

  insertObservations(rows: readonly ObservationRow[], keep: number): Promise<void> {
    return this.#connection.write((database) => {
      const insert = database.prepare(
        'INSERT INTO observations VALUES (?, ?, ?, ?, ?) ON CONFLICT DO NOTHING',
      );
      for (const row of rows)
        insert.run(row.keyHash, row.tenant, row.atMs, row.record, row.recordSum);
      const prune = database.prepare(pruneSql);
      for (const tenant of new Set(rows.map((row) => row.tenant))) prune.run(tenant, keep);
    });
  }

  selectObservations(tenant: string): Promise<readonly RecordRow[]> {
    return this.#connection.read((database) =>
      database
        .prepare(
          `SELECT ${recordColumns} FROM observations WHERE tenant = ? ORDER BY at_ms DESC, key_hash`,
        )
        .all(tenant)
        .map(recordRow),
    );
  }

  selectTenants(): Promise<readonly string[]> {
    return this.#connection.read((database) =>
      database
        .prepare('SELECT DISTINCT CAST(tenant AS BLOB) AS tenant FROM observations ORDER BY tenant')
        .all()
        .map((row) => textField(row, 'tenant') ?? ''),
    );
  }

  selectPatterns(tenant?: string, cluster?: ContentHash): Promise<readonly RecordRow[]> {
    return this.#connection.read((database) =>
      database
        .prepare(
          `SELECT ${recordColumns} FROM patterns
           WHERE (?1 IS NULL OR tenant = ?1) AND (?2 IS NULL OR cluster = ?2) ORDER BY id`,
        )
        .all(tenant ?? null, cluster ?? null)
        .map(recordRow),
    );
  }

  selectPattern(id: string): Promise<RecordRow | undefined> {
    return this.#connection.read((database) => selectPattern(database, id));
  }

  updatePattern<T extends PatternChange>(
    id: string,
    update: (known: RecordRow | undefined) => T,
  ): Promise<T> {
    return this.#connection.write((database) => {
      const updated = update(selectPattern(database, id));
      if (updated.row !== undefined) {
        const { tenant, cluster, record, recordSum } = updated.row;
        database
          .prepare('INSERT OR REPLACE INTO patterns VALUES (?, ?, ?, ?, ?)')
          .run(id, tenant, cluster, record, recordSum);
      }
      return updated;
    });
  }

  selectKnowledge(digest: string): Promise<RecordRow | undefined> {
    return this.#connection.read((database) => {
      const row = database
        .prepare(`SELECT ${recordColumns} FROM tool_knowledge WHERE digest = ?`)
        .get(digest);
      return row === undefined ? undefined : recordRow(row);
    });
  }

  insertKnowledge(digest: string, { record, recordSum }: RecordRow): Promise<void> {
    return this.#connection.write((database) => {
      database
        .prepare('INSERT INTO tool_knowledge VALUES (?, ?, ?) ON CONFLICT DO NOTHING')
        .run(digest, record, recordSum);
    });
  }
}

const recordColumns = 'CAST(record AS BLOB) AS record, CAST(record_sum AS BLOB) AS record_sum';

const pruneSql = `
  DELETE FROM observations WHERE key_hash IN (
    SELECT key_hash FROM observations WHERE tenant = ?
    ORDER BY at_ms DESC, key_hash LIMIT -1 OFFSET ?
  )`;

function selectPattern(database: Database.Database, id: string): RecordRow | undefined {
  const row = database.prepare(`SELECT ${recordColumns} FROM patterns WHERE id = ?`).get(id);
  return row === undefined ? undefined : recordRow(row);
}

function recordRow(row: unknown): RecordRow {
  return { record: textField(row, 'record') ?? '', recordSum: textField(row, 'record_sum') ?? '' };
}
