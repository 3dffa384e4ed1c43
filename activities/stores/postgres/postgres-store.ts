/** The store of a fleet: one Postgres database, many machines. */
import type { Store } from '../store';
import type { ContentHash, Head } from '../../../workflows/core/message';
import type { Chunk } from '../content/blob-manifest';
import { CheckedPatternStore } from '../content/checked-pattern-store';
import { ContentAddressedStore } from '../content/content-addressed-store';
import { PostgresConnection, type SqlQuery, type SqlValue } from './connection';
import { nowMsSql, PostgresGarbageRows } from './garbage-rows';
import { PostgresPatternRows } from './pattern-rows';
import { postgresMigrations } from './schema';
import type {
  BlobRow,
  HealthRow,
  HealthUpdate,
  NodeInsertion,
  NodeRow,
  RowEngine,
  ToolRow,
} from '../sql/row-engine';
import { missingMigrations } from '../sql/schema-version';
import { storeCorrupt, storeMismatch } from '../store-errors';
import type { StoreLimits } from '../store-limits';

/** Opens the store in a database, making schema and tables if need be, whoever else is doing so. */
export async function openPostgresStore(url: string, limits: StoreLimits): Promise<Store> {
  const connection = new PostgresConnection(url, limits);
  try {
    const id = await migrate(connection);
    const patterns = new CheckedPatternStore(new PostgresPatternRows(connection));
    const garbage = new PostgresGarbageRows(connection);
    return new ContentAddressedStore(new PostgresRows(id, connection), patterns, garbage, limits);
  } catch (error) {
    await connection.close();
    throw error;
  }
}

class PostgresRows implements RowEngine {
  readonly id: string;
  readonly #connection: PostgresConnection;

  constructor(id: string, connection: PostgresConnection) {
    this.id = id;
    this.#connection = connection;
  }

  get label(): string {
    return this.#connection.label;
  }

  async insertNode(row: NodeRow): Promise<NodeInsertion> {
    const values = [row.hash, row.parent ?? null, row.messages];
    const { rows } = await this.#connection.query(insertNodeSql, values);
    if (rows[0]?.['inserted'] === true) return { type: 'inserted' };
    const present = await this.#connection.query(selectNodeSql, [row.hash]);
    const [found] = present.rows.map(nodeRow);
    return found === undefined ? { type: 'parent-missing' } : { type: 'present', row: found };
  }

  async selectChain(head: Head): Promise<readonly NodeRow[]> {
    const { rows } = await this.#connection.query(chainSql, [head]);
    return rows.map(nodeRow);
  }

  async insertBlobRows(chunks: readonly Chunk[], blob?: BlobRow): Promise<void> {
    // A statement may touch a row once only.
    const distinct = [...new Map(chunks.map((chunk) => [chunk.hash, chunk])).values()];
    const values: SqlValue[] = distinct.flatMap((chunk) => [chunk.hash, chunk.bytes]);
    const tuples = distinct.map(
      (_, index) => `($${2 * index + 1}::text, $${2 * index + 2}::bytea)`,
    );
    const insertChunks = `INSERT INTO holdfast.chunks (hash, bytes) VALUES ${tuples.join(', ')} ${touchOnConflict}`;
    if (blob === undefined) {
      await this.#connection.query(insertChunks, values);
      return;
    }
    const insertBlob = `INSERT INTO holdfast.blobs (hash, manifest) VALUES ($${values.length + 1}, $${values.length + 2}) ${touchOnConflict}`;
    const sql = chunks.length === 0 ? insertBlob : `WITH pieces AS (${insertChunks}) ${insertBlob}`;
    await this.#connection.query(sql, [...values, blob.hash, blob.manifest]);
  }

