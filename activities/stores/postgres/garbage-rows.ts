/** A sweep of a Postgres store. Ages are columns, so that a write and a sweep of the same row wait for each other's lock. */
import type { ContentHash } from '../../../workflows/core/message';
import type { AgedNode, AgedRow, AgedText, GarbageRows, SweptTable } from '../sql/garbage-rows';
import type { PostgresConnection, SqlQuery } from './connection';

/** Now in milliseconds, by the clock that the default of the columns uses. */
export const nowMsSql = '(extract(epoch FROM now()) * 1000)::bigint';

const keys: { readonly [Table in SweptTable | 'nodes']: string } = {
  nodes: 'hash',
  blobs: 'hash',
  chunks: 'hash',
  tool_executions: 'key_hash',
};

/** A sweep on the connection of a store. */
export class PostgresGarbageRows implements GarbageRows {
  readonly #connection: PostgresConnection;

  constructor(connection: PostgresConnection) {
    this.#connection = connection;
  }

  /** Rows of a release without ages got theirs by the columns' default. */
  adopt(): Promise<void> {
    return Promise.resolve();
  }

  async nodes(after: string, limit: number): Promise<readonly AgedNode[]> {
    const rows = await this.#page('nodes', 'parent', 'octet_length(messages)', after, limit);
    return rows.map((row) => ({ ...agedRow(row), parent: textOf(row['text']) }));
  }

  async messages(hashes: readonly ContentHash[]): Promise<readonly string[]> {
    const sql = 'SELECT messages FROM holdfast.nodes WHERE hash = ANY($1::text[])';
    const { rows } = await this.#connection.query(sql, [hashes]);
    return rows.flatMap((row) => textOf(row['messages']) ?? []);
  }

  async blobs(after: string, limit: number): Promise<readonly AgedText[]> {
    return (await this.#page('blobs', 'manifest', 'octet_length(manifest)', after, limit)).map(
      agedText,
    );
  }

  async chunks(after: string, limit: number): Promise<readonly AgedRow[]> {
    return (await this.#page('chunks', `''`, 'octet_length(bytes)', after, limit)).map(agedRow);
  }

  async tools(after: string, limit: number): Promise<readonly AgedText[]> {
    const record = `intent || coalesce(outcome, '')`;
    const size = `octet_length(${record})`;
    return (await this.#page('tool_executions', record, size, after, limit)).map(agedText);
  }

  deleteNodes(hashes: readonly ContentHash[], beforeMs: number): Promise<readonly ContentHash[]> {
    return this.#connection.transaction(async (query) => {
      const { rows } = await query(lockNodesSql, [hashes, beforeMs]);
      const locked = new Map(rows.map((row) => [textOf(row['hash']) ?? '', textOf(row['parent'])]));
      const gone = await withoutChildren(query, hashes, locked);
      await query('DELETE FROM holdfast.nodes WHERE hash = ANY($1::text[])', [gone]);
      return gone;
    });
  }

  async deleteRows(
    table: SweptTable,
    hashes: readonly ContentHash[],
    beforeMs: number,
  ): Promise<readonly ContentHash[]> {
    const key = keys[table];
    const { rows } = await this.#connection.query(
      `DELETE FROM holdfast.${table} WHERE ${key} = ANY($1::text[]) AND touched_ms < $2::bigint
       RETURNING ${key} AS hash`,
      [hashes, beforeMs],
    );
    return rows.flatMap((row) => textOf(row['hash']) ?? []);
  }

  async #page(
    table: SweptTable | 'nodes',
    textSql: string,
    sizeSql: string,
    after: string,
    limit: number,
  ): Promise<readonly Record<string, unknown>[]> {
    const key = keys[table];
    const { rows } = await this.#connection.query(
      `SELECT ${key} AS hash, ${textSql} AS text, ${sizeSql} AS bytes, touched_ms
       FROM holdfast.${table} WHERE ${key} > $1 ORDER BY ${key} LIMIT $2`,
      [after, limit],
    );
    return rows;
  }
}

/** Locked until the end: who builds on one of them, or writes it again, waits and then finds it gone. */
const lockNodesSql = `
  SELECT hash, parent FROM holdfast.nodes
  WHERE hash = ANY($1::text[]) AND touched_ms < $2::bigint
  ORDER BY hash FOR UPDATE`;

const outsideChildrenSql = `
  SELECT DISTINCT parent FROM holdfast.nodes
  WHERE parent = ANY($1::text[]) AND NOT hash = ANY($1::text[])`;

/** Those of the locked nodes on which nothing that stays is built. */
async function withoutChildren(
  query: SqlQuery,
  childrenFirst: readonly ContentHash[],
  locked: ReadonlyMap<ContentHash, string | undefined>,
): Promise<readonly ContentHash[]> {
  const { rows } = await query(outsideChildrenSql, [[...locked.keys()]]);
  const needed = new Set(rows.flatMap((row) => textOf(row['parent']) ?? []));
  return childrenFirst.filter((hash) => {
    if (!locked.has(hash)) return false;
    if (!needed.has(hash)) return true;
    const parent = locked.get(hash);
    if (parent !== undefined) needed.add(parent);
    return false;
  });
}

function textOf(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}

function agedRow(row: Record<string, unknown>): AgedRow {
  return {
    hash: textOf(row['hash']) ?? '',
    // Postgres gives bigint as text.
    touchedMs: Number(row['touched_ms']),
    bytes: Number(row['bytes']),
  };
}

function agedText(row: Record<string, unknown>): AgedText {
  return { ...agedRow(row), text: textOf(row['text']) ?? '' };
}
