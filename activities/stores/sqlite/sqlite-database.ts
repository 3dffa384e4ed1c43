/** One connection to a SQLite file that several processes use: opened when needed, dropped after a failure, patient with locks. */
import { closeSync, mkdirSync, openSync, statSync } from 'node:fs';
import path from 'node:path';
import { setImmediate as nextTurn, setTimeout as delay } from 'node:timers/promises';
import { isAnyArrayBuffer } from 'node:util/types';
import Database from 'libsql';
import { InfraException } from '../../lifecycle/infra-exception';
import { protectDatabase } from '../../lifecycle/protected-paths';
import { ensureTables } from '../sql/schema';
import {
  textOf,
  translated,
  type SqlDatabase,
  type SqlDialect,
  type SqlQuery,
  type SqlRow,
  type SqlWork,
} from '../sql/sql-database';
import {
  describeError,
  storeConfigInvalid,
  storeCorrupt,
  storeMismatch,
  storeUnavailable,
} from '../store-errors';

/** Milliseconds that SQLite itself waits for a lock. Short, as it blocks the event loop (ADR 0018). */
const blockingWaitMs = 20;

/** Bytes to which the write-ahead log is cut after a checkpoint (ADR 0018). */
const maxIdleLogBytes = 16 * 1024 * 1024;

const dialect: SqlDialect = {
  table: (name) => (name === 'meta' ? 'holdfast_meta' : name),
  placeholder: () => '?',
  // As bytes: libsql ends the whole process on text that a damaged file made invalid UTF-8 (seen with 0.5.29).
  text: (expression, name) => `CAST(${expression} AS BLOB) AS ${name}`,
  bytes: (column) => `CAST(${column} AS BLOB) AS ${column}`,
  words: {
    key: 'TEXT',
    blob: 'BLOB',
    now: `(CAST(unixepoch('subsec') * 1000 AS INTEGER))`,
    // A transaction holds the write lock from its start.
    lock: '',
  },
};

interface OpenFile {
  readonly database: Database.Database;
  /** Identifies the file, as its path may later name another one. */
  readonly identity: string;
}

/**
 * A SQLite file.
 *
 * Errors: as `SqlDatabase`; `store_mismatch` if the path names another store now.
 */
export class SqliteDatabase implements SqlDatabase {
  readonly label: string;
  readonly #file: string;
  readonly #waitMs: number;
  #open: OpenFile | undefined;
  #id: string | undefined;
  #isClosed = false;
  /** Settles when earlier work is done with the connection. */
  #last: Promise<unknown> = Promise.resolve();

  private constructor(file: string, waitMs: number) {
    this.#file = path.resolve(file);
    this.#waitMs = waitMs;
    this.label = `sqlite:${path.basename(file)}`;
  }

  /** Opens the store in a file; creates file, directory and tables if they are missing. */
  static async open(file: string, waitMs: number): Promise<SqliteDatabase> {
    const database = new SqliteDatabase(file, waitMs);
    database.#makeFile();
    await database.read(() => Promise.resolve());
    protectDatabase(database.#file);
    return database;
  }

  get id(): string {
    if (this.#id === undefined) throw storeCorrupt(this.label, 'it has no id');
    return this.#id;
  }

  read<T>(work: SqlWork<T>): Promise<T> {
    return this.#patiently((database) => work(queryOn(database)));
  }

  /** The event loop turns before the next work begins: each write waits for the disk, and workflow tasks share this loop. */
  transaction<T>(work: SqlWork<T>): Promise<T> {
    return this.#patiently(async (database) => {
      const result = await inTransaction(database, work);
      await nextTurn();
      return result;
    });
  }

  write<T>(work: SqlWork<T>): Promise<T> {
    return this.transaction(work);
  }

