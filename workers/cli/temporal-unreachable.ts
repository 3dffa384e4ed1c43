/** The error with an exit code of its own: there is no Temporal to talk to. */
import { SetupError } from '../setup-error';

/** Temporal cannot be reached, or the embedded server not be started. */
export class TemporalUnreachable extends SetupError {
  constructor(cause: SetupError) {
    super(cause.message, { cause });
    this.name = 'TemporalUnreachable';
  }
}
