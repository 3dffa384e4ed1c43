/** One connection to a SQLite file that several processes use: opened when needed, dropped after a failure, patient with locks. */
import { closeSync, mkdirSync, openSync, statSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { InfraException } from '../../lifecycle/infra-exception';
import { protectDatabase } from '../../lifecycle/protected-paths';
import { metaTable, SqliteConnection } from './sqlite-connection';
import { ensureTables } from '../sql/schema';
import {
  textOf,
  type SqlDatabase,
  type SqlQuery,
  type SqlRow,
  type SqlStatement,
  type SqlWork,
} from '../sql/sql-database';
import {
  describeError,
  storeConfigInvalid,
  storeCorrupt,
  storeMismatch,
  storeUnavailable,
} from '../store-errors';

/** Units of work that share one transaction at most: so much one failure makes run again, each alone. */
const maxGroup = 64;

interface OpenFile {
  readonly connection: SqliteConnection;
  /** Identifies the file, as its path may later name another one. */
  readonly identity: string;
}

/** Work that waits for a transaction. */
interface Waiting {
  /** Runs it, in a transaction; returns what to do after the commit. */
  readonly run: (query: SqlQuery) => Promise<() => void>;
  readonly reject: (error: unknown) => void;
  /** When a lock has been held for too long for it, by `performance.now()`. */
  readonly deadline: number;
}

/**
 * A SQLite file. Units of work that wait at the same time share one transaction, and so one wait for the disk: each is durable
 * when it resolves (ADR 0049).
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
  /** Work for the next transactions, oldest first. */
  readonly #waiting: Waiting[] = [];
  #isCommitting = false;
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

  async read<T>(work: SqlWork<T>): Promise<T> {
    const deadline = performance.now() + this.#waitMs;
    for (let pauseMs = 1; ; pauseMs = Math.min(pauseMs * 2, 50)) {
      try {
        return await this.#use(({ query }) => work(query));
      } catch (error) {
        if (!isLocked(error) || performance.now() > deadline) throw this.#explain(error);
      }
      await delay(pauseMs * (0.5 + Math.random()));
    }
  }

  transaction<T>(work: SqlWork<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const run: Waiting['run'] = async (query) => {
        const result = await work(query);
        return () => {
          resolve(result);
        };
      };
      this.#waiting.push({ run, reject, deadline: performance.now() + this.#waitMs });
      if (!this.#isCommitting) void this.#commitWaiting();
    });
  }

  write(statements: readonly SqlStatement[]): Promise<readonly (readonly SqlRow[])[]> {
    return this.transaction(async (query) => {
      const rows: (readonly SqlRow[])[] = [];
      for (const statement of statements) rows.push(await query(...statement));
      return rows;
    });
  }

  /** Closes the file; every later call fails. */
  close(): Promise<void> {
    this.#isClosed = true;
    return this.#alone(async () => {
      // The log is complete without a checkpoint: the next opener reads it.
      await this.#open?.connection.query('PRAGMA wal_checkpoint(TRUNCATE)').catch(() => undefined);
      this.#drop();
    });
  }

  /** Commits what waits, group by group; between tries for a lock, reads may use the connection. */
  async #commitWaiting(): Promise<void> {
    this.#isCommitting = true;
    for (let pauseMs = 1; this.#waiting.length > 0;) {
      const group = this.#waiting.splice(0, maxGroup);
      try {
        await this.#commit(group);
        pauseMs = 1;
      } catch (error) {
        const now = performance.now();
        const isPatient = (one: Waiting): boolean => isLocked(error) && now <= one.deadline;
        for (const one of group) if (!isPatient(one)) one.reject(this.#explain(error));
        this.#waiting.unshift(...group.filter(isPatient));
        await delay(pauseMs * (0.5 + Math.random()));
        pauseMs = Math.min(pauseMs * 2, 50);
      }
    }
    this.#isCommitting = false;
  }

  /** One transaction for the group. If one of several fails, each runs again in its own, so that only that one fails. */
  async #commit(group: readonly Waiting[]): Promise<void> {
    try {
      const settles = await this.#use((connection) =>
        connection.transaction(async (query) => {
          const ends: (() => void)[] = [];
          for (const { run } of group) ends.push(await run(query));
          return ends;
        }),
      );
      for (const settle of settles) settle();
    } catch (error) {
      if (group.length === 1 || isLocked(error)) throw error;
      for (const one of group)
        await this.#commit([one]).catch((own: unknown) => {
          if (isLocked(own)) this.#waiting.push(one);
          else one.reject(this.#explain(own));
        });
    }
  }

  /** Uses the connection alone, and drops it if a statement failed. */
  #use<T>(work: (connection: SqliteConnection) => Promise<T>): Promise<T> {
    return this.#alone(async () => {
      const connection = await this.#connect();
      try {
        return await work(connection);
      } finally {
        if (connection.isBroken) this.#drop();
      }
    });
  }

  /** One at a time: a connection has one transaction. */
  #alone<T>(work: () => Promise<T>): Promise<T> {
    const result = this.#last.then(work);
    this.#last = result.catch(() => undefined);
    return result;
  }

  async #connect(): Promise<SqliteConnection> {
    if (this.#isClosed) {
      throw storeUnavailable(this.label, 'it was closed', 'Open it again.');
    }
    if (this.#open !== undefined && this.#open.identity !== this.#identity()) this.#drop();
    if (this.#open !== undefined) return this.#open.connection;
    if (this.#id !== undefined) this.#identity();
    const connection = await SqliteConnection.open(this.#file);
    try {
      const id = await ensureTables({
        label: this.label,
        query: connection.query,
        alone: (work) => connection.transaction(work),
        hasTables: (query) => hasTables(query, this.label),
      });
      if (this.#id !== undefined && this.#id !== id) throw this.#wasReplaced(id);
      this.#id = id;
      this.#open = { connection, identity: this.#identity() };
      return connection;
    } catch (error) {
      connection.close();
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
    this.#open?.connection.close();
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

/** Whether the store's tables are there. Errors: `config_invalid` for the file of another program. */
async function hasTables(query: SqlQuery, label: string): Promise<boolean> {
  const rows = await query(`SELECT {name} FROM sqlite_master WHERE type = 'table'`);
  const names = rows.map(({ name }) => textOf(name));
  if (names.length === 0 || names.includes(metaTable)) return names.length > 0;
  const message = `The file of ${label} belongs to another program. Name a file of its own for the store.`;
  throw storeConfigInvalid(message);
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
