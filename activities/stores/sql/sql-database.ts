/** What a database offers to the store, and how statements are written once for all engines. */

/** A value that a statement is given. */
export type SqlValue = string | number | Buffer | null;

/** A row as the engine returns it; read its columns with `textOf`, `bytesOf` and `numberOf`. */
export type SqlRow = Readonly<Record<string, unknown>>;

/** Runs one statement in the store's notation and returns its rows. */
export type SqlQuery = (sql: string, values?: readonly SqlValue[]) => Promise<readonly SqlRow[]>;

/** One statement in the store's notation, with its values. */
export type SqlStatement = readonly [sql: string, values?: readonly SqlValue[]];

/** Statements that belong together. Contract: awaits nothing but its queries, and may run again from its start. */
export type SqlWork<T> = (query: SqlQuery) => Promise<T>;

/**
 * One database.
 *
 * Errors: `store_unavailable`; `store_corrupt` where the engine finds its own files damaged.
 */
export interface SqlDatabase {
  /** Made with the tables and kept in them. */
  readonly id: string;
  /** For people, without a password. */
  readonly label: string;
  /** Runs statements that change nothing. */
  read<T>(work: SqlWork<T>): Promise<T>;
  /**
   * Runs statements in their order as one transaction, in one round trip where the database is a server; returns the rows of
   * each. Durable when it resolves. Contract: the statements are idempotent, as all of them may be sent again.
   */
  write(statements: readonly SqlStatement[]): Promise<readonly (readonly SqlRow[])[]>;
  /** Runs statements that depend on each other's rows as one transaction: all or none. */
  transaction<T>(work: SqlWork<T>): Promise<T>;
  close(): Promise<void>;
}

/** What differs in the SQL of the engines. */
export interface SqlDialect {
  /** The name of a table. */
  readonly table: (name: string) => string;
  /** The placeholder of the value at an index, from 0. */
  readonly placeholder: (index: number) => string;
  /** Selects an expression as text under a name. */
  readonly text: (expression: string, name: string) => string;
  /** Selects a column of bytes. */
  readonly bytes: (column: string) => string;
  readonly words: {
    /** Type of a column that is compared byte by byte. */
    readonly key: string;
    /** Type of a column of bytes. */
    readonly blob: string;
    /** Milliseconds since the epoch, by the database's clock. */
    readonly now: string;
    /** Ends a SELECT that locks its rows until the transaction ends. */
    readonly lock: string;
  };
}

/**
 * `@table`, `?`, `?sealed` for content and `?name` for a hash or a key (which an encrypted store encrypts), `{column}` or
 * `{expression AS name}` for text, `[column]` for bytes, `$word` for a word of the dialect.
 */
const notation =
  /@(\w+)|\?(?:sealed|name)?|\{(?:([^{}]+) AS )?([\w.]+)\}|\[(\w+)\]|\$(key|blob|now|lock)\b/g;

/** A statement in an engine's own SQL. */
export function translated(sql: string, dialect: SqlDialect): string {
  let values = 0;
  return sql.replace(
    notation,
    (_, table?: string, expression?: string, name?: string, bytes?: string, word?: string) => {
      if (table !== undefined) return dialect.table(table);
      if (name !== undefined)
        return dialect.text(expression ?? name, name.slice(name.lastIndexOf('.') + 1));
      if (bytes !== undefined) return dialect.bytes(bytes);
      if (word !== undefined) return dialect.words[word as keyof SqlDialect['words']];
      return dialect.placeholder(values++);
    },
  );
}

/** What a placeholder's value is: content, a name, or anything else. */
export type PlaceholderKind = 'sealed' | 'name' | '';

/** The kinds of a statement's placeholders, in their order. */
export function placeholderKinds(sql: string): readonly PlaceholderKind[] {
  return [...sql.matchAll(/\?(sealed|name)?/g)].map(([, kind = '']) => kind as PlaceholderKind);
}

/** Placeholders for this many names: `?name, ?name, ?name`. */
export function placeholders(count: number): string {
  return Array.from({ length: count }, () => '?name').join(', ');
}

/** A column that was selected as bytes; engines return base64 if they cannot return bytes. */
export function bytesOf(value: unknown): Buffer | undefined {
  if (typeof value === 'string') return Buffer.from(value, 'base64');
  return Buffer.isBuffer(value) ? value : undefined;
}

/** A column that was selected as text; undefined for NULL. */
export function textOf(value: unknown): string | undefined {
  if (typeof value === 'string') return value;
  return Buffer.isBuffer(value) ? value.toString() : undefined;
}

/** A column of whole numbers; engines return large ones as text. */
export function numberOf(value: unknown): number {
  return Number(value);
}
