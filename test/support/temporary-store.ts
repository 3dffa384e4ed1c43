/** A real store in a fresh directory, for tests of everything that uses one. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { Store } from '../../activities/stores/store';
import { openStore } from '../../activities/stores/open-store';
import type { StoreLimits } from '../../activities/stores/store-limits';

/** A store that is the test's own; `url` opens it again, in this process or another. */
export interface TemporaryStore {
  readonly store: Store;
  readonly url: string;
  readonly file: string;
  /** Closes the store and removes its directory. */
  dispose(): Promise<void>;
}

/** Opens SQLite in a new temporary directory. */
export async function temporaryStore(limits: Partial<StoreLimits> = {}): Promise<TemporaryStore> {
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
