/** Says in words where a history and the workflow code part. Pure. */
import type { History } from '@temporalio/common/lib/proto-utils';
import { DeterminismViolationError } from '@temporalio/workflow';
import { reasonOf } from '../setup-error';

type HistoryEvent = NonNullable<History['events']>[number];

/**
 * One line about a failed replay.
 *
 * Source: the texts of sdk-core's state machines in SDK 1.24, which name the event, and the machine of the command that
 * the workflow now issues.
 */
export function explainMismatch(thrown: unknown, history: History): string {
  const text = reasonOf(thrown);
  if (!(thrown instanceof DeterminismViolationError)) return text;
  const said = text.replace(/^.*?Nondeterminism error:\s*/i, '');
  const eventId = /HistoryEvent\(id:\s*(\d+)/.exec(said)?.[1];
  const event = history.events?.find((candidate) => String(candidate.eventId) === eventId);
  if (event === undefined) return said;
  const expected = `event ${eventId ?? '?'}: history has ${describe(event)}`;
  const machine = /(\w+?)(?:Machine| machine)\b/.exec(said)?.[1];
  if (/no command scheduled/i.test(said))
    return `${expected}, the workflow now wants nothing there`;
  return machine === undefined
    ? `${expected}; ${said}`
    : `${expected}, the workflow now wants ${machine} (${said})`;
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
