/** Billed actions of histories, by the definition of Temporal Cloud. */
import { temporal } from '@temporalio/proto';
import { countActions } from '../../bench/speed/count-actions';
import type { HistoryEvent } from '../../bench/history-sizes';

const { EventType } = temporal.api.enums.v1;

const started: HistoryEvent = { eventType: EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED };

function activity(attempt: number): readonly HistoryEvent[] {
  return [
    { eventType: EventType.EVENT_TYPE_ACTIVITY_TASK_SCHEDULED },
    {
      eventType: EventType.EVENT_TYPE_ACTIVITY_TASK_STARTED,
      activityTaskStartedEventAttributes: { attempt },
    },
    { eventType: EventType.EVENT_TYPE_ACTIVITY_TASK_COMPLETED },
  ];
}

function marker(workflowTaskCompletedEventId: number): HistoryEvent {
  return {
    eventType: EventType.EVENT_TYPE_MARKER_RECORDED,
    markerRecordedEventAttributes: {
      markerName: 'core_local_activity',
      workflowTaskCompletedEventId: workflowTaskCompletedEventId as never,
    },
  };
}

test.each<[string, readonly HistoryEvent[], number]>([
  ['a start', [started], 1],
  ['two activities of one attempt each', [...activity(1), ...activity(1)], 2],
  ['an activity that was tried three times', activity(3), 3],
  ['an activity that nobody has started', activity(1).slice(0, 1), 0],
  ['local activities of one workflow task', [started, marker(4), marker(4)], 2],
  ['local activities of two workflow tasks', [started, marker(4), marker(9)], 3],
  ['two segments whose event numbers begin again', [started, marker(4), started, marker(4)], 4],
  ['a timer', [{ eventType: EventType.EVENT_TYPE_TIMER_STARTED }], 1],
  ['its end', [{ eventType: EventType.EVENT_TYPE_TIMER_FIRED }], 0],
  ['a signal', [{ eventType: EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED }], 1],
  [
    'an update, once',
    [
      { eventType: EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED },
      { eventType: EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_COMPLETED },
    ],
    1,
  ],
  ['search attributes', [{ eventType: EventType.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES }], 1],
  [
    "a child: the intent here, the start in the child's own history",
    [
      { eventType: EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED },
      { eventType: EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_STARTED },
      { eventType: EventType.EVENT_TYPE_CHILD_WORKFLOW_EXECUTION_COMPLETED },
    ],
    1,
  ],
  [
    'workflow tasks',
    [
      { eventType: EventType.EVENT_TYPE_WORKFLOW_TASK_SCHEDULED },
      { eventType: EventType.EVENT_TYPE_WORKFLOW_TASK_STARTED },
      { eventType: EventType.EVENT_TYPE_WORKFLOW_TASK_COMPLETED },
    ],
    0,
  ],
])('counts %s', (_what, events, actions) => {
  expect(countActions(events)).toBe(actions);
});
