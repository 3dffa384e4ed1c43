/** A pool of connections to one Postgres database: bounded in time, renewed when the server comes back. */
import { Client, Pool, type ClientBase, type PoolConfig, type QueryResult } from 'pg';
import { InfraException } from '../../lifecycle/infra-exception';
import { ensureTables } from '../sql/schema';
import {
  translated,
  type SqlDatabase,
  type SqlDialect,
  type SqlQuery,
  type SqlRow,
  type SqlStatement,
  type SqlValue,
  type SqlWork,
} from '../sql/sql-database';
import { describeError, storeConfigInvalid, storeCorrupt, storeUnavailable } from '../store-errors';
import type { StoreLimits } from '../store-limits';
import { PipelinedQuery } from './pipelined-query';

/** Milliseconds after the server's own statement timeout until a silent server counts as down (ADR 0018). */
const silenceMs = 5_000;

/** Milliseconds that an unused connection is kept (ADR 0018). */
const idleMs = 60_000;

const dialect: SqlDialect = {
  table: (name) => `holdfast.${name}`,
  placeholder: (index) => `$${index + 1}`,
  text: (expression, name) => `${expression} AS ${name}`,
  // As base64: pg's binary mode garbles bytes that are not UTF-8 (seen with pg 8.23), and its text mode doubles them.
  bytes: (column) => `encode(${column}, 'base64') AS ${column}`,
  words: {
    key: 'text COLLATE "C"',
    blob: 'bytea',
    now: '((extract(epoch FROM now()) * 1000)::bigint)',
    lock: 'FOR UPDATE',
  },
};

/** A Postgres database. */
export class PostgresDatabase implements SqlDatabase {
  readonly label: string;
  readonly #pool: Pool;
  #id = '';

  private constructor(url: string, limits: StoreLimits) {
    this.label = postgresLabel(url);
    const options: PoolOptions = {
      connectionString: url,
      application_name: 'holdfast',
      max: limits.maxConnections,
      connectionTimeoutMillis: limits.waitMs,
      query_timeout: limits.statementTimeoutMs + silenceMs,
      idleTimeoutMillis: idleMs,
      keepAlive: true,
      onConnect: (client: ClientBase) => setUpSession(client, limits),
    };
    this.#pool = new Pool(options);
    // The pool drops a connection that breaks while it is idle, and the next statement opens another.
    this.#pool.on('error', () => undefined);
    this.#pool.on('connect', (client) => client.on('error', () => undefined));
  }

  /** Opens the store in a database, making schema and tables if need be. */
  static async open(url: string, limits: StoreLimits): Promise<PostgresDatabase> {
    const database = new PostgresDatabase(url, limits);
    try {
      database.#id = await ensureTables({
        label: database.label,
        query: database.#query,
        alone: (work) => database.transaction((query) => withSchema(query, work)),
        hasTables,
      });
      return database;
    } catch (error) {
      await database.close();
      throw error;
    }
  }

  get id(): string {
    return this.#id;
  }

  read<T>(work: SqlWork<T>): Promise<T> {
    return work(this.#query);
  }

  /** Sent again, all of it, if the connection breaks. */
  write(statements: readonly SqlStatement[]): Promise<readonly (readonly SqlRow[])[]> {
    return this.#twice(() => sendTogether(this.#pool, statements));
  }

  /** Runs once: if the connection breaks at the commit, the outcome is unknown. */
  async transaction<T>(work: SqlWork<T>): Promise<T> {
    const client = await this.#pool.connect().catch((error: unknown) => {
      throw this.#explain(error);
    });
    try {
      await client.query('BEGIN');
      const result = await work((sql, values) => send(client, sql, values));
      await client.query('COMMIT');
      client.release();
      return result;
    } catch (error) {
      // The open transaction ends with its connection.
      client.release(true);
      throw this.#explain(error);
    }
  }

  async close(): Promise<void> {
    if (!this.#pool.ending) await this.#pool.end();
  }

  readonly #query: SqlQuery = (sql, values) => this.#twice(() => send(this.#pool, sql, values));

  async #twice<T>(attempt: () => Promise<T>): Promise<T> {
    try {
      return await attempt().catch((error: unknown) => {
        if (isWorthOneMoreTry(error)) return attempt();
        throw error;
      });
    } catch (error) {
      throw this.#explain(error);
    }
  }

  /** Turns any error into one for people. */
  #explain(error: unknown): InfraException {
    if (error instanceof InfraException) return error;
    if (this.#pool.ending) return storeUnavailable(this.label, 'it was closed', 'Open it again.');
    const { code, message } = describeError(error);
    if (code === 'XX001' || code === 'XX002') {
      return storeCorrupt(this.label, `Postgres reports damaged files (${message})`, error);
    }
    const configuration = configurationRemedies.get(code);
    if (configuration !== undefined) {
      return storeConfigInvalid(`Store ${this.label}: ${message}. ${configuration}`, error);
    }
    const remedy = remedies.find(([prefix]) => code.startsWith(prefix))?.[1];
    const what = code === '' ? message : `${message} (${code})`;
    return storeUnavailable(
      this.label,
      what,
      remedy ?? 'Check that the server runs and can be reached.',
      error,
    );
  }
}

