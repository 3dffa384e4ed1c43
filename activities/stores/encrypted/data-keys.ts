/** The keys of an encrypted store: made by the store, encrypted with a key of the deployment, and kept in the table `meta`. */
import { randomBytes } from 'node:crypto';
import type { Encryption } from '../../encryption/encryption-shape';
import { EncryptionKeyError, keyBytes } from '../../encryption/key-ring';
import { seal, unseal } from '../../encryption/seal';
import { keyIdsRow } from '../sql/schema';
import { textOf, type SqlDatabase, type SqlQuery } from '../sql/sql-database';
import { storeConfigInvalid, storeUnavailable } from '../store-errors';

/** Name of a row of `meta`, before the key's number. */
const rowPrefix = 'data_key:';

const selectSql = `SELECT {name}, {value} FROM @meta WHERE name = '${keyIdsRow}' OR name LIKE '${rowPrefix}%'`;
const lockSql = `SELECT {name} FROM @meta WHERE name = 'id' $lock`;
const saveSql = `INSERT INTO @meta (name, value) VALUES (?, ?)
                 ON CONFLICT (name) DO UPDATE SET value = excluded.value`;

/** Tables that hold content; a store is encrypted from its first content on, or never. */
const contentTables = 'nodes chunks tool_executions observations patterns route_health'.split(' ');

/** The rows of `meta` that belong to encryption, by name. */
type KeyRows = ReadonlyMap<string, string>;

async function keyRows(query: SqlQuery): Promise<KeyRows> {
  const rows = await query(selectSql);
  return new Map(rows.map(({ name, value }) => [textOf(name) ?? '', textOf(value) ?? '']));
}

const keyIdsIn = (rows: KeyRows): readonly string[] =>
  JSON.parse(rows.get(keyIdsRow) ?? '[]') as readonly string[];

/** A store's keys in the clear, by number from 1. */
type DataKeys = ReadonlyMap<number, Buffer>;

const labelOf = (storeId: string, number: number): string => `${storeId} data key ${number}`;

/** Errors: `EncryptionKeyError`. */
async function unsealed(
  { id }: SqlDatabase,
  encryption: Encryption,
  rows: KeyRows,
): Promise<DataKeys> {
  const keyId = keyIdsIn(rows).at(-1) ?? '';
  const key = await encryption.key(keyId);
  const keys = new Map<number, Buffer>();
  for (const [name, value] of rows) {
    if (!name.startsWith(rowPrefix)) continue;
    const number = Number(name.slice(rowPrefix.length));
    const plain = unseal(key, labelOf(id, number), Buffer.from(value, 'base64'));
    if (plain?.length !== keyBytes)
      throw new EncryptionKeyError(
        `The store was encrypted with another encryption key "${keyId}" than the one given here: the key has another value. Give the key of the workers that made the store.`,
      );
    keys.set(number, plain);
  }
  return keys;
}

/** Saves all keys, encrypted with the newest of the key ids. */
async function save(
  query: SqlQuery,
  storeId: string,
  key: Buffer,
  keyIds: readonly string[],
  keys: DataKeys,
): Promise<void> {
  for (const [number, plain] of keys) {
    const value = seal(key, labelOf(storeId, number), plain).toString('base64');
    await query(saveSql, [`${rowPrefix}${number}`, value]);
  }
  await query(saveSql, [keyIdsRow, JSON.stringify(keyIds)]);
}

async function hasContent(query: SqlQuery): Promise<boolean> {
  for (const table of contentTables)
    if ((await query(`SELECT 1 AS found FROM @${table} LIMIT 1`)).length > 0) return true;
  return false;
}

/**
 * Makes a new store an encrypted one, and returns its id. That is another one than before, so that a worker which opened it
 * already, and would write in the clear, is handed none of its runs.
 *
 * Errors: `config_invalid` for a store that has content in the clear; `EncryptionKeyError`.
 */
export async function encryptNewStore(
  database: SqlDatabase,
  encryption: Encryption,
): Promise<string> {
  if ((await database.read(keyRows)).size === 0) {
    const key = await encryption.key(encryption.keyId);
    await database.transaction((query) => makeKeys(query, database.label, encryption.keyId, key));
  }
  const [row] = await database.read((query) =>
    query(`SELECT {value} FROM @meta WHERE name = 'id'`),
  );
  return textOf(row?.['value']) ?? '';
}

async function makeKeys(query: SqlQuery, label: string, keyId: string, key: Buffer): Promise<void> {
  await query(lockSql);
  if ((await keyRows(query)).size > 0) return;
  if (await hasContent(query))
    throw storeConfigInvalid(
      `Store ${label} has content in the clear, and \`encryption\` is given. Open a new store with it; the old one stays with its workers until its runs have ended.`,
    );
  const id = crypto.randomUUID();
  await query(saveSql, ['id', id]);
  await save(query, id, key, [keyId], new Map([[1, randomBytes(keyBytes)]]));
}

/** The keys of one open store. */
export class StoreKeys {
  #keys: DataKeys = new Map();

  private constructor(
    private readonly database: SqlDatabase,
    private readonly encryption: Encryption,
  ) {}

  /**
   * Reads the keys. A key id that this store has not seen becomes the one that encrypts them, and a new data key the one that
   * encrypts what is written from now on: that is the rotation. An id that another one has followed does not come back.
   *
   * Errors: `EncryptionKeyError` for a key that is missing or another one.
   */
  static async open(database: SqlDatabase, encryption: Encryption): Promise<StoreKeys> {
    const keys = new StoreKeys(database, encryption);
    const rows = await database.read(keyRows);
    if (!keyIdsIn(rows).includes(encryption.keyId)) await keys.#rotate();
    else keys.#keys = await unsealed(database, encryption, rows);
    return keys;
  }

  /** The key that encrypts what is written, with its number. */
  newest(): readonly [number, Buffer] {
    const number = Math.max(...this.#keys.keys());
    return [number, this.#keys.get(number) ?? Buffer.alloc(0)];
  }

  /** The first key, of which names are made: it never changes. */
  first(): Buffer {
    return this.#keys.get(1) ?? Buffer.alloc(0);
  }

  /**
   * The key of this number, read again with `query` if another worker has added it; undefined if there is none.
   *
   * Errors: `store_unavailable` if this worker lacks the key that encrypts it.
   */
  async key(number: number, query: SqlQuery): Promise<Buffer | undefined> {
    const known = this.#keys.get(number);
    if (known !== undefined) return known;
    const { database, encryption } = this;
    try {
      this.#keys = await unsealed(database, encryption, await keyRows(query));
    } catch (thrown) {
      if (!(thrown instanceof EncryptionKeyError)) throw thrown;
      throw storeUnavailable(database.label, 'its keys changed', thrown.message, thrown);
    }
    return this.#keys.get(number);
  }

  async #rotate(): Promise<void> {
    const { database, encryption } = this;
    const { id } = database;
    const key = await encryption.key(encryption.keyId);
    // Before the lock: a key management service may take its time.
    await unsealed(database, encryption, await database.read(keyRows));
    this.#keys = await database.transaction(async (query) => {
      await query(lockSql);
      const rows = await keyRows(query);
      const keys = await unsealed(database, encryption, rows);
      const keyIds = keyIdsIn(rows);
      if (keyIds.includes(encryption.keyId)) return keys;
      const grown = new Map([...keys, [Math.max(...keys.keys()) + 1, randomBytes(keyBytes)]]);
      await save(query, id, key, [...keyIds, encryption.keyId], grown);
      return grown;
    });
  }
}
