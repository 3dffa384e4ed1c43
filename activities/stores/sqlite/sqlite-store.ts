/** The embedded store: one SQLite file, one machine, several processes. */
import type Database from 'libsql';
import type { Store } from '../store';
import type { ContentHash, Head } from '../../../workflows/core/message';
import type { Chunk } from '../content/blob-manifest';
import { CheckedPatternStore } from '../content/checked-pattern-store';
import { ContentAddressedStore } from '../content/content-addressed-store';
import type {
  BlobRow,
  HealthRow,
  HealthUpdate,
  NodeInsertion,
  NodeRow,
  RowEngine,
  ToolRow,
} from '../sql/row-engine';
import { SqliteGarbageRows, touchRows } from './garbage-rows';
import { SqlitePatternRows } from './pattern-rows';
import { SqliteConnection, bytesField, textField } from './connection';
import type { StoreLimits } from '../store-limits';

/** Opens the store in a file, making file, directory and tables if need be. */
export async function openSqliteStore(file: string, limits: StoreLimits): Promise<Store> {
  const connection = new SqliteConnection(file, limits.waitMs);
  const id = await connection.create();
  const patterns = new CheckedPatternStore(new SqlitePatternRows(connection));
  const garbage = new SqliteGarbageRows(connection);
  return new ContentAddressedStore(new SqliteRows(id, connection), patterns, garbage, limits);
}

class SqliteRows implements RowEngine {
  readonly id: string;
  readonly #connection: SqliteConnection;

  constructor(id: string, connection: SqliteConnection) {
    this.id = id;
    this.#connection = connection;
  }

  get label(): string {
    return this.#connection.label;
  }

  insertNode(row: NodeRow): Promise<NodeInsertion> {
    const { hash, parent, messages } = row;
    return this.#connection.write((database) => {
      const present = selectNode(database, hash);
      if (present === undefined && parent !== undefined && !selectNode(database, parent)) {
        return { type: 'parent-missing' };
      }
      touchRows(database, parent === undefined ? [hash] : [parent, hash]);
      if (present !== undefined) return { type: 'present', row: present };
      database.prepare('INSERT INTO nodes VALUES (?, ?, ?)').run(hash, parent ?? null, messages);
      return { type: 'inserted' };
    });
  }

  selectChain(head: Head): Promise<readonly NodeRow[]> {
    return this.#connection.read((database) => {
      return database.prepare(chainSql).all(head).map(nodeRow);
    });
  }

  insertBlobRows(chunks: readonly Chunk[], blob?: BlobRow): Promise<void> {
    return this.#connection.write((database) => {
      const insert = database.prepare('INSERT INTO chunks VALUES (?, ?) ON CONFLICT DO NOTHING');
      for (const chunk of chunks) insert.run(chunk.hash, chunk.bytes);
      touchRows(
        database,
        chunks.map((chunk) => chunk.hash),
      );
      if (blob === undefined) return;
      touchRows(database, [blob.hash]);
      database
        .prepare('INSERT INTO blobs VALUES (?, ?) ON CONFLICT DO NOTHING')
        .run(blob.hash, blob.manifest);
    });
  }

  touchBlob(hash: ContentHash): Promise<boolean> {
    return this.#connection.write((database) => {
      const isThere =
        database.prepare('SELECT 1 FROM blobs WHERE hash = ?').get(hash) !== undefined;
      if (isThere) touchRows(database, [hash]);
      return isThere;
    });
  }

  selectManifest(hash: ContentHash): Promise<string | undefined> {
    return this.#connection.read((database) => {
      return textField(
        database
          .prepare('SELECT CAST(manifest AS BLOB) AS manifest FROM blobs WHERE hash = ?')
          .get(hash),
        'manifest',
      );
    });
  }

  selectChunks(hashes: readonly ContentHash[]): Promise<ReadonlyMap<ContentHash, Buffer>> {
    return this.#connection.read((database) => {
      const found = new Map<ContentHash, Buffer>();
      const select = database.prepare(
        'SELECT CAST(bytes AS BLOB) AS bytes FROM chunks WHERE hash = ?',
      );
      for (const hash of hashes) {
        const bytes = bytesField(select.get(hash), 'bytes');
        if (bytes !== undefined) found.set(hash, bytes);
      }
      return found;
    });
  }

  insertTool(keyHash: ContentHash, row: ToolRow): Promise<ToolRow | undefined> {
    return this.#connection.write((database) => {
      const present = selectTool(database, keyHash);
      if (present !== undefined) return present;
      database
        .prepare('INSERT INTO tool_executions (key_hash, intent, intent_sum) VALUES (?, ?, ?)')
        .run(keyHash, row.intent, row.intentSum);
      touchRows(database, [keyHash]);
      return undefined;
    });
  }

  finishTool(keyHash: ContentHash, outcome: string, outcomeSum: ContentHash): Promise<boolean> {
    return this.#connection.write((database) => {
      const present = selectTool(database, keyHash);
      if (present?.outcome !== undefined) return true;
      const { changes } = database
        .prepare('UPDATE tool_executions SET outcome = ?, outcome_sum = ? WHERE key_hash = ?')
        .run(outcome, outcomeSum, keyHash);
      return changes > 0;
    });
  }

  selectTool(keyHash: ContentHash): Promise<ToolRow | undefined> {
    return this.#connection.read((database) => selectTool(database, keyHash));
  }

  selectHealth(routeHashes: readonly ContentHash[]): Promise<ReadonlyMap<ContentHash, HealthRow>> {
    return this.#connection.read((database) => {
      const found = new Map<ContentHash, HealthRow>();
      for (const routeHash of routeHashes) {
        const row = selectHealth(database, routeHash);
        if (row !== undefined) found.set(routeHash, row);
      }
      return found;
    });
  }

  updateHealth<T extends HealthUpdate>(
    routeHash: ContentHash,
    update: (known: HealthRow | undefined) => T,
  ): Promise<T> {
    return this.#connection.write((database) => {
      const updated = update(selectHealth(database, routeHash));
      if (updated.row !== undefined) {
        const { record, recordSum } = updated.row;
        database
          .prepare('INSERT OR REPLACE INTO route_health VALUES (?, ?, ?)')
          .run(routeHash, record, recordSum);
      }
      return updated;
    });
  }

  touch(): Promise<void> {
    return this.#connection.write((database) => {
      database
        .prepare(`INSERT OR REPLACE INTO holdfast_meta VALUES ('checked_at', ?)`)
        .run(new Date().toISOString());
    });
  }

  close(): Promise<void> {
    this.#connection.close();
    return Promise.resolve();
  }
}

