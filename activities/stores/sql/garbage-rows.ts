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

/** One row as a sweep sees it. */
export interface AgedRow {
  readonly hash: ContentHash;
  /** When it was last written, or found by a write of the same content; milliseconds since the epoch. */
  readonly touchedMs: number;
  readonly bytes: number;
  /** What may name other rows: a node's parent, a blob's manifest, a tool's intent and outcome. */
  readonly text: string | undefined;
}

/** Tables whose rows are needed only by rows that name them. */
export type SweptTable = 'blobs' | 'chunks' | 'tool_executions';

/** Of each table: the key, the columns that may name other rows, and those whose size counts. */
const columns: Readonly<Record<SweptTable | 'nodes', readonly [string, string[], string]>> = {
  nodes: ['hash', ['parent'], 'messages'],
  blobs: ['hash', ['manifest'], 'manifest'],
  chunks: ['hash', [], 'bytes'],
  tool_executions: ['key_hash', ['intent', 'outcome'], `intent || coalesce(outcome, '')`],
};

/** Tables whose rows are found by what they are about, and made again when they are missing, with their keys. */
const unnamedTables = [
  ['route_health', 'route_hash'],
  ['tool_knowledge', 'digest'],
  ['tenant_usage', 'key_hash'],
] as const;

/**
 * One database during a sweep.
 *
 * Contract: a delete checks the age again in its own transaction, so a row that was touched in the meantime stays. Pages are
 * in order of the hash; `after` is the last hash of the page before.
 */
export class GarbageRows {
  constructor(readonly database: SqlDatabase) {}

  async page(
    table: SweptTable | 'nodes',
    after: string,
    limit: number,
  ): Promise<readonly AgedRow[]> {
    const [key, texts, size] = columns[table];
    const selected = [`${key} AS hash`, ...texts].map((column) => `{${column}}`).join(', ');
    const sql = `SELECT ${selected}, octet_length(${size}) AS bytes, touched_ms
                 FROM @${table} WHERE ${key} > ?name ORDER BY ${key} LIMIT ?`;
    const rows = await this.database.read((query) => query(sql, [after, limit]));
    return rows.map((row) => ({
      hash: textOf(row['hash']) ?? '',
      touchedMs: numberOf(row['touched_ms']),
      bytes: numberOf(row['bytes']),
      text: textIn(row, texts),
    }));
  }

  async messages(hashes: readonly ContentHash[]): Promise<readonly string[]> {
    if (hashes.length === 0) return [];
    const sql = `SELECT {messages} FROM @nodes WHERE hash IN (${placeholders(hashes.length)})`;
    const rows = await this.database.read((query) => query(sql, hashes));
    return rows.flatMap((row) => textOf(row['messages']) ?? []);
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
      // Locked until the end: a writer of one of them, or of its child, waits and then finds it deleted.
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

  /** Deletes rows that no other row names, and that were last used before; returns how many. */
  async deleteUnused(beforeMs: number): Promise<number> {
    let count = 0;
    for (const [table, key] of unnamedTables) {
      const sql = `DELETE FROM @${table} WHERE touched_ms < ? RETURNING {${key} AS hash}`;
      const [rows = []] = await this.database.write([[sql, [beforeMs]]]);
      count += rows.length;
    }
    return count;
  }

  /** Deletes rows that were last touched before `beforeMs`; returns the deleted ones. */
  async deleteRows(
    table: SweptTable,
    hashes: readonly ContentHash[],
    beforeMs: number,
  ): Promise<readonly ContentHash[]> {
    if (hashes.length === 0) return [];
    const [key] = columns[table];
    const sql = `DELETE FROM @${table} WHERE ${key} IN (${placeholders(hashes.length)})
                 AND touched_ms < ? RETURNING {${key} AS hash}`;
    const [rows = []] = await this.database.write([[sql, [...hashes, beforeMs]]]);
    return rows.flatMap((row) => textOf(row['hash']) ?? []);
  }
}

function textIn(row: SqlRow, names: readonly string[]): string | undefined {
  const texts = names.flatMap((name) => textOf(row[name]) ?? []);
  return texts.length === 0 ? undefined : texts.join('');
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
