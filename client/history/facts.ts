/** Reads Temporal's history events as plain facts: the only file that knows the shape of history. */
import type { LoadedDataConverter } from '@temporalio/common';
import { CancelledFailure } from '@temporalio/common';
import {
  decodeFromPayloadsAtIndex,
  decodeOptionalFailureToOptionalError,
} from '@temporalio/common/lib/internal-non-workflow';
import type { History } from '@temporalio/common/lib/proto-utils';
import { tsToMs } from '@temporalio/common/lib/time';
import type { ChildFact } from './child-facts';
import { readChild } from './child-facts';

/** One event of a Temporal history, as the SDK decodes it. */
export type HistoryEvent = NonNullable<History['events']>[number];

/** How a segment ended, where the workflow itself did not say it with a `RunOutcome`. */
export type SegmentEnd =
  | { readonly type: 'completed' | 'failed' | 'cancelled' }
  | { readonly type: 'terminated'; readonly reason: string }
  | { readonly type: 'timed-out' }
  | { readonly type: 'rolled-over'; readonly nextRunId: string };

/** What one history event says that a fold of the run needs. Every other event is ignored. */
export type HistoryFact = { readonly eventId: number; readonly atMs: number } & (
  | {
      readonly type: 'segment-began';
      readonly workflowType: string;
      readonly firstRunId: string;
      readonly previousRunId: string | undefined;
      readonly input: unknown;
    }
  | { readonly type: 'task-started'; readonly rollOverSuggested: boolean }
  | { readonly type: 'task-completed'; readonly startedEventId: number }
  | { readonly type: 'signalled'; readonly name: string; readonly argument: unknown }
  | { readonly type: 'cancel-requested' }
  | {
      readonly type: 'update-admitted';
      readonly updateId: string;
      readonly name: string;
      readonly argument: unknown;
    }
  | {
      readonly type: 'update-accepted';
      readonly updateId: string;
      readonly sequencingEventId: number;
      /** Absent if the server wrote the request into an earlier `update-admitted`. */
      readonly request: { readonly name: string; readonly argument: unknown } | undefined;
    }
  | { readonly type: 'activity-scheduled'; readonly activityId: string }
  | {
      readonly type: 'activity-completed';
      readonly scheduledEventId: number;
      readonly result: unknown;
    }
  | {
      readonly type: 'activity-failed';
      readonly scheduledEventId: number;
      readonly thrown: unknown;
    }
  | ChildFact
  | { readonly type: 'timer-started' }
  | { readonly type: 'timer-fired'; readonly startedEventId: number }
  | { readonly type: 'segment-ended'; readonly end: SegmentEnd }
);

type WithoutStamp<Fact> = Fact extends unknown ? Omit<Fact, 'eventId' | 'atMs'> : never;
type Unstamped = WithoutStamp<HistoryFact>;
type Payloads = Parameters<typeof decodeFromPayloadsAtIndex>[2];
type ProtoFailure = Parameters<typeof decodeOptionalFailureToOptionalError>[1];
type LongValue = HistoryEvent['eventId'];

/** Which history, and how its payloads were written. */
export interface HistorySource {
  readonly converter: LoadedDataConverter;
  readonly namespace: string;
  readonly workflowId: string;
}

/** Reads the events of one segment. */
export interface HistoryReader {
  /** Undefined for an event that a fold does not need. */
  read(event: HistoryEvent): Promise<HistoryFact | undefined>;
}

/**
 * Makes a reader of one segment.
 *
 * Contract: give it the events in order, since results are decoded for the activity that was scheduled before.
 * Errors: what the data converter throws for a payload that it cannot read (a codec that this client lacks).
 */
export function createHistoryReader(source: HistorySource): HistoryReader {
  const activityIds = new Map<number, string>();
  const childIds = new Map<number, string>();
  return {
    async read(event) {
      const fact =
        readTask(event) ??
        (await readActivity(event, source, activityIds)) ??
        readTimer(event) ??
        (await readChild(event, source, childIds)) ??
        (await readPerson(event, source)) ??
        (await readSegment(event, source));
      if (fact === undefined) return undefined;
      return { ...fact, eventId: idOf(event.eventId), atMs: tsToMs(event.eventTime) };
    },
  };
}

function idOf(value: LongValue): number {
  return value == null ? 0 : value.toNumber();
}

function ofWorkflow<T>(
  { converter, namespace, workflowId }: HistorySource,
  payloads: Payloads,
): Promise<T> {
  return decodeFromPayloadsAtIndex<T>(converter, 0, payloads, {
    type: 'workflow',
    namespace,
    workflowId,
  });
}

function activityContext(
  { namespace, workflowId }: HistorySource,
  activityId: string | undefined,
): Parameters<typeof decodeFromPayloadsAtIndex>[3] {
  return {
    type: 'activity',
    namespace,
    workflowId,
    isLocal: false,
    ...(activityId === undefined ? {} : { activityId }),
  };
}

function readTask(event: HistoryEvent): Unstamped | undefined {
  const started = event.workflowTaskStartedEventAttributes;
  if (started != null)
    return { type: 'task-started', rollOverSuggested: started.suggestContinueAsNew === true };
  const completed = event.workflowTaskCompletedEventAttributes;
  if (completed != null)
    return { type: 'task-completed', startedEventId: idOf(completed.startedEventId) };
  return undefined;
}