/** Columns as bytes: libsql ends the whole process on text that a damaged file made invalid UTF-8 (seen with 0.5.29). */
const nodeColumns = `
  CAST(nodes.hash AS BLOB) AS hash,
  CAST(nodes.parent AS BLOB) AS parent,
  CAST(nodes.messages AS BLOB) AS messages`;

/** UNION, not UNION ALL: a chain that was bent into a ring ends all the same, and fails its hashes. */
const chainSql = `
  WITH RECURSIVE chain(hash, parent) AS (
    SELECT hash, parent FROM nodes WHERE hash = ?
    UNION
    SELECT nodes.hash, nodes.parent FROM nodes JOIN chain ON nodes.hash = chain.parent
  )
  SELECT ${nodeColumns} FROM chain JOIN nodes ON nodes.hash = chain.hash`;

function selectNode(database: Database.Database, hash: Head): NodeRow | undefined {
  const row = database.prepare(`SELECT ${nodeColumns} FROM nodes WHERE hash = ?`).get(hash);
  return row === undefined ? undefined : nodeRow(row);
}

function nodeRow(row: unknown): NodeRow {
  return {
    hash: textField(row, 'hash') ?? '',
    parent: textField(row, 'parent'),
    messages: textField(row, 'messages') ?? '',
  };
}

function selectTool(database: Database.Database, keyHash: ContentHash): ToolRow | undefined {
  const row = database
    .prepare(
      `SELECT CAST(intent AS BLOB) AS intent, CAST(intent_sum AS BLOB) AS intent_sum,
         CAST(outcome AS BLOB) AS outcome, CAST(outcome_sum AS BLOB) AS outcome_sum
       FROM tool_executions WHERE key_hash = ?`,
    )
    .get(keyHash);
  if (row === undefined) return undefined;
  return {
    intent: textField(row, 'intent') ?? '',
    intentSum: textField(row, 'intent_sum') ?? '',
    outcome: textField(row, 'outcome'),
    outcomeSum: textField(row, 'outcome_sum'),
  };
}

function selectHealth(database: Database.Database, routeHash: ContentHash): HealthRow | undefined {
  const row = database
    .prepare(
      `SELECT CAST(record AS BLOB) AS record, CAST(record_sum AS BLOB) AS record_sum
       FROM route_health WHERE route_hash = ?`,
    )
    .get(routeHash);
  if (row === undefined) return undefined;
  return { record: textField(row, 'record') ?? '', recordSum: textField(row, 'record_sum') ?? '' };
}
