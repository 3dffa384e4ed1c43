/** Whether a run is stuck: a loop, steps without progress, a blocker, or low progress over many steps. */
import type { FailedCall, StuckCode } from './action';
import type { ProgressState } from './state';
import { shortened } from '../shortened';

/** Steps without progress after which a run is stuck (R-PROG-2). */
export const stuckSteps = 3;

/** Steps with the same error of one tool after which the run is stuck, whatever else works (R-PROG-4). */
const blockerSteps = 3;

/** Low progress: over this many steps, fewer than two in five brought something new (R-PROG-5). */
const lowProgressSteps = 15;
const lowProgressShare = 0.4;

/** A loop, as the loop detector describes it. */
export interface LoopSeen {
  readonly description: string;
  /** Calls that one round takes. */
  readonly period: number;
}

/** Why a run is stuck. */
export interface StuckReason {
  readonly code: StuckCode;
  readonly reason: string;
}

/** A blocker in one line. */
export function blockerText({ tool, code, message }: FailedCall): string {
  return shortened(`${tool === '' ? '' : `${tool} failed: `}${code}: ${message}`, 300);
}

function lowProgress({ recentSteps, recentGains }: ProgressState): boolean {
  return recentSteps >= lowProgressSteps && recentGains < recentSteps * lowProgressShare;
}

/** What a model's estimate says is in the way, until it is dealt with. */
function modelReason({ modelEstimate }: ProgressState): string | undefined {
  if (modelEstimate === undefined || modelEstimate.isHandled === true) return undefined;
  const { isStuck, reasoning, blockers } = modelEstimate;
  if (isStuck) return reasoning;
  const [blocker] = blockers;
  return blocker === undefined ? undefined : `The estimate of a model names a blocker: ${blocker}`;
}

/** Why the run is stuck; undefined if it is not. */
export function stuckReason(
  state: ProgressState,
  loop: LoopSeen | undefined,
): StuckReason | undefined {
  if (loop !== undefined) return { code: 'loop', reason: `Loop detected: ${loop.description}` };
  if (state.idleSteps >= stuckSteps)
    return {
      code: 'no_progress',
      reason: `The last ${state.idleSteps} steps brought nothing new.`,
    };
  const blocker = state.memory.failures.findLast(({ times }) => times >= blockerSteps);
  if (blocker !== undefined)
    return {
      code: 'no_progress',
      reason: `The same blocker came in ${blocker.times} steps: ${blockerText(blocker)}`,
    };
  const reason = modelReason(state);
  if (reason !== undefined) return { code: 'no_progress', reason };
  if (lowProgress(state))
    return {
      code: 'low_progress',
      reason: `Only ${state.recentGains} of the last ${state.recentSteps} steps brought something new.`,
    };
  return undefined;
}