async function send(
  client: Pool | ClientBase,
  sql: string,
  values: readonly SqlValue[] = [],
): Promise<readonly SqlRow[]> {
  return (await client.query<SqlRow>(translated(sql, dialect), [...values])).rows;
}

/** The rows of each statement; all run in one transaction. */
async function sendTogether(
  pool: Pool,
  statements: readonly SqlStatement[],
): Promise<readonly (readonly SqlRow[])[]> {
  const query = new PipelinedQuery(
    statements.map(([sql, values = []]) => [translated(sql, dialect), values]),
  );
  // What pg returns for a query of one's own, although its types do not say so.
  const sent: unknown = pool.query(query);
  const results = await (sent as Promise<QueryResult<SqlRow> | readonly QueryResult<SqlRow>[]>);
  return [results].flat().map(({ rows }) => rows);
}

async function hasTables(query: SqlQuery): Promise<boolean> {
  const [row] = await query(`SELECT to_regclass('holdfast.meta') IS NOT NULL AS found`);
  return row?.['found'] === true;
}

/** Creates the schema unless it exists, as the database's owner may have to do it. */
async function withSchema<T>(query: SqlQuery, work: SqlWork<T>): Promise<T> {
  await query(`SELECT pg_advisory_xact_lock(hashtextextended('holdfast schema', 0))`);
  const [row] = await query(`SELECT to_regnamespace('holdfast') IS NULL AS missing`);
  if (row?.['missing'] === true) await query('CREATE SCHEMA holdfast');
  return work(query);
}

/** pg waits for what `onConnect` returns, although its types do not say so. */
type PoolOptions = PoolConfig & {
  readonly onConnect: (client: ClientBase) => Promise<void>;
};

async function setUpSession(client: ClientBase, limits: StoreLimits): Promise<void> {
  await client.query(sessionSql, [String(limits.statementTimeoutMs)]);
}

/** Bounds every wait, and makes a server report commits only when they are on its disk. */
const sessionSql = `
  SELECT set_config('statement_timeout', $1, false),
    CASE WHEN current_setting('synchronous_commit') = 'off'
      THEN set_config('synchronous_commit', 'on', false) END`;

/** SQLSTATEs that need a person. */
const configurationRemedies: ReadonlyMap<string, string> = new Map([
  ['28P01', 'Correct the user or password in the store address.'],
  ['28000', 'Correct the user in the store address, or let it in on the server (pg_hba.conf).'],
  ['3D000', 'Create the database, or correct its name in the store address.'],
  ['42501', 'Grant the user CREATE on the database, or create the schema "holdfast" for it.'],
]);

const remedies: readonly (readonly [string, string])[] = [
  ['53100', 'Free some space on the server; the same call then succeeds.'],
  ['53300', 'Raise max_connections on the server, or lower maxConnections of the stores.'],
  ['57014', 'Find what slows the server down, or raise statementTimeoutMs.'],
  ['25006', 'Point the store address at the primary server.'],
  ['42P01', 'Its tables are gone: restore the database from a backup.'],
];

/** A broken connection may just be an old one of the pool; deadlocks and conflicts are transient. */
function isWorthOneMoreTry(error: unknown): boolean {
  const { code, message } = describeError(error);
  if (/^(08|57P0|40)/.test(code)) return true;
  if (['ECONNRESET', 'EPIPE', 'ETIMEDOUT'].includes(code)) return true;
  return /^Connection terminated|^Client (has encountered|was closed)/.test(message);
}

/** The store's name for people. pg parses the address, so that label and connection agree. */
function postgresLabel(url: string): string {
  let client: Client;
  try {
    client = new Client({ connectionString: url });
  } catch {
    // Without the cause: Node's error for a bad URL contains the URL, with its password.
    throw storeConfigInvalid(badAddress('is not a valid URL'));
  }
  if (!client.database) throw storeConfigInvalid(badAddress('names no database'));
  const port = client.port === 5432 ? '' : `:${client.port}`;
  return `postgres:${client.host}${port}/${client.database}`;
}

function badAddress(problem: string): string {
  return `The address ${problem}. Use postgres://user:password@host:5432/database.`;
}
