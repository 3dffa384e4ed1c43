/** A tool call of the runtime has its result: the model reads it in the next request. */
import type { Moment } from '../run/loop';
import { beginIteration } from '../run/loop';
import { healErrors } from '../errors/agent-errors';
import { forgetLoop } from '../guard/loop-guard';
import type { PendingResult } from '../tools/ports';
import { noteError } from '../tools/privileged-parameters';
import type { RecoveryCall } from './state';
import { hasRules } from '../rules';
import type { RunState } from '../run/state';
import type { Step } from '../run/step';
import { andThen, step } from '../run/step';

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
