/** The store that the environment names, opened for a command. */
import { InfraException } from '../../activities/lifecycle/infra-exception';
import type { Store } from '../../activities/stores/store';
import { openStore } from '../../activities/stores/open-store';
import type { Environment } from '../env';
import { SetupError } from '../setup-error';

/** Opens the store of the environment. At the start a store that does not open is a fault of the set-up: nothing runs yet that could wait for it. */
export async function openEnvironmentStore({ store }: Pick<Environment, 'store'>): Promise<Store> {
  try {
    return await openStore(store);
  } catch (thrown) {
    if (!(thrown instanceof InfraException)) throw thrown;
    throw new SetupError(
      `${thrown.message} The store is the one of HOLDFAST_STORE (default: .holdfast/holdfast.db).`,
      { cause: thrown },
    );
  }
}
