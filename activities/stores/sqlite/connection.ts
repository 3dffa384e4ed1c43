/** One connection to a SQLite file: opened when needed, given up after any failure, patient with locks. */
import { existsSync, mkdirSync, statSync } from 'node:fs';
import path from 'node:path';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { isAnyArrayBuffer } from 'node:util/types';
import Database from 'libsql';
import { InfraException } from '../../lifecycle/infra-exception';
import { missingMigrations } from '../sql/schema-version';
import { sqliteMigrations } from './schema';
import {
  describeError,
  storeConfigInvalid,
  storeCorrupt,
  storeMismatch,
  storeUnavailable,
} from '../store-errors';

/** Milliseconds that SQLite itself waits for a lock. Short, as it holds the event loop meanwhile (ADR 0018). */
const blockingWaitMs = 20;

/** Bytes to which the write-ahead log is cut after a checkpoint (ADR 0018). */
const maxIdleLogBytes = 16 * 1024 * 1024;

interface OpenFile {
  readonly database: Database.Database;
  /** Which file it is, as a path may come to name another one. */
  readonly identity: string;
}

/**
 * A SQLite file that several processes use at once.
 *
 * Contract: `read` and `write` run their function at once and in one go; the function is synchronous and may be repeated.
 * Errors: `store_unavailable`, `store_corrupt`, `store_mismatch` (the path names another store now).
 */
export class SqliteConnection {
  readonly label: string;
  readonly #file: string;
  readonly #waitMs: number;
  #open: OpenFile | undefined;
  #id: string | undefined;
  #isClosed = false;

  constructor(file: string, waitMs: number) {
    this.#file = path.resolve(file);
    this.#waitMs = waitMs;
    this.label = `sqlite:${path.basename(file)}`;
  }

