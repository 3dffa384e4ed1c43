/** Progress of a run: counts per step what was new, and decides whether the run is stuck, with the loop detector's help. */
import type { Success } from './memory';
import { recount, rememberFailure, rememberSuccess } from './memory';
import type { AgentError } from '../failure';
import { defined, without } from '../json';
import type { JsonObject } from '../json';
import type { FailedCall, LatestStep, ProgressEstimate, StuckCode } from './action';
import type { ProgressState } from './state';
import { freshStep } from './state';

/** Steps without progress after which a run is stuck (R-PROG-2). */
export const stuckSteps = 3;

/** Steps with the same error of one tool after which the run is stuck, whatever else works (R-PROG-4). */
const blockerSteps = 3;

/** Low progress: over this many steps, fewer than two in five brought something new (R-PROG-5). */
const lowProgressSteps = 15;
const lowProgressShare = 0.4;

/** Characters of the outcome in `latest`. */
const outcomeChars = 200;

/** Notes a call that worked. */
export function noteSuccess(state: ProgressState, success: Success): ProgressState {
  const { memory, gains } = rememberSuccess(state.memory, success);
  const last: LatestStep = {
    tool: success.tool,
    action: success.summary,
    outcome: success.preview.slice(0, outcomeChars),
    success: true,
  };
  return {
    ...state,
    memory,
    underWay: { ...state.underWay, gains: [...state.underWay.gains, ...gains].slice(-8), last },
  };
}

/** Notes a mistake, or a call that failed. */
export function noteFailure(
  state: ProgressState,
  error: AgentError,
  input?: JsonObject,
): ProgressState {
  const last: LatestStep = {
    tool: error.toolName ?? '',
    action: error.toolName ?? 'a reply',
    outcome: `${error.code}: ${error.message}`.slice(0, outcomeChars),
    success: false,
  };
  return {
    ...state,
    memory: rememberFailure(state.memory, error, input, state.steps + 1),
    underWay: {
      ...state.underWay,
      last: state.underWay.last?.success === true ? state.underWay.last : last,
    },
  };
}

/** A person said something: the count starts again. */
export function restartIdleCount(state: ProgressState): ProgressState {
  return { ...state, idleSteps: 0 };
}

/** Ends a step; one that is neutral (a wait, an outage) does not count as a step without progress. */
export function endStep(state: ProgressState, isNeutral = false): ProgressState {
  const { underWay } = state;
  const gained = underWay.gains.length > 0 ? 1 : 0;
  const latest = underWay.last ?? state.latest;
  return {
    ...(gained === 1 ? without(state, 'blockers') : state),
    steps: state.steps + 1,
    gainingSteps: state.gainingSteps + gained,
    idleSteps: gained === 1 ? 0 : state.idleSteps + (isNeutral ? 0 : 1),
    recentSteps: state.recentSteps + (isNeutral ? 0 : 1),
    recentGains: state.recentGains + gained,
    underWay: freshStep,
    ...defined({ latest }),
  };
}

/** Restarts the count: everything so far has been handled. */
export function restartCount(state: ProgressState): ProgressState {
  return {
    ...state,
    memory: recount(state.memory),
    idleSteps: 0,
    recentSteps: 0,
    recentGains: 0,
  };
}

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
  return `${tool === '' ? '' : `${tool} failed: `}${code}: ${message}`.slice(0, 300);
}

function lowProgress({ recentSteps, recentGains }: ProgressState): boolean {
  return recentSteps >= lowProgressSteps && recentGains < recentSteps * lowProgressShare;
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
  if (lowProgress(state))
    return {
      code: 'low_progress',
      reason: `Only ${state.recentGains} of the last ${state.recentSteps} steps brought something new.`,
    };
  return undefined;
}

/** What stands in the way: failures that no success has healed, and what a planner's model named. */
export function blockersOf({ memory, blockers = [] }: ProgressState): readonly string[] {
  const failures = memory.failures.map(blockerText);
  return [...blockers.filter((named) => !failures.includes(named)), ...failures];
}

/** 0 to 95: each step with something new takes the run a part of the way that is left; only its end is 100. */
function percentOf(state: ProgressState): number {
  return Math.round(95 * (1 - 1 / (1 + state.gainingSteps / 5)));
}

/**
 * Estimates the progress from what the run has seen.
 *
 * Source: R-PROG-2 to R-PROG-7. Only steps count, so neither an outage nor a wait for a person makes a run stuck.
 */
export function estimateProgress(
  state: ProgressState,
  loop: LoopSeen | undefined,
): ProgressEstimate {
  const stuck = stuckReason(state, loop);
  const blockers = blockersOf(state);
  const [newest] = blockers.slice(-1);
  const counted = `${state.gainingSteps} of ${state.steps} steps brought something new.`;
  return {
    progressPercent: percentOf(state),
    reasoning: stuck?.reason ?? counted,
    nextMilestone:
      loop !== undefined
        ? 'Break the loop.'
        : newest !== undefined
          ? `Get past the blocker: ${newest}`
          : 'The next new result, or the answer.',
    blockers: loop === undefined ? blockers : [...blockers, loop.description],
    isStuck: stuck !== undefined,
  };
}
