/** Reads what history says of child workflows, as a workflow sees it. */
import type { LoadedDataConverter } from '@temporalio/common';
import {
  CancelledFailure,
  ChildWorkflowFailure,
  RetryState,
  TerminatedFailure,
  TimeoutFailure,
  TimeoutType,
} from '@temporalio/common';
import {
  decodeFromPayloadsAtIndex,
  decodeOptionalFailureToOptionalError,
} from '@temporalio/common/lib/internal-non-workflow';
import type { History } from '@temporalio/common/lib/proto-utils';

type HistoryEvent = NonNullable<History['events']>[number];
type LongValue = HistoryEvent['eventId'];

/** What one event says of a child. */
export type ChildFact =
  | { readonly type: 'child-initiated'; readonly workflowId: string }
  | {
      readonly type: 'child-completed';
      readonly initiatedEventId: number;
      readonly result: unknown;
    }
  | { readonly type: 'child-failed'; readonly initiatedEventId: number; readonly thrown: unknown };

/** How a child's payloads were written. */
export interface ChildSource {
  readonly converter: LoadedDataConverter;
  readonly namespace: string;
}

/**
 * Reads an event of a child workflow; undefined for any other event.
 *
 * Contract: give it the events of a segment in order, with the same map.
 */
export async function readChild(
  event: HistoryEvent,
  source: ChildSource,
  childIds: Map<number, string>,
): Promise<ChildFact | undefined> {
  const initiated = event.startChildWorkflowExecutionInitiatedEventAttributes;
  if (initiated != null) {
    const workflowId = initiated.workflowId ?? '';
    childIds.set(numberOf(event.eventId), workflowId);
    return { type: 'child-initiated', workflowId };
  }
  const completed = event.childWorkflowExecutionCompletedEventAttributes;
  if (completed == null) return readChildFailure(event, source, childIds);
  const initiatedEventId = numberOf(completed.initiatedEventId);
  const result = await decodeFromPayloadsAtIndex<unknown>(
    source.converter,
    0,
    completed.result?.payloads,
    contextOf(source, childIds.get(initiatedEventId)),
  );
  return { type: 'child-completed', initiatedEventId, result };
}

async function readChildFailure(
  event: HistoryEvent,
  source: ChildSource,
  childIds: ReadonlyMap<number, string>,
): Promise<ChildFact | undefined> {
  const notStarted = event.startChildWorkflowExecutionFailedEventAttributes;
  if (notStarted != null)
    return {
      type: 'child-failed',
      initiatedEventId: numberOf(notStarted.initiatedEventId),
      thrown: new Error('a workflow with its id runs already'),
    };
  const failed = event.childWorkflowExecutionFailedEventAttributes;
  if (failed != null) {
    const initiatedEventId = numberOf(failed.initiatedEventId);
    const context = contextOf(source, childIds.get(initiatedEventId));
    const cause = await decodeOptionalFailureToOptionalError(
      source.converter,
      failed.failure,
      context,
    );
    return { type: 'child-failed', initiatedEventId, thrown: childFailure(cause) };
  }
  return lostChild(event);
}

function lostChild(event: HistoryEvent): ChildFact | undefined {
  const ends = [
    [event.childWorkflowExecutionCanceledEventAttributes, new CancelledFailure('cancelled')],
    [event.childWorkflowExecutionTerminatedEventAttributes, new TerminatedFailure('terminated')],
    [
      event.childWorkflowExecutionTimedOutEventAttributes,
      new TimeoutFailure('timed out', undefined, TimeoutType.START_TO_CLOSE),
    ],
  ] as const;
  for (const [attributes, cause] of ends) {
    if (attributes == null) continue;
    const initiatedEventId = numberOf(attributes.initiatedEventId);
    return { type: 'child-failed', initiatedEventId, thrown: childFailure(cause) };
  }
  return undefined;
}

/** As the workflow's SDK wraps it. */
function childFailure(cause: Error | undefined): ChildWorkflowFailure {
  const execution = { workflowId: '', runId: '' };
  return new ChildWorkflowFailure(
    undefined,
    execution,
    '',
    RetryState.NON_RETRYABLE_FAILURE,
    cause,
  );
}

function contextOf(
  { namespace }: ChildSource,
  workflowId: string | undefined,
): Parameters<typeof decodeFromPayloadsAtIndex>[3] {
  return { type: 'workflow', namespace, workflowId: workflowId ?? '' };
}

function numberOf(value: LongValue): number {
  return value == null ? 0 : value.toNumber();
}
