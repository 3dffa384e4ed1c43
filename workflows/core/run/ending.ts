/** Ends a run in which something may be in flight: it is asked to stop, and lands first. */
import { checksInFlight, timersOfCall } from '../people/decision-wait';
import { prepareCallId } from './loop';
import { endByPerson, endFailed } from './end';
import type { RunCommand } from './protocol';
import type { RunPhase, RunState } from './state';
import type { Step } from './step';
import { step } from './step';
import { activityIndex, toolCallActivityId } from '../tools/activity-id';

type Landing = Extract<RunPhase, { type: 'ending' }>['landing'];

function runningCalls(phase: RunPhase, iteration: number): Landing {
  if (phase.type !== 'running-tools') return [];
  return phase.calls.flatMap(({ call, status }, index) =>
    status.type === 'running' || status.type === 'delegated'
      ? [
          {
            call,
            callId: toolCallActivityId(iteration, activityIndex(phase, index)),
            ...(status.type === 'delegated' ? { runId: status.runId } : {}),
          },
        ]
      : [],
  );
}

function outstandingIds(phase: RunPhase, landing: Landing): readonly string[] {
  if (phase.type === 'calling-model' || phase.type === 'compacting') return [phase.callId];
  if (phase.type === 'preparing') return [prepareCallId];
  if (phase.type === 'recovering' && phase.stage.type === 'planning') return [phase.stage.callId];
  return [...landing.map(({ callId }) => callId), ...checksInFlight(phase)];
}

/** Timers that the phase waits for. */
export function timersOf(phase: RunPhase): readonly string[] {
  if (phase.type === 'waiting') return phase.timerId === undefined ? [] : [phase.timerId];
  if (phase.type === 'recovering' && phase.stage.type !== 'planning') return [phase.stage.timerId];
  if (phase.type !== 'running-tools') return [];
  return phase.calls.flatMap(timersOfCall);
}

/** How a run ends once nothing is in flight. */
export type Ending = Pick<
  Extract<RunPhase, { type: 'ending' }>,
  'status' | 'reason' | 'failureReason'
>;

/** Ends the run: nothing is in flight any more. */
export function endNow(
  state: RunState,
  { status, reason, failureReason }: Ending,
  atMs: number,
): Step {
  return status === 'failed'
    ? endFailed(state, atMs, failureReason ?? 'infra', reason)
    : endByPerson(state, atMs, status, reason);
}

/** The results that the current reply's calls have given so far: no model call will bring them into the transcript. */
function withSettledResults(state: RunState): RunState {
  const { phase, next } = state;
  if (phase.type !== 'running-tools' || phase.recovery !== undefined) return state;
  const settled = phase.calls.flatMap(({ status }) =>
    status.type === 'settled' ? [status.pending] : [],
  );
  return { ...state, next: { ...next, pendingResults: settled } };
}

/**
 * Ends the run as a person or the guard wants: what is in flight is asked to stop and comes back first, so that nothing is
 * lost. Of a run that is ending already only a cancel changes how.
 */
export function endAfterLanding(before: RunState, ending: Ending, atMs: number): Step {
  const { phase } = before;
  const state = withSettledResults(before);
  if (phase.type === 'ending') {
    const { failureReason: _superseded, ...rest } = phase;
    return step({
      ...state,
      phase: ending.status === 'cancelled' ? { ...rest, ...ending } : phase,
    });
  }
  const timers = timersOf(phase).map((timerId): RunCommand => ({ type: 'cancel-timer', timerId }));
  const landing = runningCalls(phase, state.counters.iterations);
  const outstanding = outstandingIds(phase, landing);
  if (outstanding.length === 0) {
    const ended = endNow(state, ending, atMs);
    return { state: ended.state, commands: [...timers, ...ended.commands] };
  }
  return step({ ...state, phase: { type: 'ending', ...ending, outstanding, landing } }, ...timers, {
    type: 'cancel-activities',
    callIds: outstanding,
  });
}
