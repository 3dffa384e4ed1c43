/** A worker's connection. Apart from the clients', since the SDK's native part takes longer to load than most commands to run. */
import { NativeConnection } from '@temporalio/worker';
import { checkSdk } from '../client/sdk-check';
import { defined } from '../workflows/core/json';
import type { ServerOptions } from './connection';
import { requireServing, unreachable } from './connection';
import { reasonOf, SetupError } from './setup-error';

/**
 * Connects for `Worker.create`.
 *
 * Errors: `SetupError` that names the address or namespace and what to do, within twice `connectTimeoutMs`.
 */
export async function connectWorker(options: ServerOptions): Promise<NativeConnection> {
  checkSdk((message) => new SetupError(message));
  await requireServing(options);
  try {
    const { address, apiKey, tls, metadata } = options;
    return await NativeConnection.connect({ address, ...defined({ apiKey, tls, metadata }) });
  } catch (thrown) {
    throw unreachable(options, reasonOf(thrown));
  }
}
