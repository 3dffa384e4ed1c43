/** A connection to a SQLite file whose statements run on libsql's own threads: the event loop never waits for the disk (ADR 0049). */
import { isAnyArrayBuffer } from 'node:util/types';
import Database from 'libsql/promise';
import {
  translated,
  type SqlDialect,
  type SqlQuery,
  type SqlRow,
  type SqlWork,
} from '../sql/sql-database';

/** Milliseconds that SQLite itself waits for a lock. Short: other work may use the connection between attempts (ADR 0018). */
const lockWaitMs = 20;

/** Bytes to which the write-ahead log is cut after a checkpoint (ADR 0018). */
const maxIdleLogBytes = 16 * 1024 * 1024;

/** Prepared statements that a connection keeps; more than the store has, but for lists of different lengths. */
const maxStatements = 100;

/** The name of the store's table `meta`. */
export const metaTable = 'holdfast_meta';

const dialect: SqlDialect = {
  table: (name) => (name === 'meta' ? metaTable : name),
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

/** What is used of libsql, whose own types say `any`. */
interface Connection {
  prepare(sql: string): Promise<Statement>;
  exec(sql: string): Promise<void>;
  close(): void;
}

interface Statement {
  all(values: readonly unknown[]): Promise<readonly unknown[]>;
}

/**
 * An open file. One caller at a time.
 *
 * Errors: SQLite's, with its code.
 */
export class SqliteConnection {
  readonly #database: Connection;
  readonly #statements = new Map<string, Statement>();

  #isBroken = false;

  private constructor(file: string) {
    this.#database = new Database(file, {});
  }

  static async open(file: string): Promise<SqliteConnection> {
    const connection = new SqliteConnection(file);
    try {
      for (const pragma of pragmas) await connection.query(`PRAGMA ${pragma}`);
      return connection;
    } catch (error) {
      connection.close();
      throw error;
    }
  }

  /** A statement failed, which libsql leaves unfinished: it may hold an old snapshot, and only closing ends it. */
  get isBroken(): boolean {
    return this.#isBroken;
  }

  readonly query: SqlQuery = async (sql, values = []) => {
    try {
      const statement = this.#statements.get(sql) ?? (await this.#prepare(sql));
      return (await statement.all(values)).map(withBuffers);
    } catch (error) {
      this.#isBroken = true;
      throw error;
    }
  };

  /** Errors: also `SQLITE_BUSY` where another connection holds the lock; that leaves nothing behind. */
  async transaction<T>(work: SqlWork<T>): Promise<T> {
    await this.#database.exec('BEGIN IMMEDIATE');
    try {
      const result = await work(this.query);
      await this.#database.exec('COMMIT');
      return result;
    } catch (error) {
      await this.#database.exec('ROLLBACK').catch(() => {
        this.#isBroken = true;
      });
      throw error;
    }
  }

  close(): void {
    this.#statements.clear();
    this.#database.close();
  }

  async #prepare(sql: string): Promise<Statement> {
    const statement = await this.#database.prepare(translated(sql, dialect));
    if (this.#statements.size >= maxStatements) this.#statements.clear();
    this.#statements.set(sql, statement);
    return statement;
  }
}

const pragmas: readonly string[] = [
  `busy_timeout = ${lockWaitMs}`,
  // With a write-ahead log, readers and one writer work at once, and commits survive kill -9.
  'journal_mode = WAL',
  // Each commit is on the disk before it is reported: Temporal's history must not name a head that a power cut lost.
  'synchronous = FULL',
  'fullfsync = ON',
  `journal_size_limit = ${maxIdleLogBytes}`,
];

/** libsql returns bytes as an `ArrayBuffer`. Contract: the row is nobody else's. */
function withBuffers(row: unknown): SqlRow {
  const columns = row as Record<string, unknown>;
  for (const name in columns) {
    const value = columns[name];
    if (isAnyArrayBuffer(value)) columns[name] = Buffer.from(value);
  }
  return columns;
}