  /** Creates the file and its tables if need be; returns the store's id. */
  async create(): Promise<string> {
    this.#makeDirectory();
    return this.#patiently(() => {
      this.#connect();
      return this.#requireId();
    });
  }

  /** Runs statements that change nothing. */
  read<T>(run: (database: Database.Database) => T): Promise<T> {
    return this.#patiently(() => run(this.#connect()));
  }

  /**
   * Runs statements as one transaction that holds the write lock from its start.
   *
   * Contract: the event loop turns before it resolves, so that a series of writes holds up nothing else in this process: each
   * waits for the disk, and workflow tasks pass through the same loop.
   */
  async write<T>(run: (database: Database.Database) => T): Promise<T> {
    const written = await this.#patiently(() => inTransaction(this.#connect(), run));
    await nextTurn();
    return written;
  }

  /** Gives the file up; every later call fails. */
  close(): void {
    this.#isClosed = true;
    try {
      this.#open?.database.pragma('wal_checkpoint(TRUNCATE)');
    } catch {
      // The log is complete without a checkpoint: the next opener reads it.
    }
    this.#giveUp();
  }

  /** Tries until it succeeds or a lock has been held for too long. */
  async #patiently<T>(attempt: () => T): Promise<T> {
    const deadline = performance.now() + this.#waitMs;
    for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, 50)) {
      try {
        return attempt();
      } catch (error) {
        if (!isLocked(error) || performance.now() > deadline) throw this.#explain(error);
      }
      await delay(pauseMs * (0.5 + Math.random()));
    }
  }

  #connect(): Database.Database {
    if (this.#isClosed) {
      throw storeUnavailable(this.label, 'it was closed', 'Open it again.');
    }
    if (this.#open !== undefined && this.#open.identity !== this.#identity()) this.#giveUp();
    if (this.#open !== undefined) return this.#open.database;
    if (this.#id !== undefined) this.#identity();
    const database = openDatabase(this.#file);
    try {
      const id = migrate(database, this.label);
      if (this.#id !== undefined && this.#id !== id) throw this.#wasExchanged(id);
      this.#id = id;
      this.#open = { database, identity: this.#identity() };
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  }

  #requireId(): string {
    if (this.#id === undefined) throw storeCorrupt(this.label, 'it has no id');
    return this.#id;
  }

  /** Device and inode: a file that was removed or replaced must not swallow writes. */
  #identity(): string {
    const stat = statSync(this.#file, { bigint: true, throwIfNoEntry: false });
    if (stat === undefined) {
      const remedy = 'Put the file back; the runs go on from there.';
      throw storeUnavailable(this.label, 'its file was moved or removed', remedy);
    }
    return `${stat.dev}:${stat.ino}`;
  }

  #wasExchanged(id: string): InfraException {
    const reason = `its path now names the store ${id}, not ${this.#requireId()}`;
    return storeMismatch(this.label, reason, 'Put the former file back, or restart the worker.');
  }

  #makeDirectory(): void {
    const directory = path.dirname(this.#file);
    try {
      makeDirectory(directory);
    } catch (error) {
      const reason = `the directory ${directory} cannot be made (${errorCode(error)})`;
      throw storeUnavailable(this.label, reason, 'Choose a path that can be written.', error);
    }
    if (!existsSync(this.#file) || statSync(this.#file).isFile()) return;
    throw storeConfigInvalid(`The store's path ${this.#file} is not a file. Name a file.`);
  }

  /** Turns any error into one for people. The connection is given up, as libsql leaves a failed statement unfinished. */
  #explain(error: unknown): InfraException {
    if (error instanceof InfraException) return error;
    this.#giveUp();
    const code = errorCode(error);
    if (code === 'SQLITE_CORRUPT' || code === 'SQLITE_NOTADB') {
      return storeCorrupt(this.label, `SQLite finds its file damaged (${code})`, error);
    }
    const [reason, remedy] = explanations.find(([prefix]) => code.startsWith(prefix))?.[1] ?? [
      `SQLite says ${code}: ${describeError(error).message}`,
      'See that the file can be read and written.',
    ];
    return storeUnavailable(this.label, reason, remedy, error);
  }

  #giveUp(): void {
    this.#open?.database.close();
    this.#open = undefined;
  }
}

const explanations: readonly (readonly [string, readonly [string, string]])[] = [
  ['SQLITE_BUSY', ['another process holds its lock', 'Find the process that does not let go.']],
  ['SQLITE_FULL', ['the disk is full', 'Free some space; the same call then succeeds.']],
  ['SQLITE_READONLY', ['its file is read-only', 'Give the worker write access to it.']],
  [
    'SQLITE_CANTOPEN',
    ['its file cannot be opened', 'See that its directory exists and can be written.'],
  ],
  [
    'SQLITE_IOERR',
    ['its file cannot be read or written', 'See to the disk and to file size limits.'],
  ],
];

/** Step by step, as Node's own recursive mkdir never returns where a system denies that the parent exists (/proc). */
function makeDirectory(directory: string): void {
  if (existsSync(directory)) return;
  makeDirectory(path.dirname(directory));
  try {
    mkdirSync(directory);
  } catch (error) {
    if (errorCode(error) !== 'EEXIST') throw error;
  }
}

function openDatabase(file: string): Database.Database {
  const database = new Database(file);
  try {
    database.pragma(`busy_timeout = ${blockingWaitMs}`);
    // A log beside the file lets readers and one writer work at once, and survives kill -9.
    database.pragma('journal_mode = WAL');
    // Each commit is on the disk before it is reported: Temporal's history must never name a head that a power cut took.
    database.pragma('synchronous = FULL');
    database.pragma('fullfsync = ON');
    database.pragma(`journal_size_limit = ${maxIdleLogBytes}`);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Brings the tables up to date, whoever else is doing so; returns the store's id. */
function migrate(database: Database.Database, label: string): string {
  const known = readMeta(database, label);
  if (missingMigrations(label, known.version, sqliteMigrations).length === 0) return known.id;
  return inTransaction(database, () => {
    const { version } = readMeta(database, label);
    for (const sql of missingMigrations(label, version, sqliteMigrations)) database.exec(sql);
    database
      .prepare(`INSERT INTO holdfast_meta VALUES ('id', ?) ON CONFLICT DO NOTHING`)
      .run(crypto.randomUUID());
    database
      .prepare(`INSERT OR REPLACE INTO holdfast_meta VALUES ('schema_version', ?)`)
      .run(String(sqliteMigrations.length));
    return readMeta(database, label).id;
  });
}

function readMeta(
  database: Database.Database,
  label: string,
): { readonly id: string; readonly version: string | undefined } {
  const tables = database
    .prepare(`SELECT CAST(name AS BLOB) AS name FROM sqlite_master WHERE type = 'table'`)
    .all();
  const names = new Set(tables.map((row) => textField(row, 'name')));
  if (names.size === 0) return { id: '', version: undefined };
  if (!names.has('holdfast_meta')) {
    const message = `The file of ${label} belongs to another program. Name a file of its own for the store.`;
    throw storeConfigInvalid(message);
  }
  const value = (name: string): string | undefined => {
    return textField(
      database
        .prepare('SELECT CAST(value AS BLOB) AS value FROM holdfast_meta WHERE name = ?')
        .get(name),
      'value',
    );
  };
  const id = value('id');
  const version = value('schema_version');
  if (!id || version === undefined) throw storeCorrupt(label, 'its id or version is missing');
  return { id, version };
}

function inTransaction<T>(database: Database.Database, run: (database: Database.Database) => T): T {
  database.exec('BEGIN IMMEDIATE');
  try {
    const result = run(database);
    database.exec('COMMIT');
    return result;
  } catch (error) {
    if (database.inTransaction) database.exec('ROLLBACK');
    throw error;
  }
}

function isLocked(error: unknown): boolean {
  const code = errorCode(error);
  return code.startsWith('SQLITE_BUSY') || code.startsWith('SQLITE_LOCKED');
}

/** SQLite's or the system's name of an error. libsql reports a file that it cannot open without one, by number 14. */
function errorCode(error: unknown): string {
  const { code, message } = describeError(error);
  if (code !== '') return code;
  return message.includes('ConnectionFailed') ? 'SQLITE_CANTOPEN' : 'unknown';
}

/** A column that was selected as bytes; undefined for NULL and where there is no row. */
export function bytesField(row: unknown, name: string): Buffer | undefined {
  if (typeof row !== 'object' || row === null) return undefined;
  const value: unknown = Reflect.get(row, name);
  // libsql gives a Buffer where one row is read, and an ArrayBuffer where many are.
  if (isAnyArrayBuffer(value)) return Buffer.from(value);
  return Buffer.isBuffer(value) ? value : undefined;
}

/** The text of a column that was selected as bytes. */
export function textField(row: unknown, name: string): string | undefined {
  return bytesField(row, name)?.toString();
}
