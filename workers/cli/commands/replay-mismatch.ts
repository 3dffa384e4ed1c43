/** Says in words where a history and the workflow code part. Pure. */
import type { History } from '@temporalio/common/lib/proto-utils';
import { DeterminismViolationError } from '@temporalio/workflow';
import { reasonOf } from '../../setup-error';

type HistoryEvent = NonNullable<History['events']>[number];

/**
 * One line about a failed replay.
 *
 * Source: the texts of sdk-core's state machines in SDK 1.24, which name the event, and the machine of the command that
 * the workflow now issues.
 */
export function explainMismatch(thrown: unknown, history: History): string {
  const text = reasonOf(thrown);
  const missing = /Failed to initialize workflow of type '(.*?)': no such function/.exec(text)?.[1];
  if (missing !== undefined)
    return `the code has no workflow "${missing}"; if it is your own, give its file: --workflows FILE`;
  if (!(thrown instanceof DeterminismViolationError)) return text;
  const said = text
    .replace(/^.*?Nondeterminism error:\s*/i, '')
    .replace(/"?, source: ".*$/, '')
    .replace(/\\+"/g, '"');
  return explainActivity(said, history) ?? explainMachine(said, history) ?? said;
}

/** The workflow schedules another activity than history has. */
function explainActivity(said: string, history: History): string | undefined {
  const match =
    /Activity (id|type) of scheduled event '(.*?)' does not match activity \1 of activity command '(.*?)'/.exec(
      said,
    );
  const [, by, recorded, wanted = '?'] = match ?? [];
  if (by === undefined) return undefined;
  const event = history.events?.find((candidate) => {
    const scheduled = candidate.activityTaskScheduledEventAttributes;
    const value = by === 'id' ? scheduled?.activityId : scheduled?.activityType?.name;
    return value === recorded;
  });
  const place = event === undefined ? '' : `${placeOf(event)}, `;
  return `${place}the workflow now wants the activity with ${by === 'id' ? 'id' : 'name'} ${wanted}`;
}

/** The workflow does something else at this place, or nothing. */
function explainMachine(said: string, history: History): string | undefined {
  const eventId = /HistoryEvent\(id:\s*(\d+)/.exec(said)?.[1];
  const event = history.events?.find((candidate) => String(candidate.eventId) === eventId);
  if (event === undefined) return undefined;
  if (/No command scheduled/i.test(said))
    return `${placeOf(event)}, the workflow now wants nothing there`;
  const machine = /([\w ]+?) machine does not handle this event/.exec(said)?.[1];
  if (machine === undefined) return `${placeOf(event)}; ${said}`;
  return `${placeOf(event)}, the workflow now wants ${wantedBy[machine.trim()] ?? machine.trim()} there`;
}

/** What the workflow asks for where a state machine of this name meets the event. */
const wantedBy: Readonly<Record<string, string>> = {
  Activity: 'an activity',
  Timer: 'a timer',
  'Complete workflow': 'to complete',
  'Fail workflow': 'to fail',
  'Cancel workflow': 'to be cancelled',
  'Continue as new workflow': 'to roll over',
  'Child workflow': 'a child workflow',
};

function placeOf(event: HistoryEvent): string {
  return `event ${String(event.eventId)}: history has ${describe(event)}`;
}

/** An event by its kind, and the activity or timer by its name. */
function describe(event: HistoryEvent): string {
  const scheduled = event.activityTaskScheduledEventAttributes;
  if (scheduled != null)
    return `activity ${scheduled.activityType?.name ?? '?'} ${scheduled.activityId ?? ''}`.trim();
  const timer = event.timerStartedEventAttributes;
  if (timer != null) return `timer ${timer.timerId ?? ''}`.trim();
  const kind = Object.keys(event).find(
    (key) => key.endsWith('EventAttributes') && event[key as keyof HistoryEvent] != null,
  );
  return (kind ?? 'an event').replace(/EventAttributes$/, '');
}
