/** The store that the environment names, opened for a command. */
import { existsSync } from 'node:fs';
import { InfraException } from '../../activities/lifecycle/infra-exception';
import { openStore } from '../../activities/stores/open-store';
import type { Store } from '../../activities/stores/store';
import { defined } from '../../workflows/core/json';
import type { Environment } from '../env';
import { readEnvironment } from '../env';
import { SetupError, UnreachableError } from '../setup-error';
import type { Surroundings } from './command-context';
import { environmentEncoding } from './reach-temporal';

/**
 * Opens the store of the environment.
 *
 * Errors: `SetupError` for a store that cannot be opened, `UnreachableError` for one that does not answer.
 */
export async function openEnvironmentStore(
  environment: Environment,
  variables: Surroundings['variables'],
): Promise<Store> {
  const { encryption } = await environmentEncoding(environment, variables);
  try {
    return await openStore(environment.store, defined({ encryption }));
  } catch (thrown) {
    if (!(thrown instanceof InfraException)) throw thrown;
    const isDown = thrown.failure.code === 'store_unavailable';
    throw new (isDown ? UnreachableError : SetupError)(
      `${thrown.message} HOLDFAST_STORE names the store (default: holdfast.db in the state directory, which HOLDFAST_STATE_DIR names).`,
      { cause: thrown },
    );
  }
}

/** Milliseconds that a command waits for a store that it does not need. */
const findMs = 2_000;

/** The store of the environment for a command that works without it too: undefined where none was made, or none opens. */
export async function findEnvironmentStore({
  variables,
  directory,
}: Surroundings): Promise<Store | undefined> {
  const environment = readEnvironment(variables, directory);
  const { store } = environment;
  if (store.startsWith('sqlite:') && !existsSync(store.slice('sqlite:'.length))) return undefined;
  const { encryption } = await environmentEncoding(environment, variables);
  return openStore(store, { waitMs: findMs, ...defined({ encryption }) }).catch(() => undefined);
}

/** Opens the store, does the work, and closes the store in any case. */
export async function withStore<Result>(
  { variables, directory }: Surroundings,
  work: (store: Store, environment: Environment) => Promise<Result>,
): Promise<Result> {
  const environment = readEnvironment(variables, directory);
  const store = await openEnvironmentStore(environment, variables);
  try {
    return await work(store, environment);
  } finally {
    await store.close();
  }
}