  async touchBlob(hash: ContentHash): Promise<boolean> {
    const sql = `UPDATE holdfast.blobs SET touched_ms = ${nowMsSql} WHERE hash = $1`;
    return (await this.#connection.query(sql, [hash])).rowCount === 1;
  }

  async selectManifest(hash: ContentHash): Promise<string | undefined> {
    const sql = 'SELECT manifest FROM holdfast.blobs WHERE hash = $1';
    const { rows } = await this.#connection.query(sql, [hash]);
    return text(rows[0]?.['manifest']);
  }

  async selectChunks(hashes: readonly ContentHash[]): Promise<ReadonlyMap<ContentHash, Buffer>> {
    const { rows } = await this.#connection.query(selectChunksSql, [hashes]);
    const found = new Map<ContentHash, Buffer>();
    for (const { hash, bytes } of rows) {
      found.set(text(hash) ?? '', Buffer.from(text(bytes) ?? '', 'base64'));
    }
    return found;
  }

  async insertTool(keyHash: ContentHash, row: ToolRow): Promise<ToolRow | undefined> {
    // A statement whose connection broke is sent again: the writer's mark tells one's own row from another's.
    const writer = crypto.randomUUID();
    const values = [keyHash, writer, row.intent, row.intentSum];
    const { rowCount } = await this.#connection.query(insertToolSql, values);
    if (rowCount === 1) return undefined;
    const { rows } = await this.#connection.query(selectToolSql, [keyHash]);
    return rows[0]?.['writer'] === writer ? undefined : toolRow(rows[0]);
  }

  async finishTool(
    keyHash: ContentHash,
    outcome: string,
    outcomeSum: ContentHash,
  ): Promise<boolean> {
    const values = [keyHash, outcome, outcomeSum];
    const { rowCount } = await this.#connection.query(finishToolSql, values);
    return rowCount === 1 || (await this.selectTool(keyHash)) !== undefined;
  }

  async selectTool(keyHash: ContentHash): Promise<ToolRow | undefined> {
    const { rows } = await this.#connection.query(selectToolSql, [keyHash]);
    return toolRow(rows[0]);
  }

  async selectHealth(
    routeHashes: readonly ContentHash[],
  ): Promise<ReadonlyMap<ContentHash, HealthRow>> {
    const { rows } = await this.#connection.query(selectHealthSql, [routeHashes]);
    return new Map(rows.map((row) => [text(row['route_hash']) ?? '', healthRow(row)]));
  }

  updateHealth<T extends HealthUpdate>(
    routeHash: ContentHash,
    update: (known: HealthRow | undefined) => T,
  ): Promise<T> {
    return this.#connection.transaction(async (query) => {
      const { rows } = await query(lockHealthSql, [routeHash]);
      const updated = update(rows.map(healthRow)[0]);
      if (updated.row !== undefined) {
        const { record, recordSum } = updated.row;
        await query(updateHealthSql, [routeHash, record, recordSum]);
      }
      return updated;
    });
  }

  async touch(): Promise<void> {
    const { rows } = await this.#connection.query(touchSql, [new Date().toISOString()]);
    const id = text(rows[0]?.['id']);
    if (id === this.id) return;
    const reason = `the database now holds the store ${String(id)}, not ${this.id}`;
    throw storeMismatch(this.label, reason, 'Restore the former database, or restart the worker.');
  }

  close(): Promise<void> {
    return this.#connection.close();
  }
}

/** Whoever finds a row there makes it young: a sweep of the same row waits for this, or this for the sweep. */
const touchOnConflict = 'ON CONFLICT (hash) DO UPDATE SET touched_ms = excluded.touched_ms';

/** A parent that was touched so many milliseconds ago is not touched again: no grace is as short (ADR 0025). */
const freshMs = 20_000;

const insertNodeSql = `
  WITH touched AS (
    UPDATE holdfast.nodes SET touched_ms = ${nowMsSql}
    WHERE hash = $2::text AND touched_ms < ${nowMsSql} - ${freshMs}
    RETURNING hash
  )
  INSERT INTO holdfast.nodes (hash, parent, messages)
  SELECT $1::text, $2::text, $3::text
  WHERE $2::text IS NULL OR EXISTS (SELECT FROM touched) OR EXISTS (
    SELECT FROM holdfast.nodes
    WHERE hash = $2::text AND touched_ms >= ${nowMsSql} - ${freshMs}
  )
  ${touchOnConflict}
  RETURNING (xmax = 0) AS inserted`;

const selectNodeSql = 'SELECT hash, parent, messages FROM holdfast.nodes WHERE hash = $1';

/** UNION, not UNION ALL: a chain that was bent into a ring ends all the same, and fails its hashes. */
const chainSql = `
  WITH RECURSIVE chain(hash, parent) AS (
    SELECT hash, parent FROM holdfast.nodes WHERE hash = $1
    UNION
    SELECT nodes.hash, nodes.parent
    FROM holdfast.nodes AS nodes JOIN chain ON nodes.hash = chain.parent
  )
  SELECT nodes.hash, nodes.parent, nodes.messages
  FROM chain JOIN holdfast.nodes AS nodes ON nodes.hash = chain.hash`;

