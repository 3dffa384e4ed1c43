/** A sweep of a SQLite store. Ages are in a table of their own, so that a worker of the release before can go on writing. */
import type Database from 'libsql';
import type { ContentHash } from '../../../workflows/core/message';
import type { AgedNode, AgedRow, AgedText, GarbageRows, SweptTable } from '../sql/garbage-rows';
import type { SqliteConnection } from './connection';
import { textField } from './connection';

/** Name of the hash in each table. */
const keys: { readonly [Table in SweptTable | 'nodes']: string } = {
  nodes: 'hash',
  blobs: 'hash',
  chunks: 'hash',
  tool_executions: 'key_hash',
};

/**
 * Marks rows as written now.
 *
 * Contract: inside the transaction that writes them, or finds them there.
 */
export function touchRows(database: Database.Database, hashes: readonly ContentHash[]): void {
  const touch = database.prepare(
    'INSERT INTO ages VALUES (?, ?) ON CONFLICT (hash) DO UPDATE SET touched_ms = excluded.touched_ms',
  );
  const nowMs = Date.now();
  for (const hash of hashes) touch.run(hash, nowMs);
}

/** A sweep on the connection of a store. */
export class SqliteGarbageRows implements GarbageRows {
  readonly #connection: SqliteConnection;

  constructor(connection: SqliteConnection) {
    this.#connection = connection;
  }

  adopt(nowMs: number): Promise<void> {
    return this.#connection.write((database) => {
      for (const [table, key] of Object.entries(keys))
        database.prepare(`INSERT OR IGNORE INTO ages SELECT ${key}, ? FROM ${table}`).run(nowMs);
    });
  }

  nodes(after: string, limit: number): Promise<readonly AgedNode[]> {
    return this.#page('nodes', 'parent', 'messages', after, limit, (row) => ({
      ...agedRow(row),
      parent: textField(row, 'text'),
    }));
  }

  messages(hashes: readonly ContentHash[]): Promise<readonly string[]> {
    return this.#connection.read((database) => {
      const select = database.prepare(
        'SELECT CAST(messages AS BLOB) AS messages FROM nodes WHERE hash = ?',
      );
      return hashes.flatMap((hash) => textField(select.get(hash), 'messages') ?? []);
    });
  }

  blobs(after: string, limit: number): Promise<readonly AgedText[]> {
    return this.#page('blobs', 'manifest', 'manifest', after, limit, agedText);
  }

  chunks(after: string, limit: number): Promise<readonly AgedRow[]> {
    return this.#page('chunks', `''`, 'bytes', after, limit, agedRow);
  }

  tools(after: string, limit: number): Promise<readonly AgedText[]> {
    const record = `intent || coalesce(outcome, '')`;
    return this.#page('tool_executions', record, record, after, limit, agedText);
  }

  deleteNodes(hashes: readonly ContentHash[], beforeMs: number): Promise<readonly ContentHash[]> {
    return this.#connection.write((database) => {
      const remove = database.prepare(
        `DELETE FROM nodes WHERE hash = ?
           AND EXISTS (SELECT 1 FROM ages WHERE ages.hash = nodes.hash AND touched_ms < ?)
           AND NOT EXISTS (SELECT 1 FROM nodes AS child WHERE child.parent = nodes.hash)`,
      );
      return removed(database, hashes, (hash) => remove.run(hash, beforeMs).changes > 0);
    });
  }

  deleteRows(
    table: SweptTable,
    hashes: readonly ContentHash[],
    beforeMs: number,
  ): Promise<readonly ContentHash[]> {
    return this.#connection.write((database) => {
      const remove = database.prepare(
        `DELETE FROM ${table} WHERE ${keys[table]} = ?
           AND EXISTS (SELECT 1 FROM ages WHERE ages.hash = ${table}.${keys[table]} AND touched_ms < ?)`,
      );
      return removed(database, hashes, (hash) => remove.run(hash, beforeMs).changes > 0);
    });
  }

  #page<Row>(
    table: SweptTable | 'nodes',
    textSql: string,
    sizeSql: string,
    after: string,
    limit: number,
    read: (row: unknown) => Row,
  ): Promise<readonly Row[]> {
    const key = keys[table];
    return this.#connection.read((database) =>
      database
        .prepare(
          `SELECT CAST(${table}.${key} AS BLOB) AS hash, CAST(${textSql} AS BLOB) AS text,
             length(CAST(${sizeSql} AS BLOB)) AS bytes, ages.touched_ms AS touched_ms
           FROM ${table} LEFT JOIN ages ON ages.hash = ${table}.${key}
           WHERE ${table}.${key} > ? ORDER BY ${table}.${key} LIMIT ?`,
        )
        .all(after, limit)
        .map(read),
    );
  }
}

function removed(
  database: Database.Database,
  hashes: readonly ContentHash[],
  remove: (hash: ContentHash) => boolean,
): readonly ContentHash[] {
  const gone = hashes.filter(remove);
  const forget = database.prepare('DELETE FROM ages WHERE hash = ?');
  for (const hash of gone) forget.run(hash);
  return gone;
}

function numberField(row: unknown, name: string): number | undefined {
  const value: unknown = typeof row === 'object' && row !== null ? Reflect.get(row, name) : null;
  return typeof value === 'number' ? value : undefined;
}

function agedRow(row: unknown): AgedRow {
  return {
    hash: textField(row, 'hash') ?? '',
    // What has no age yet was written by a release without ages, perhaps just now.
    touchedMs: numberField(row, 'touched_ms') ?? Number.MAX_SAFE_INTEGER,
    bytes: numberField(row, 'bytes') ?? 0,
  };
}

function agedText(row: unknown): AgedText {
  return { ...agedRow(row), text: textField(row, 'text') ?? '' };
}