async function readActivity(
  event: HistoryEvent,
  source: HistorySource,
  activityIds: Map<number, string>,
): Promise<Unstamped | undefined> {
  const scheduled = event.activityTaskScheduledEventAttributes;
  if (scheduled != null) {
    const activityId = scheduled.activityId ?? '';
    activityIds.set(idOf(event.eventId), activityId);
    return { type: 'activity-scheduled', activityId };
  }
  const completed = event.activityTaskCompletedEventAttributes;
  if (completed != null) {
    const scheduledEventId = idOf(completed.scheduledEventId);
    const result = await decodeFromPayloadsAtIndex<unknown>(
      source.converter,
      0,
      completed.result?.payloads,
      activityContext(source, activityIds.get(scheduledEventId)),
    );
    return { type: 'activity-completed', scheduledEventId, result };
  }
  return readActivityFailure(event, source, activityIds);
}

async function readActivityFailure(
  event: HistoryEvent,
  source: HistorySource,
  activityIds: Map<number, string>,
): Promise<Unstamped | undefined> {
  const failed =
    event.activityTaskFailedEventAttributes ?? event.activityTaskTimedOutEventAttributes;
  if (failed != null) {
    const scheduledEventId = idOf(failed.scheduledEventId);
    const thrown = await decodeFailure(source, failed.failure, activityIds.get(scheduledEventId));
    return { type: 'activity-failed', scheduledEventId, thrown };
  }
  const cancelled = event.activityTaskCanceledEventAttributes;
  if (cancelled == null) return undefined;
  const scheduledEventId = idOf(cancelled.scheduledEventId);
  const details = await decodeFromPayloadsAtIndex<unknown>(
    source.converter,
    0,
    cancelled.details?.payloads,
    activityContext(source, activityIds.get(scheduledEventId)),
  );
  const failureDetails = details === undefined ? [] : [details];
  return {
    type: 'activity-failed',
    scheduledEventId,
    thrown: new CancelledFailure('Activity cancelled', failureDetails),
  };
}

async function decodeFailure(
  source: HistorySource,
  failure: ProtoFailure,
  activityId: string | undefined,
): Promise<unknown> {
  return decodeOptionalFailureToOptionalError(
    source.converter,
    failure,
    activityContext(source, activityId),
  );
}

function readTimer(event: HistoryEvent): Unstamped | undefined {
  if (event.timerStartedEventAttributes != null) return { type: 'timer-started' };
  const fired = event.timerFiredEventAttributes;
  if (fired != null) return { type: 'timer-fired', startedEventId: idOf(fired.startedEventId) };
  return undefined;
}

/** As the workflow reads it: undefined if it cannot be read. */
async function signalArgument(source: HistorySource, payloads: Payloads): Promise<unknown> {
  try {
    return await ofWorkflow<unknown>(source, payloads);
  } catch {
    return undefined;
  }
}

async function readPerson(
  event: HistoryEvent,
  source: HistorySource,
): Promise<Unstamped | undefined> {
  const signalled = event.workflowExecutionSignaledEventAttributes;
  if (signalled != null)
    return {
      type: 'signalled',
      name: signalled.signalName ?? '',
      argument: await signalArgument(source, signalled.input?.payloads),
    };
  if (event.workflowExecutionCancelRequestedEventAttributes != null)
    return { type: 'cancel-requested' };
  return readUpdate(event, source);
}

async function readUpdate(
  event: HistoryEvent,
  source: HistorySource,
): Promise<Unstamped | undefined> {
  const admitted = event.workflowExecutionUpdateAdmittedEventAttributes;
  if (admitted != null)
    return {
      type: 'update-admitted',
      updateId: admitted.request?.meta?.updateId ?? '',
      ...(await readRequest(admitted.request, source)),
    };
  const accepted = event.workflowExecutionUpdateAcceptedEventAttributes;
  if (accepted == null) return undefined;
  return {
    type: 'update-accepted',
    updateId: accepted.protocolInstanceId ?? '',
    sequencingEventId: idOf(accepted.acceptedRequestSequencingEventId),
    request:
      accepted.acceptedRequest == null
        ? undefined
        : await readRequest(accepted.acceptedRequest, source),
  };
}

type UpdateRequest = NonNullable<
  HistoryEvent['workflowExecutionUpdateAcceptedEventAttributes']
>['acceptedRequest'];

async function readRequest(
  request: UpdateRequest,
  source: HistorySource,
): Promise<{ name: string; argument: unknown }> {
  const input = request?.input;
  return {
    name: input?.name ?? '',
    argument: await ofWorkflow<unknown>(source, input?.args?.payloads),
  };
}

async function readSegment(
  event: HistoryEvent,
  source: HistorySource,
): Promise<Unstamped | undefined> {
  const began = event.workflowExecutionStartedEventAttributes;
  if (began != null) {
    const previous = began.continuedExecutionRunId ?? '';
    return {
      type: 'segment-began',
      workflowType: began.workflowType?.name ?? '',
      firstRunId: began.firstExecutionRunId ?? '',
      previousRunId: previous === '' ? undefined : previous,
      input: await ofWorkflow<unknown>(source, began.input?.payloads),
    };
  }
  const end = segmentEnd(event);
  return end === undefined ? undefined : { type: 'segment-ended', end };
}

function segmentEnd(event: HistoryEvent): SegmentEnd | undefined {
  if (event.workflowExecutionCompletedEventAttributes != null) return { type: 'completed' };
  if (event.workflowExecutionFailedEventAttributes != null) return { type: 'failed' };
  if (event.workflowExecutionCanceledEventAttributes != null) return { type: 'cancelled' };
  if (event.workflowExecutionTimedOutEventAttributes != null) return { type: 'timed-out' };
  const terminated = event.workflowExecutionTerminatedEventAttributes;
  if (terminated != null) return { type: 'terminated', reason: terminated.reason ?? '' };
  const rolledOver = event.workflowExecutionContinuedAsNewEventAttributes;
  if (rolledOver != null)
    return { type: 'rolled-over', nextRunId: rolledOver.newExecutionRunId ?? '' };
  return undefined;
}
