/** A database whose content is encrypted on its way in and decrypted on its way out; the store over it is the same. */
import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from 'node:crypto';
import type { Encryption } from '../../encryption/encryption-shape';
import { EncryptionKeyError, keyBytes } from '../../encryption/key-ring';
import { seal, unseal } from '../../encryption/seal';
import { isContentHash } from '../content-hash';
import {
  bytesOf,
  placeholderKinds,
  textOf,
  type PlaceholderKind,
  type SqlDatabase,
  type SqlQuery,
  type SqlRow,
  type SqlStatement,
  type SqlValue,
  type SqlWork,
} from '../sql/sql-database';
import { storeConfigInvalid } from '../store-errors';
import { encryptNewStore, StoreKeys } from './data-keys';

/** Columns of content, as a placeholder `?sealed` fills them. */
const sealedColumns = 'messages manifest bytes intent outcome record piece'.split(' ');
/** Columns of names that are read back, as a placeholder `?name` fills them. */
const nameColumns =
  'hash parent key_hash run_hash route_hash intent_sum outcome_sum record_sum'.split(' ');

/** First byte of what is sealed: the form of what follows. Four bytes are the number of the key. */
const form = 1;
const headBytes = 5;

/** Statements whose placeholders are remembered; more than the store has, but for lists of different lengths. */
const maxStatements = 200;

/**
 * Wraps a database.
 *
 * Names are hashes of content, by which anybody could tell whether the store has a text that they guess. So they are encrypted,
 * each time in the same way: the database compares them, and whoever reads it learns only that two rows name the same thing
 * (ADR 0069).
 */
class EncryptedDatabase implements SqlDatabase {
  readonly #inner: SqlDatabase;
  readonly #keys: StoreKeys;
  readonly #nameKey: Buffer;
  readonly #kinds = new Map<string, readonly PlaceholderKind[]>();

  constructor(inner: SqlDatabase, keys: StoreKeys) {
    this.#inner = inner;
    this.#keys = keys;
    this.#nameKey = Buffer.from(hkdfSync('sha256', keys.first(), '', 'names', keyBytes));
  }

  get id(): string {
    return this.#inner.id;
  }

  get label(): string {
    return this.#inner.label;
  }

  read<T>(work: SqlWork<T>): Promise<T> {
    return this.#inner.read((query) => work(this.#through(query)));
  }

  async write(statements: readonly SqlStatement[]): Promise<readonly (readonly SqlRow[])[]> {
    const results = await this.#inner.write(
      statements.map(([sql, values]) => [sql, this.#sealed(sql, values)]),
    );
    const query: SqlQuery = (...statement) => this.#inner.read((read) => read(...statement));
    for (const row of results.flat()) await this.#open(row, query);
    return results;
  }

  transaction<T>(work: SqlWork<T>): Promise<T> {
    return this.#inner.transaction((query) => work(this.#through(query)));
  }

  close(): Promise<void> {
    return this.#inner.close();
  }

  #through(query: SqlQuery): SqlQuery {
    return async (sql, values) => {
      const rows = await query(sql, this.#sealed(sql, values));
      for (const row of rows) await this.#open(row, query);
      return rows;
    };
  }

  #sealed(sql: string, values: readonly SqlValue[] = []): readonly SqlValue[] {
    const kinds = this.#kindsOf(sql);
    return values.map((value, at) => this.#given(kinds[at], value));
  }

  #kindsOf(sql: string): readonly PlaceholderKind[] {
    const known = this.#kinds.get(sql);
    if (known !== undefined) return known;
    if (this.#kinds.size >= maxStatements) this.#kinds.clear();
    const kinds = placeholderKinds(sql);
    this.#kinds.set(sql, kinds);
    return kinds;
  }

  #given(kind: PlaceholderKind | undefined, value: SqlValue): SqlValue {
    if (kind === 'name' && typeof value === 'string') return this.#nameOf(value);
    if (kind !== 'sealed' || value === null || typeof value === 'number') return value;
    const [number, key] = this.#keys.newest();
    const head = Buffer.alloc(headBytes, form);
    head.writeUInt32BE(number, 1);
    const bytes = Buffer.concat([head, seal(key, this.id, Buffer.from(value))]);
    return typeof value === 'string' ? bytes.toString('base64') : bytes;
  }

  /** Decrypts the columns of a row in place. Contract: the row is nobody else's. */
  async #open(given: SqlRow, query: SqlQuery): Promise<void> {
    const row = given as Record<string, unknown>;
    for (const column of nameColumns) {
      const name = textOf(row[column]);
      if (name !== undefined && isContentHash(name)) row[column] = this.#hashOf(name);
    }
    for (const column of sealedColumns) {
      const value = row[column];
      if (value === null || value === undefined) continue;
      const isBytes = column === 'bytes';
      const sealed = isBytes ? bytesOf(value) : Buffer.from(textOf(value) ?? '', 'base64');
      // What is damaged stays as it is: its name or its sum does not fit it then, which the store knows how to take.
      const bytes = sealed && (await this.#unsealed(sealed, query));
      if (bytes !== undefined) row[column] = isBytes ? bytes : bytes.toString();
    }
  }

  async #unsealed(sealed: Buffer, query: SqlQuery): Promise<Buffer | undefined> {
    if (sealed.length < headBytes || sealed[0] !== form) return undefined;
    const key = await this.#keys.key(sealed.readUInt32BE(1), query);
    return key && unseal(key, this.id, sealed.subarray(headBytes));
  }

  /** Of a hash, its 32 bytes encrypted; of another name, a hash that nobody reads back. */
  #nameOf(name: string): string {
    if (name === '') return name;
    if (!isContentHash(name))
      return createHmac('sha256', this.#nameKey).update(name).digest('base64url');
    // Two blocks; a hash is as good as random, so that equal blocks do not occur.
    const cipher = createCipheriv('aes-256-cbc', this.#nameKey, zeros).setAutoPadding(false);
    return Buffer.concat([cipher.update(name, 'base64url'), cipher.final()]).toString('base64url');
  }

  #hashOf(name: string): string {
    const decipher = createDecipheriv('aes-256-cbc', this.#nameKey, zeros).setAutoPadding(false);
    const bytes = [decipher.update(name, 'base64url'), decipher.final()];
    return Buffer.concat(bytes).toString('base64url');
  }
}

const zeros = Buffer.alloc(16);

/**
 * Wraps an open database whose store is encrypted, or new. `reopen` opens it once more.
 *
 * Errors: `config_invalid` for a key that is missing or another one, and for a store that has content in the clear.
 */
export async function openEncrypted(
  opened: SqlDatabase,
  encryption: Encryption,
  reopen: () => Promise<SqlDatabase>,
): Promise<SqlDatabase> {
  let database = opened;
  try {
    if ((await encryptNewStore(database, encryption)) !== database.id) {
      await database.close();
      database = await reopen();
    }
    return new EncryptedDatabase(database, await StoreKeys.open(database, encryption));
  } catch (thrown) {
    await database.close();
    if (!(thrown instanceof EncryptionKeyError)) throw thrown;
    throw storeConfigInvalid(`Store ${database.label}: ${thrown.message}`, thrown);
  }
}
