/** The one exception for failures that people must see; carries the failure as plain data. */
import type { InfraError } from '../../workflows/core/failure';

/** Thrown inside activities; `error-mapping.ts` turns it into an ApplicationFailure at the boundary. */
export class InfraException extends Error {
  readonly failure: InfraError;

  constructor(failure: Omit<InfraError, 'kind'>, options?: { cause?: unknown }) {
    super(failure.message, options);
    this.name = 'InfraException';
    this.failure = { kind: 'infra', ...failure };
  }
}
