/** Opens the store that an address names. */
import { checkedEncryption, type Encryption } from '../encryption/encryption-shape';
import { ContentAddressedStore } from './content/content-addressed-store';
import { requirePlain } from './sql/schema';
import type { SqlDatabase } from './sql/sql-database';
import { rememberPasswordOf } from '../untrusted/known-secrets';
import type { Store } from './store';
import { storeConfigInvalid } from './store-errors';
import { defaultStoreLimits, type StoreLimits } from './store-limits';
import type * as Encrypted from './encrypted/encrypted-database';
import type * as Postgres from './postgres/postgres-database';
import type * as Sqlite from './sqlite/sqlite-database';

/**
 * Opens, and creates if need be, the store at `sqlite:<path>`, a plain path, or `postgres://...`.
 *
 * Errors: `config_invalid` for an address that names no store, for an encrypted store without its keys, and for `encryption` and a
 * store that has content in the clear; else as `Store`.
 */
export async function openStore(
  url: string,
  {
    encryption,
    ...limits
  }: Partial<StoreLimits> & {
    /**
     * Encrypts the content: made by `createEncryption`, with the keys of all who open this store. A new store is encrypted from
     * its start, and no other one can be.
     */
    readonly encryption?: Encryption;
  } = {},
): Promise<Store> {
  if (typeof (url as unknown) !== 'string')
    throw storeConfigInvalid(
      `The store address is ${typeof url}. Give a text: sqlite:<path> or postgres://user:password@host/database.`,
    );
  rememberPasswordOf(url);
  const all: StoreLimits = { ...defaultStoreLimits, ...limits };
  const database = await openDatabase(url, all);
  try {
    if (encryption === undefined) {
      await requirePlain(database);
      return new ContentAddressedStore(database, all);
    }
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- jest has no import() in CommonJS (ADR 0029).
    const { openEncrypted } = require('./encrypted/encrypted-database') as typeof Encrypted;
    const encrypted = await openEncrypted(
      database,
      checkedEncryption('openStore', encryption),
      () => openDatabase(url, all),
    );
    return new ContentAddressedStore(encrypted, all, encryption);
  } catch (thrown) {
    await database.close();
    throw thrown;
  }
}

async function openDatabase(url: string, limits: StoreLimits): Promise<SqlDatabase> {
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(url)?.[1]?.toLowerCase();
  switch (scheme) {
    case undefined:
    case 'sqlite': {
      const file = sqliteFile(url, url.replace(/^sqlite:/i, ''));
      // eslint-disable-next-line @typescript-eslint/no-require-imports -- jest has no import() in CommonJS (ADR 0029).
      const { SqliteDatabase } = require('./sqlite/sqlite-database') as typeof Sqlite;
      return SqliteDatabase.open(file, limits.waitMs);
    }
    case 'postgres':
    case 'postgresql': {
      // eslint-disable-next-line @typescript-eslint/no-require-imports -- jest has no import() in CommonJS (ADR 0029).
      const { PostgresDatabase } = require('./postgres/postgres-database') as typeof Postgres;
      return PostgresDatabase.open(url, limits);
    }
    default:
      throw storeConfigInvalid(
        `The store address "${redactAddress(url)}" has the unknown scheme "${scheme}". Use sqlite:<path> or postgres://user:password@host/database.`,
      );
  }
}

/** An address without its password, for messages. */
function redactAddress(url: string): string {
  return url
    .replace(/^([a-z][a-z0-9+.-]+:\/\/[^:@/]*):.*@/i, '$1:***@')
    .replace(/([?&](?:password|sslpassword)=)[^&]*/gi, '$1***');
}

function sqliteFile(url: string, file: string): string {
  const name = file.startsWith('//') ? file.slice(2) : file;
  if (name !== '' && !name.startsWith(':memory:') && !name.includes('\0')) return name;
  const reason = name.startsWith(':memory:')
    ? 'keeps nothing after a crash'
    : 'does not name a file';
  throw storeConfigInvalid(`The store address "${url}" ${reason}. Use sqlite:<path>.`);
}
