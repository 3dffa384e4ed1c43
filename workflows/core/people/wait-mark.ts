/** Shows a wait for a person that has no limit as a row of Temporal's timeline: a timer that ends with the wait. */
import { without } from '../json';
import type { CountersSlice } from '../run/account';
import { count } from '../run/account';
import type { Move } from '../run/move';
import { cancelTimers, labelOf, withBeforeEnd } from '../run/move';
import type { PhaseSlice } from '../run/phases';
import type { RunCommand, RunEvent } from '../run/protocol';
import { waitingPhase } from '../run/waiting';
import type { ToolCallProgress } from '../tools/state';
import { callsOf } from '../tools/state';
import { waitText } from './decision-wait';
import type { PeopleSlice, WaitMark } from './state';
import { escalationQuestionId } from './state';

/** Milliseconds of the timer: ten years. It only shows the wait, which goes on when it fires. */
const markMs = 3_650 * 86_400_000;

type Marked = Pick<PeopleSlice, 'waitMark'> & PhaseSlice & CountersSlice;

/** A wait that has no timer of its own. */
interface OpenWait {
  readonly id: string;
  readonly text: string;
}

function openWait(progress: ToolCallProgress): readonly OpenWait[] {
  const { call, status } = progress;
  const waits =
    status.type === 'awaiting-approval' ||
    status.type === 'awaiting-answer' ||
    status.type === 'checking-edit';
  return waits && status.expiry === undefined
    ? [{ id: call.toolCallId, text: waitText(progress) }]
    : [];
}

function openWaits(state: Marked): readonly OpenWait[] {
  const wait = waitingPhase(state);
  if (wait?.on === 'person')
    return [{ id: escalationQuestionId, text: `a person: ${wait.reason}` }];
  return callsOf(state).flatMap(openWait);
}

function startMark({ timerId }: WaitMark, [first, ...more]: readonly OpenWait[]): RunCommand {
  const others = more.length === 0 ? '' : `${more.length + 1} waits: `;
  const summary = labelOf(`${others}${first?.text ?? ''}`);
  return { type: 'start-timer', timerId, delayMs: markMs, summary };
}

/**
 * Starts the timer where such a wait begins, and stops it where it ends.
 *
 * Contract: two events per wait; a new segment starts the timer again, and one that fires changes nothing.
 */
export function keepWaitMark<State extends Marked>(
  { state, commands }: Move<State, RunCommand>,
  event: RunEvent,
): Move<State, RunCommand> {
  const { waitMark } = state;
  const isNewSegment = event.type === 'segment-started';
  const waits = openWaits(state);
  const about = waits.map(({ id }) => id).join(' ');
  if (about === (waitMark?.about ?? ''))
    return waitMark === undefined || !isNewSegment
      ? { state, commands }
      : { state, commands: [...commands, startMark(waitMark, waits)] };
  const stopped = waitMark === undefined || isNewSegment ? [] : cancelTimers([waitMark.timerId]);
  if (about === '')
    return { state: without(state, 'waitMark'), commands: withBeforeEnd(commands, stopped) };
  const timers = state.counters.timers + 1;
  const mark: WaitMark = { timerId: `mark-${timers}`, about };
  return {
    state: count({ ...state, waitMark: mark }, { timers }),
    commands: withBeforeEnd(commands, [...stopped, startMark(mark, waits)]),
  };
}
