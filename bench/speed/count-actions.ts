/**
 * Counts the actions that Temporal Cloud would bill for a run.
 *
 * Source: Temporal's documentation, "Temporal Cloud Actions" (docs.temporal.io/cloud/actions), read on 2026-11-29. Heartbeats,
 * queries, and rejected updates leave no event; the benchmark counts heartbeats at the server and makes neither of the others.
 */
import { temporal } from '@temporalio/proto';
import type { HistoryEvent } from '../history-sizes';

const { EventType } = temporal.api.enums.v1;

/** Billed actions by event. A start by continue-as-new is the first event of the next segment, and so counted there. */
const actionsOf: Readonly<Partial<Record<temporal.api.enums.v1.EventType, number>>> = {
  [EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED]: 1,
  [EventType.EVENT_TYPE_TIMER_STARTED]: 1,
  [EventType.EVENT_TYPE_UPSERT_WORKFLOW_SEARCH_ATTRIBUTES]: 1,
  [EventType.EVENT_TYPE_WORKFLOW_EXECUTION_SIGNALED]: 1,
  [EventType.EVENT_TYPE_WORKFLOW_EXECUTION_UPDATE_ACCEPTED]: 1,
  [EventType.EVENT_TYPE_WORKFLOW_EXECUTION_OPTIONS_UPDATED]: 1,
  // The intent to start a child is billed beside the child's own start, which is the first event of the child's history.
  [EventType.EVENT_TYPE_START_CHILD_WORKFLOW_EXECUTION_INITIATED]: 1,
  [EventType.EVENT_TYPE_NEXUS_OPERATION_SCHEDULED]: 1,
  [EventType.EVENT_TYPE_NEXUS_OPERATION_CANCEL_REQUESTED]: 1,
};

/** Actions of the histories of a run, all segments, without heartbeats. */
export function countActions(events: readonly HistoryEvent[]): number {
  let actions = 0;
  /** All markers of one workflow task, such as those of its local activities, are one action. */
  const tasksWithMarkers = new Set<string>();
  let segment = 0;
  for (const event of events) {
    const { eventType } = event;
    if (eventType === EventType.EVENT_TYPE_WORKFLOW_EXECUTION_STARTED) segment += 1;
    // Each attempt that was started; retries before it have left only their number.
    actions += event.activityTaskStartedEventAttributes?.attempt ?? 0;
    const marker = event.markerRecordedEventAttributes;
    if (marker != null)
      tasksWithMarkers.add(`${segment}:${String(marker.workflowTaskCompletedEventId)}`);
    if (eventType != null) actions += actionsOf[eventType] ?? 0;
  }
  return actions + tasksWithMarkers.size;
}
