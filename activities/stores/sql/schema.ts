/** The tables of a store, and how a database gets them. */
import { storeConfigInvalid, storeCorrupt, storeMismatch } from '../store-errors';
import type { SqlDatabase, SqlQuery, SqlWork } from './sql-database';
import { textOf } from './sql-database';

/** The oldest version that can be brought up to date. */
const firstVersion = 8;

/** A row is as old as its last write, even if that found the row there (ADR 0025). */
const touched = 'touched_ms bigint NOT NULL DEFAULT ($now)';

const record = 'record text NOT NULL, record_sum text NOT NULL';

const tables: readonly string[] = [
  'CREATE TABLE @meta (name text PRIMARY KEY, value text NOT NULL)',
  `CREATE TABLE @nodes (hash $key PRIMARY KEY, parent $key, ${touched}, messages text NOT NULL)`,
  'CREATE INDEX nodes_by_parent ON @nodes (parent)',
  `CREATE TABLE @blobs (hash $key PRIMARY KEY, ${touched}, manifest text NOT NULL)`,
  `CREATE TABLE @chunks (hash $key PRIMARY KEY, ${touched}, bytes $blob NOT NULL)`,
  `CREATE TABLE @tool_executions (
     key_hash $key PRIMARY KEY,
     action $key NOT NULL,
     source $key,
     owner text NOT NULL,
     scheduled_ms bigint NOT NULL,
     phase text NOT NULL,
     ${touched},
     intent text NOT NULL,
     intent_sum text NOT NULL,
     outcome text,
     outcome_sum text
   )`,
  'CREATE UNIQUE INDEX tools_by_action ON @tool_executions (action, source)',
  `CREATE TABLE @route_health (route_hash $key PRIMARY KEY, ${record})`,
  `CREATE TABLE @observations (
     key_hash $key PRIMARY KEY,
     tenant $key NOT NULL,
     at_ms bigint NOT NULL,
     ${record}
   )`,
  'CREATE INDEX observations_by_age ON @observations (tenant, at_ms)',
  `CREATE TABLE @patterns (
     id $key PRIMARY KEY,
     tenant $key NOT NULL,
     cluster $key NOT NULL,
     ${record}
   )`,
  'CREATE INDEX patterns_by_cluster ON @patterns (tenant, cluster)',
  `CREATE TABLE @tool_knowledge (digest $key PRIMARY KEY, ${record})`,
  'CREATE TABLE @text_watchers (run_hash $key PRIMARY KEY, until_ms bigint NOT NULL)',
  `CREATE TABLE @text_pieces (
     run_hash $key,
     call $key,
     number bigint,
     piece text NOT NULL,
     PRIMARY KEY (run_hash, call, number)
   )`,
];

/**
 * What brings a store from one version to the next, from `firstVersion` on. A store that is made now gets `tables` and then all of
 * these, so that old and new stores are the same. A step is never changed after its release: add another one.
 */
const migrations: readonly (readonly string[])[] = [
  [
    // Of rows that nothing swept: when they were used last.
    'ALTER TABLE @route_health ADD COLUMN touched_ms bigint NOT NULL DEFAULT 0',
    'UPDATE @route_health SET touched_ms = $now',
    'ALTER TABLE @tool_knowledge ADD COLUMN touched_ms bigint NOT NULL DEFAULT 0',
    'UPDATE @tool_knowledge SET touched_ms = $now',
  ],
  [
    `CREATE TABLE @tenant_usage (
       key_hash $key PRIMARY KEY,
       tenant $key NOT NULL,
       ${touched},
       ${record}
     )`,
  ],
];

/** The version of the tables that this Holdfast works with. */
const schemaVersion = firstVersion + migrations.length;

/** A database whose tables may be missing. */
export interface SchemaHost {
  readonly label: string;
  readonly query: SqlQuery;
  /** Runs work in a transaction that excludes other openers. */
  readonly alone: <T>(work: SqlWork<T>) => Promise<T>;
  /** Whether the store's tables are there. */
  readonly hasTables: SqlWork<boolean>;
}

/**
 * Creates the tables if they are missing, or brings them up to date, also if several openers do so at once; returns the store's id.
 *
 * Errors: `store_mismatch` for tables of another version, `store_corrupt` for a version or an id that is missing.
 */
export async function ensureTables(host: SchemaHost): Promise<string> {
  const { label, query, alone, hasTables } = host;
  if (await hasTables(query)) {
    const { id, version } = await knownStore(query, label);
    if (version === schemaVersion) return id;
  }
  return alone(async (inTransaction) => {
    if (!(await hasTables(inTransaction))) {
      for (const sql of tables) await inTransaction(sql);
      const values = ['id', crypto.randomUUID(), 'schema_version', String(firstVersion)];
      await inTransaction('INSERT INTO @meta (name, value) VALUES (?, ?), (?, ?)', values);
    }
    // Locked, so that two openers do not take the same step; in SQLite, a transaction alone does that.
    await inTransaction(`SELECT {value} FROM @meta WHERE name = 'schema_version' $lock`);
    const { id, version } = await knownStore(inTransaction, label);
    for (const sql of migrations.slice(version - firstVersion).flat()) await inTransaction(sql);
    const sql = `UPDATE @meta SET value = ? WHERE name = 'schema_version'`;
    await inTransaction(sql, [String(schemaVersion)]);
    return id;
  });
}

/** Errors: as `ensureTables`. */
async function knownStore(
  query: SqlQuery,
  label: string,
): Promise<{ readonly id: string; readonly version: number }> {
  const rows = await query('SELECT {name}, {value} FROM @meta');
  const values = new Map(rows.map(({ name, value }) => [textOf(name), textOf(value)]));
  const id = values.get('id');
  const version = values.get('schema_version');
  if (!id || version === undefined) throw storeCorrupt(label, 'its id or version is missing');
  if (!/^\d{1,6}$/.test(version))
    throw storeCorrupt(label, `its schema version reads "${version.slice(0, 40)}"`);
  const number = Number(version);
  if (number >= firstVersion && number <= schemaVersion) return { id, version: number };
  throw storeMismatch(
    label,
    `it has schema version ${version}, and this Holdfast works with versions ${firstVersion} to ${schemaVersion}`,
    number > schemaVersion
      ? 'Upgrade Holdfast on this worker, or open another store.'
      : 'Open another store: this one was made before the first release.',
  );
}

/** Writes to the database, and returns the id of the store in it. */
export async function probeTables(database: SqlDatabase): Promise<string | undefined> {
  const [, ids] = await database.write([
    [
      `INSERT INTO @meta (name, value) VALUES ('checked_at', ?)
       ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
      [new Date().toISOString()],
    ],
    [`SELECT {value} FROM @meta WHERE name = 'id'`],
  ]);
  return textOf(ids?.[0]?.['value']);
}

/** Row of `meta` in an encrypted store: the ids of the keys that encrypted its own keys, newest last; JSON. */
export const keyIdsRow = 'key_ids';

/** Errors: `config_invalid` if the store is encrypted. */
export async function requirePlain(database: SqlDatabase): Promise<void> {
  const sql = `SELECT {value} FROM @meta WHERE name = '${keyIdsRow}'`;
  const [row] = await database.read((query) => query(sql));
  if (row === undefined) return;
  throw storeConfigInvalid(
    `Store ${database.label} is encrypted, with keys ${textOf(row['value']) ?? ''}. Open it with \`encryption\` (for commands: HOLDFAST_ENCRYPTION_KEYS).`,
  );
}
