/** Progress of a run: counts per step what was new, and estimates how far the run is. */
import type { Success } from './memory';
import { recount, rememberFailure, rememberSuccess } from './memory';
import type { AgentError } from '../failure';
import { defined } from '../json';
import type { JsonObject } from '../json';
import type { LatestStep, ProgressEstimate } from './action';
import type { ProgressState } from './state';
import { freshStep } from './state';
import type { LoopSeen } from './stuck';
import { blockerText, stuckReason } from './stuck';
import { shortened } from '../shortened';

/** Characters of the outcome in `latest`. */
const outcomeChars = 200;

/** Notes a call that worked. */
export function noteSuccess(state: ProgressState, success: Success): ProgressState {
  const { memory, gains } = rememberSuccess(state.memory, success);
  const last: LatestStep = {
    tool: success.tool,
    action: success.summary,
    outcome: shortened(success.preview, outcomeChars),
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
    outcome: shortened(`${error.code}: ${error.message}`, outcomeChars),
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

/** A person said something: the count starts again, and what a model's estimate named is dealt with. */
export function restartIdleCount(state: ProgressState): ProgressState {
  const { modelEstimate: made } = state;
  return { ...state, idleSteps: 0, ...(made && { modelEstimate: { ...made, isHandled: true } }) };
}

/** Ends a step; one that is neutral (a wait, an outage) does not count as a step without progress. */
export function endStep(state: ProgressState, isNeutral = false): ProgressState {
  const { underWay } = state;
  const gained = underWay.gains.length > 0 ? 1 : 0;
  const latest = underWay.last ?? state.latest;
  return {
    ...state,
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
    ...restartIdleCount(state),
    memory: recount(state.memory),
    recentSteps: 0,
    recentGains: 0,
  };
}

/** 0 to 95: each step with something new takes the run a part of the way that is left; only its end is 100. */
function percentOf(state: ProgressState): number {
  return Math.round(95 * (1 - 1 / (1 + state.gainingSteps / 5)));
}

/** What the counts alone say, where no model has estimated the progress. */
function countedEstimate(state: ProgressState): Omit<ProgressEstimate, 'isStuck'> {
  return {
    progressPercent: percentOf(state),
    reasoning: `${state.gainingSteps} of ${state.steps} steps brought something new.`,
    nextMilestone: 'The next new result, or the answer.',
    blockers: [],
  };
}

/**
 * Estimates the progress from what the run has seen, and from what a model last said of it.
 *
 * Source: R-PROG-2 to R-PROG-8. Only steps count, so neither an outage nor a wait for a person makes a run stuck.
 */
export function estimateProgress(
  state: ProgressState,
  loop: LoopSeen | undefined,
): ProgressEstimate {
  const stuck = stuckReason(state, loop);
  const estimate = state.modelEstimate ?? countedEstimate(state);
  const failures = state.memory.failures.map(blockerText);
  const newest = failures.at(-1);
  return {
    progressPercent: estimate.progressPercent,
    reasoning: stuck?.reason ?? estimate.reasoning,
    nextMilestone:
      loop !== undefined
        ? 'Break the loop.'
        : newest !== undefined
          ? `Get past the blocker: ${newest}`
          : estimate.nextMilestone,
    blockers: [
      ...estimate.blockers,
      ...failures,
      ...(loop === undefined ? [] : [loop.description]),
    ],
    isStuck: stuck !== undefined,
  };
}
