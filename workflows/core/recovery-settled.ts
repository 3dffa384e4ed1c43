/** A tool call of the runtime has its result: the model reads it in the next request. */
import type { Moment } from './iteration';
import { beginIteration } from './iteration';
import { healErrors } from './agent-errors';
import { forgetLoop } from './loop-guard';
import type { PendingResult } from './ports';
import { noteError } from './privileged';
import type { RecoveryCall } from './recovery-state';
import { hasRules } from './rules';
import type { RunState } from './run-state';
import type { Step } from './step';
import { andThen, step } from './step';

/**
 * Goes on after the runtime's own call. Its failure is none of the model's: it enters no ring.
 *
 * Contract: `state` still has the results of the model's own calls as pending.
 */
export function settleRecoveryCall(
  state: RunState,
  pending: PendingResult,
  { introduction }: RecoveryCall,
  moment: Moment,
): Step {
  const underWay = { gains: [], failed: [] };
  const settled: RunState = {
    ...state,
    phase: { type: 'ready' },
    guard: forgetLoop(state.guard),
    progress: { ...state.progress, underWay },
    next: { ...state.next, runtimeResults: [{ pending, introduction }] },
  };
  // What a failed call says may ask for more rights, whoever made the call.
  const healed = pending.isError
    ? step(hasRules(settled, 3) ? noteError(settled) : settled)
    : healErrors(settled, moment.atMs, 'the runtime ran a recovery action');
  return andThen(healed, (after) => beginIteration(after, moment));
}
