/** A real store that is the test's own, for tests of everything that uses one. */
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client } from 'pg';
import type { Store } from '../../activities/stores/store';
import { openStore } from '../../activities/stores/open-store';
import type { StoreLimits } from '../../activities/stores/store-limits';

/** A store that is the test's own; `url` opens it again, in this process or another. */
export interface TemporaryStore {
  readonly store: Store;
  readonly url: string;
  /** Errors: throws where the store is on Postgres. */
  readonly file: string;
  /** Closes the store and removes it. */
  dispose(): Promise<void>;
}

/**
 * Address of a database of a Postgres server where each store gets a database of its own, as CONTRIBUTING says. Default: SQLite in
 * new temporary directories.
 */
const postgresVariable = 'HOLDFAST_TEST_POSTGRES';

/** Opens a new, empty store. */
export async function temporaryStore(limits: Partial<StoreLimits> = {}): Promise<TemporaryStore> {
  const server = process.env[postgresVariable];
  return server === undefined ? newFile(limits) : newDatabase(server, limits);
}

async function newFile(limits: Partial<StoreLimits>): Promise<TemporaryStore> {
  const directory = await mkdtemp(path.join(tmpdir(), 'holdfast-store-'));
  const file = path.join(directory, 'store.db');
  const url = `sqlite:${file}`;
  const store = await openStore(url, limits);
  return {
    store,
    url,
    file,
    async dispose() {
      await store.close();
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function newDatabase(server: string, limits: Partial<StoreLimits>): Promise<TemporaryStore> {
  const name = `holdfast_test_${randomUUID().replaceAll('-', '')}`;
  await administer(server, `CREATE DATABASE ${name}`);
  const address = new URL(server);
  address.pathname = `/${name}`;
  const url = address.href;
  const store = await openStore(url, limits);
  return {
    store,
    url,
    get file(): string {
      throw new Error(`This test needs a store in a file. Run it without ${postgresVariable}.`);
    },
    async dispose() {
      await store.close();
      await administer(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    },
  };
}

async function administer(server: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: server });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}
