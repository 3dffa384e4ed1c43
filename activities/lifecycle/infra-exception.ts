/** The one exception for failures that people must see; carries the failure as plain data. */
import type { InfraError } from '../../workflows/core/failure';

/**
 * A failure that the model must not see. A tool throws it with the code `tool_infrastructure` for what only people can repair: the
 * run ends at once as `infra`, with the message. The other codes are for the runtime itself; after some of them a run waits or
 * retries.
 */
export class InfraException extends Error {
  readonly failure: InfraError;

  constructor(failure: Omit<InfraError, 'kind'>, options?: { cause?: unknown }) {
    super(failure.message, options);
    this.name = 'InfraException';
    this.failure = { kind: 'infra', ...failure };
  }
}

/** Whether the store did not answer, so that the same may work later. */
export function isStoreDown(thrown: unknown): thrown is InfraException {
  return thrown instanceof InfraException && thrown.failure.code === 'store_unavailable';
}
