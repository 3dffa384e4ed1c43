/** Reaches Temporal for a command, or says so in a way that has its own exit code. */
import type { Environment } from '../env';
import { SetupError } from '../setup-error';
import type { TemporalServer } from '../temporal-server';
import { openTemporal } from '../temporal-server';

/** Temporal cannot be reached, or the embedded server not be started. */
export class TemporalUnreachable extends SetupError {
  constructor(cause: SetupError) {
    super(cause.message, { cause });
    this.name = 'TemporalUnreachable';
  }
}

/** The environment's server, else the embedded one. Errors: `TemporalUnreachable`. */
export async function reachTemporal(environment: Environment): Promise<TemporalServer> {
  try {
    return await openTemporal(environment);
  } catch (thrown) {
    if (thrown instanceof SetupError) throw new TemporalUnreachable(thrown);
    throw thrown;
  }
}
