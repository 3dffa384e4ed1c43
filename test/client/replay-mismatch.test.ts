/** A replay that fails says which event and which command part, in words. */
import type { History } from '@temporalio/common/lib/proto-utils';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils';
import { DeterminismViolationError } from '@temporalio/workflow';
import { explainMismatch } from '../../workers/cli/commands/replay-mismatch';

const history: History = historyFromJSON({
  events: [
    {
      eventId: '5',
      activityTaskScheduledEventAttributes: {
        activityId: 'm1',
        activityType: { name: 'askModel' },
      },
    },
    { eventId: '12', timerStartedEventAttributes: { timerId: '3' } },
    { eventId: '13', workflowExecutionCompletedEventAttributes: {} },
  ],
});

it.each([
  [
    `Activity type of scheduled event 'askModel' does not match activity type of activity command 'callModel'\\", source: \\"\\", stack_trace: \\"\\"`,
    'event 5: history has activity askModel m1, the workflow now wants the activity with name callModel',
  ],
  [
    `Activity id of scheduled event 'm1' does not match activity id of activity command 'm2'`,
    'event 5: history has activity askModel m1, the workflow now wants the activity with id m2',
  ],
  [
    'Activity machine does not handle this event: HistoryEvent(id: 12, TimerStarted)',
    'event 12: history has timer 3, the workflow now wants an activity there',
  ],
  [
    'No command scheduled for event HistoryEvent(id: 13, WorkflowExecutionCompleted)',
    'event 13: history has workflowExecutionCompleted, the workflow now wants nothing there',
  ],
  [
    'Continue as new workflow machine does not handle this event: HistoryEvent(id: 12, TimerStarted)',
    'event 12: history has timer 3, the workflow now wants to roll over there',
  ],
  ['Something new', 'Something new'],
])('explains %s', (said, explained) => {
  const thrown = new DeterminismViolationError(
    `Replay failed: [TMPRL1100] Nondeterminism error: ${said}`,
  );
  expect(explainMismatch(thrown, history)).toBe(explained);
});

it('says which workflow the code lacks, and how to give it', () => {
  const thrown = new Error(
    `Details: Failed to initialize workflow of type 'ticket': no such function is exported by the workflow bundle", stack_trace: "..."`,
  );
  expect(explainMismatch(thrown, history)).toBe(
    'the code has no workflow "ticket"; if it is your own, give its file: --workflows FILE',
  );
});