  /** Closes the file; every later call fails. */
  close(): Promise<void> {
    this.#isClosed = true;
    return this.#alone(() => {
      try {
        this.#open?.database.pragma('wal_checkpoint(TRUNCATE)');
      } catch {
        // The log is complete without a checkpoint: the next opener reads it.
      }
      this.#drop();
      return Promise.resolve();
    });
  }

  /** Tries until it succeeds or a lock has been held for too long; between tries, other work may use the connection. */
  async #patiently<T>(attempt: (database: Database.Database) => Promise<T>): Promise<T> {
    const deadline = performance.now() + this.#waitMs;
    for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, 50)) {
      try {
        return await this.#alone(async () => {
          try {
            return await attempt(await this.#connect());
          } catch (error) {
            // libsql leaves a failed statement unfinished.
            if (!(error instanceof InfraException || isLocked(error))) this.#drop();
            throw error;
          }
        });
      } catch (error) {
        if (!isLocked(error) || performance.now() > deadline) throw this.#explain(error);
      }
      await delay(pauseMs * (0.5 + Math.random()));
    }
  }

  /** One at a time: a connection has one transaction. */
  #alone<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }

  async #connect(): Promise<Database.Database> {
    if (this.#isClosed) {
      throw storeUnavailable(this.label, 'it was closed', 'Open it again.');
    }
    if (this.#open !== undefined && this.#open.identity !== this.#identity()) this.#drop();
    if (this.#open !== undefined) return this.#open.database;
    if (this.#id !== undefined) this.#identity();
    const database = openDatabase(this.#file);
    try {
      const id = await ensureTables({
        label: this.label,
        query: queryOn(database),
        alone: (work) => inTransaction(database, work),
        hasTables: (query) => hasTables(query, this.label),
      });
      if (this.#id !== undefined && this.#id !== id) throw this.#wasReplaced(id);
      this.#id = id;
      this.#open = { database, identity: this.#identity() };
      return database;
    } catch (error) {
      database.close();
      throw error;
    }
  }

  /** Device and inode: a file that was removed or replaced must not swallow writes. */
  #identity(): string {
    const stat = statSync(this.#file, { bigint: true, throwIfNoEntry: false });
    if (stat === undefined) {
      const remedy = 'Put the file back; the runs then continue.';
      throw storeUnavailable(this.label, 'its file was moved or removed', remedy);
    }
    return `${stat.dev}:${stat.ino}`;
  }

  #wasReplaced(id: string): InfraException {
    const reason = `its path now names the store ${id}, not ${this.id}`;
    return storeMismatch(this.label, reason, 'Put the former file back, or restart the worker.');
  }

  /** Transcripts are private: nobody else reads a new file, nor the files that SQLite puts beside it with the same rights. */
  #makeFile(): void {
    const directory = path.dirname(this.#file);
    try {
      mkdirSync(directory, { recursive: true, mode: 0o700 });
    } catch (error) {
      const reason = `the directory ${directory} cannot be created (${errorCode(error)})`;
      throw storeUnavailable(this.label, reason, 'Choose a path that can be written.', error);
    }
    try {
      closeSync(openSync(this.#file, 'a', 0o600));
    } catch {
      // SQLite tries again, and says why it cannot.
    }
    if (statSync(this.#file, { throwIfNoEntry: false })?.isFile() !== false) return;
    throw storeConfigInvalid(`The store's path ${this.#file} is not a file. Name a file.`);
  }

  /** Turns any error into one for people. */
  #explain(error: unknown): InfraException {
    if (error instanceof InfraException) return error;
    const code = errorCode(error);
    if (code === 'SQLITE_CORRUPT' || code === 'SQLITE_NOTADB') {
      return storeCorrupt(this.label, `SQLite reports a damaged file (${code})`, error);
    }
    const [reason, remedy] = explanations.find(([prefix]) => code.startsWith(prefix))?.[1] ?? [
      `SQLite reports ${code}: ${describeError(error).message}`,
      'Check that the file can be read and written.',
    ];
    return storeUnavailable(this.label, reason, remedy, error);
  }

  #drop(): void {
    this.#open?.database.close();
    this.#open = undefined;
  }
}

const explanations: readonly (readonly [string, readonly [string, string]])[] = [
  ['SQLITE_BUSY', ['another process holds its lock', 'Find the process that does not release it.']],
  ['SQLITE_FULL', ['the disk is full', 'Free some space; the same call then succeeds.']],
  ['SQLITE_READONLY', ['its file is read-only', 'Give the worker write access to it.']],
  [
    'SQLITE_CANTOPEN',
    ['its file cannot be opened', 'Check that its directory exists and can be written.'],
  ],
  [
    'SQLITE_IOERR',
    ['its file cannot be read or written', 'Check the disk and the limits on file size.'],
  ],
];

function openDatabase(file: string): Database.Database {
  const database = new Database(file);
  try {
    database.pragma(`busy_timeout = ${blockingWaitMs}`);
    // With a write-ahead log, readers and one writer work at once, and commits survive kill -9.
    database.pragma('journal_mode = WAL');
    // Each commit is on the disk before it is reported: Temporal's history must not name a head that a power cut lost.
    database.pragma('synchronous = FULL');
    database.pragma('fullfsync = ON');
    database.pragma(`journal_size_limit = ${maxIdleLogBytes}`);
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

function queryOn(database: Database.Database): SqlQuery {
  return (sql, values = []) =>
    new Promise((resolve) => {
      const statement = database.prepare(translated(sql, dialect));
      if (!statement.reader) statement.run(...values);
      resolve(statement.reader ? statement.all(...values).map(withBuffers) : []);
    });
}

/** libsql returns bytes as an `ArrayBuffer`. */
function withBuffers(row: unknown): SqlRow {
  const columns = Object.entries(row as SqlRow);
  return Object.fromEntries(
    columns.map(([name, value]) => [name, isAnyArrayBuffer(value) ? Buffer.from(value) : value]),
  );
}

/** Whether the store's tables are there. Errors: `config_invalid` for the file of another program. */
async function hasTables(query: SqlQuery, label: string): Promise<boolean> {
  const rows = await query(`SELECT {name} FROM sqlite_master WHERE type = 'table'`);
  const names = rows.map(({ name }) => textOf(name));
  if (names.length === 0 || names.includes(dialect.table('meta'))) return names.length > 0;
  const message = `The file of ${label} belongs to another program. Name a file of its own for the store.`;
  throw storeConfigInvalid(message);
}

async function inTransaction<T>(database: Database.Database, work: SqlWork<T>): Promise<T> {
  database.exec('BEGIN IMMEDIATE');
  try {
    const result = await work(queryOn(database));
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

/** SQLite's or the system's code of an error. libsql reports a file that it cannot open without a code. */
function errorCode(error: unknown): string {
  const { code, message } = describeError(error);
  if (code !== '') return code;
  return message.includes('ConnectionFailed') ? 'SQLITE_CANTOPEN' : 'unknown';
}
