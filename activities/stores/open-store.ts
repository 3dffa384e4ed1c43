/** Opens the store that an address names. */
import type { Store } from './store';
import { openPostgresStore } from './postgres/postgres-store';
import { openSqliteStore } from './sqlite/sqlite-store';
import { storeConfigInvalid } from './store-errors';
import { defaultStoreLimits, type StoreLimits } from './store-limits';

/**
 * Opens, and creates if need be, the store at `sqlite:<path>`, a plain path, or `postgres://...`.
 *
 * Errors: `config_invalid` for an address that names no store; else as `Store`.
 */
export async function openStore(url: string, limits: Partial<StoreLimits> = {}): Promise<Store> {
  const all: StoreLimits = { ...defaultStoreLimits, ...limits };
  const scheme = /^([a-z][a-z0-9+.-]+):/i.exec(url)?.[1]?.toLowerCase();
  switch (scheme) {
    case undefined:
      return openSqliteStore(sqliteFile(url, url), all);
    case 'sqlite':
      return openSqliteStore(sqliteFile(url, url.slice('sqlite:'.length)), all);
    case 'postgres':
    case 'postgresql':
      return openPostgresStore(url, all);
    default:
      throw storeConfigInvalid(
        `The store address "${redactAddress(url)}" has the unknown scheme "${scheme}". Use sqlite:<path> or postgres://user:password@host/database.`,
      );
  }
}

/** An address without its password, to be shown. */
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
