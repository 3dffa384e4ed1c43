/** What the core does when an activity of its own, beside model calls and tools, has failed for good. */
import { infraPolicy } from '../errors/failure-policy';
import type { InfraError } from '../failure';
import type { Move } from '../run/move';
import { andThen } from '../run/move';
import type { PhaseSlice, StoreWaitSlice, Waiting } from '../run/phases';
import { waitForStore } from '../run/waiting';
import type { FailingState } from './provider-failure';
import { failInfra, recordInfraError } from './provider-failure';

/** Waits for a store that is down, and then does the same again; ends the run with any other cause. */
export function waitOrFail<State extends FailingState & PhaseSlice & StoreWaitSlice>(
  state: State,
  failure: InfraError,
  then: Waiting['then'],
  atMs: number,
): Move<State> {
  return andThen(recordInfraError(state, failure), (noted) =>
    infraPolicy(failure).action === 'wait-for-store'
      ? waitForStore(noted, failure.message, then, atMs)
      : failInfra(noted, failure),
  );
}
