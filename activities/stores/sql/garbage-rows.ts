/** The rows of a store as a sweep sees them. */
import type { ContentHash } from '../../../workflows/core/message';
import {
  numberOf,
  placeholders,
  textOf,
  type SqlDatabase,
  type SqlQuery,
  type SqlRow,
} from './sql-database';

/** One row of a table of content. */
export interface AgedRow {
  readonly hash: ContentHash;
  /** When it was last written, or found by a write of the same content; milliseconds since the epoch. */
  readonly touchedMs: number;
  readonly bytes: number;
}

/** A transcript node without its messages. */
export interface AgedNode extends AgedRow {
  readonly parent: ContentHash | undefined;
}

/** A row with the text that may name other rows: a blob's manifest, a tool's intent and outcome. */
export interface AgedText extends AgedRow {
  readonly text: string;
}

/** Tables whose rows are needed only by rows that name them. */
export type SweptTable = 'blobs' | 'chunks' | 'tool_executions';

function keyOf(table: SweptTable | 'nodes'): string {
  return table === 'tool_executions' ? 'key_hash' : 'hash';
}

/**
 * One database during a sweep.
 *
 * Contract: a delete checks the age again in its own transaction, so a row that was touched in the meantime stays. Pages are
 * in order of the hash; `after` is the last hash of the page before.
 */
export class GarbageRows {
  constructor(readonly database: SqlDatabase) {}

  async nodes(after: string, limit: number): Promise<readonly AgedNode[]> {
    const rows = await this.#page('nodes', 'parent', 'messages', after, limit);
    return rows.map((row) => ({ ...agedRow(row), parent: textOf(row['text']) }));
  }

  async messages(hashes: readonly ContentHash[]): Promise<readonly string[]> {
    if (hashes.length === 0) return [];
    const sql = `SELECT {messages} FROM @nodes WHERE hash IN (${placeholders(hashes.length)})`;
    const rows = await this.database.read((query) => query(sql, hashes));
    return rows.flatMap((row) => textOf(row['messages']) ?? []);
  }

  blobs(after: string, limit: number): Promise<readonly AgedText[]> {
    return this.#texts('blobs', 'manifest', after, limit);
  }

  async chunks(after: string, limit: number): Promise<readonly AgedRow[]> {
    return (await this.#page('chunks', `''`, 'bytes', after, limit)).map(agedRow);
  }

  tools(after: string, limit: number): Promise<readonly AgedText[]> {
    return this.#texts('tool_executions', `intent || coalesce(outcome, '')`, after, limit);
  }

  /**
   * Deletes nodes that were last touched before `beforeMs` and that are not the parent of a node that stays. Returns the
   * deleted ones. Contract: children come before their parents.
   */
  async deleteNodes(
    hashes: readonly ContentHash[],
    beforeMs: number,
  ): Promise<readonly ContentHash[]> {
    if (hashes.length === 0) return [];
    return this.database.transaction(async (query) => {
      // Locked until the end: whoever builds on one of them, or writes it again, waits and then finds it gone.
      const old = await query(
        `SELECT {hash}, {parent} FROM @nodes WHERE hash IN (${placeholders(hashes.length)})
           AND touched_ms < ?
         ORDER BY hash $lock`,
        [...hashes, beforeMs],
      );
      const parents = new Map(old.map(({ hash, parent }) => [textOf(hash) ?? '', textOf(parent)]));
      const removable = await withoutChildren(query, hashes, parents);
      if (removable.length > 0)
        await query(
          `DELETE FROM @nodes WHERE hash IN (${placeholders(removable.length)})`,
          removable,
        );
      return removable;
    });
  }

  /** Deletes rows that were last touched before `beforeMs`; returns the deleted ones. */
  async deleteRows(
    table: SweptTable,
    hashes: readonly ContentHash[],
    beforeMs: number,
  ): Promise<readonly ContentHash[]> {
    if (hashes.length === 0) return [];
    const key = keyOf(table);
    const sql = `DELETE FROM @${table} WHERE ${key} IN (${placeholders(hashes.length)})
                 AND touched_ms < ? RETURNING {${key} AS hash}`;
    const rows = await this.database.write((query) => query(sql, [...hashes, beforeMs]));
    return rows.flatMap((row) => textOf(row['hash']) ?? []);
  }

  async #texts(
    table: SweptTable,
    textSql: string,
    after: string,
    limit: number,
  ): Promise<readonly AgedText[]> {
    const rows = await this.#page(table, textSql, textSql, after, limit);
    return rows.map((row) => ({ ...agedRow(row), text: textOf(row['text']) ?? '' }));
  }

  #page(
    table: SweptTable | 'nodes',
    textSql: string,
    sizeSql: string,
    after: string,
    limit: number,
  ): Promise<readonly SqlRow[]> {
    const key = keyOf(table);
    const sql = `SELECT {${key} AS hash}, {${textSql} AS text}, octet_length(${sizeSql}) AS bytes, touched_ms
                 FROM @${table} WHERE ${key} > ? ORDER BY ${key} LIMIT ?`;
    return this.database.read((query) => query(sql, [after, limit]));
  }
}

/** Those of the locked nodes, given with their parents, that no node which stays has as its parent. */
async function withoutChildren(
  query: SqlQuery,
  childrenFirst: readonly ContentHash[],
  parents: ReadonlyMap<ContentHash, ContentHash | undefined>,
): Promise<readonly ContentHash[]> {
  if (parents.size === 0) return [];
  const locked = placeholders(parents.size);
  const children = await query(
    `SELECT {parent} FROM @nodes WHERE parent IN (${locked}) AND hash NOT IN (${locked})`,
    [...parents.keys(), ...parents.keys()],
  );
  const needed = new Set(children.map(({ parent }) => textOf(parent)));
  return childrenFirst.filter((hash) => {
    if (!parents.has(hash)) return false;
    if (needed.has(hash)) needed.add(parents.get(hash));
    return !needed.has(hash);
  });
}

function agedRow(row: SqlRow): AgedRow {
  return {
    hash: textOf(row['hash']) ?? '',
    touchedMs: numberOf(row['touched_ms']),
    bytes: numberOf(row['bytes']),
  };
}