/** As base64: pg's binary mode garbles bytes that are not UTF-8 (seen with pg 8.23), and its text mode doubles them. */
const selectChunksSql = `
  SELECT hash, encode(bytes, 'base64') AS bytes
  FROM holdfast.chunks WHERE hash = ANY($1::text[])`;

const insertToolSql = `
  INSERT INTO holdfast.tool_executions (key_hash, writer, intent, intent_sum)
  VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING`;

const selectToolSql = `
  SELECT writer, intent, intent_sum, outcome, outcome_sum
  FROM holdfast.tool_executions WHERE key_hash = $1`;

const finishToolSql = `
  UPDATE holdfast.tool_executions SET outcome = $2, outcome_sum = $3
  WHERE key_hash = $1 AND outcome IS NULL`;

const selectHealthSql = `
  SELECT route_hash, record, record_sum
  FROM holdfast.route_health WHERE route_hash = ANY($1::text[])`;

/** Adds an empty row, which is no record, where there is none; in either case the row is this transaction's alone until its end. */
const lockHealthSql = `
  INSERT INTO holdfast.route_health VALUES ($1, '', '')
  ON CONFLICT (route_hash) DO UPDATE SET route_hash = excluded.route_hash
  RETURNING record, record_sum`;

const updateHealthSql = `
  UPDATE holdfast.route_health SET record = $2, record_sum = $3 WHERE route_hash = $1`;

const touchSql = `
  INSERT INTO holdfast.meta VALUES ('checked_at', $1)
  ON CONFLICT (name) DO UPDATE SET value = excluded.value
  RETURNING (SELECT value FROM holdfast.meta WHERE name = 'id') AS id`;

/** Brings the tables up to date; returns the store's id. */
async function migrate(connection: PostgresConnection): Promise<string> {
  const { label } = connection;
  const known = await readMeta((sql, values) => connection.query(sql, values), label);
  if (missingMigrations(label, known.version, postgresMigrations).length === 0) return known.id;
  return connection.transaction(async (query) => {
    await query(`SELECT pg_advisory_xact_lock(hashtextextended('holdfast schema', 0))`);
    // A schema made by the database's owner is used as it is: making one needs a right that the user may lack.
    const { rows } = await query(`SELECT to_regnamespace('holdfast') IS NULL AS missing`);
    if (rows[0]?.['missing'] === true) await query('CREATE SCHEMA holdfast');
    const { version } = await readMeta(query, label);
    for (const sql of missingMigrations(label, version, postgresMigrations)) await query(sql);
    await query(`INSERT INTO holdfast.meta VALUES ('id', $1) ON CONFLICT DO NOTHING`, [
      crypto.randomUUID(),
    ]);
    await query(
      `INSERT INTO holdfast.meta VALUES ('schema_version', $1)
       ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
      [String(postgresMigrations.length)],
    );
    return (await readMeta(query, label)).id;
  });
}

async function readMeta(
  query: SqlQuery,
  label: string,
): Promise<{ readonly id: string; readonly version: string | undefined }> {
  const { rows: found } = await query(`SELECT to_regclass('holdfast.meta') IS NULL AS missing`);
  if (found[0]?.['missing'] === true) return { id: '', version: undefined };
  const { rows } = await query('SELECT name, value FROM holdfast.meta');
  const values = new Map(rows.map((row) => [row['name'], text(row['value'])]));
  const id = values.get('id');
  const version = values.get('schema_version');
  if (!id || version === undefined) throw storeCorrupt(label, 'its id or version is missing');
  return { id, version };
}

function nodeRow(row: Record<string, unknown>): NodeRow {
  return {
    hash: text(row['hash']) ?? '',
    parent: text(row['parent']),
    messages: text(row['messages']) ?? '',
  };
}

function toolRow(row: Record<string, unknown> | undefined): ToolRow | undefined {
  if (row === undefined) return undefined;
  return {
    intent: text(row['intent']) ?? '',
    intentSum: text(row['intent_sum']) ?? '',
    outcome: text(row['outcome']),
    outcomeSum: text(row['outcome_sum']),
  };
}

function healthRow(row: Record<string, unknown>): HealthRow {
  return { record: text(row['record']) ?? '', recordSum: text(row['record_sum']) ?? '' };
}

function text(value: unknown): string | undefined {
  return typeof value === 'string' ? value : undefined;
}
