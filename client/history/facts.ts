/** Reads Temporal's history events as plain facts: the only file that knows the shape of history. */
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
import { tsToMs } from '@temporalio/common/lib/time';
import { defined } from '../../workflows/core/json';

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
  | { readonly type: 'child-initiated'; readonly workflowId: string }
  | {
      readonly type: 'child-completed';
      readonly initiatedEventId: number;
      readonly result: unknown;
    }
  | { readonly type: 'child-failed'; readonly initiatedEventId: number; readonly thrown: unknown }
  | { readonly type: 'timer-started' }
  | { readonly type: 'timer-fired'; readonly startedEventId: number }
  | { readonly type: 'segment-ended'; readonly end: SegmentEnd }
);

type WithoutStamp<Fact> = Fact extends unknown ? Omit<Fact, 'eventId' | 'atMs'> : never;
type Unstamped = WithoutStamp<HistoryFact>;
type Payloads = { readonly payloads?: Parameters<typeof decodeFromPayloadsAtIndex>[2] } | null;
type ProtoFailure = Parameters<typeof decodeOptionalFailureToOptionalError>[1];
type Context = NonNullable<Parameters<typeof decodeFromPayloadsAtIndex>[3]>;
type EventId = HistoryEvent['eventId'];

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
  const segment = new SegmentPayloads(source);
  return {
    async read(event) {
      for (const name of attributeNames) {
        const attributes = event[name];
        if (attributes == null) continue;
        const eventId = idOf(event.eventId);
        // The table has a reader for attributes of exactly this name.
        const read = readers[name] as (given: object, from: SegmentPayloads, id: number) => unknown;
        const fact = (await read(attributes, segment, eventId)) as Unstamped;
        return { ...fact, eventId, atMs: tsToMs(event.eventTime) };
      }
      return undefined;
    },
  };
}

function idOf(value: EventId): number {
  return value == null ? 0 : value.toNumber();
}

/** Decodes the payloads of one segment, each in the context in which it was encoded. */
class SegmentPayloads {
  private readonly activityIds = new Map<number, string>();
  private readonly childIds = new Map<number, string>();

  constructor(private readonly source: HistorySource) {}

  scheduled(eventId: number, activityId: string): void {
    this.activityIds.set(eventId, activityId);
  }

  initiated(eventId: number, workflowId: string): void {
    this.childIds.set(eventId, workflowId);
  }

  own(payloads: Payloads | undefined): Promise<unknown> {
    return this.value(payloads, this.workflow(this.source.workflowId));
  }

  value(payloads: Payloads | undefined, context: Context): Promise<unknown> {
    return decodeFromPayloadsAtIndex(this.source.converter, 0, payloads?.payloads, context);
  }

  failure(failure: ProtoFailure, context: Context): Promise<Error | undefined> {
    return decodeOptionalFailureToOptionalError(this.source.converter, failure, context);
  }

  activity(scheduledEventId: number): Context {
    const { namespace, workflowId } = this.source;
    const activityId = this.activityIds.get(scheduledEventId);
    return { type: 'activity', namespace, workflowId, isLocal: false, ...defined({ activityId }) };
  }

  child(initiatedEventId: number): Context {
    return this.workflow(this.childIds.get(initiatedEventId) ?? '');
  }

  private workflow(workflowId: string): Context {
    return { type: 'workflow', namespace: this.source.namespace, workflowId };
  }
}

type AttributeName = Extract<keyof HistoryEvent, `${string}EventAttributes`>;
type Reader<Name extends AttributeName> = (
  attributes: NonNullable<HistoryEvent[Name]>,
  segment: SegmentPayloads,
  eventId: number,
) => Unstamped | Promise<Unstamped>;

async function failedActivity(
  { scheduledEventId, failure }: { scheduledEventId?: EventId; failure?: ProtoFailure },
  segment: SegmentPayloads,
): Promise<Unstamped> {
  const id = idOf(scheduledEventId);
  const thrown = await segment.failure(failure, segment.activity(id));
  return { type: 'activity-failed', scheduledEventId: id, thrown };
}

/** As the workflow's SDK wraps the cause. */
function failedChild(initiatedEventId: EventId, cause: Error | undefined): Unstamped {
  const execution = { workflowId: '', runId: '' };
  const state = RetryState.NON_RETRYABLE_FAILURE;
  const thrown = new ChildWorkflowFailure(undefined, execution, '', state, cause);
  return { type: 'child-failed', initiatedEventId: idOf(initiatedEventId), thrown };
}

type UpdateRequest = NonNullable<
  HistoryEvent['workflowExecutionUpdateAcceptedEventAttributes']
>['acceptedRequest'];

async function updateRequest(
  request: UpdateRequest,
  segment: SegmentPayloads,
): Promise<{ readonly name: string; readonly argument: unknown }> {
  return {
    name: request?.input?.name ?? '',
    argument: await segment.own(request?.input?.args),
  };
}

const ended = (end: SegmentEnd): Unstamped => ({ type: 'segment-ended', end });

/** The fact of each event, by the name of its attributes. */
const readers = {
  workflowTaskStartedEventAttributes: ({ suggestContinueAsNew }) => ({
    type: 'task-started',
    rollOverSuggested: suggestContinueAsNew === true,
  }),
  workflowTaskCompletedEventAttributes: ({ startedEventId }) => ({
    type: 'task-completed',
    startedEventId: idOf(startedEventId),
  }),
  activityTaskScheduledEventAttributes: ({ activityId }, segment, eventId) => {
    segment.scheduled(eventId, activityId ?? '');
    return { type: 'activity-scheduled', activityId: activityId ?? '' };
  },
  activityTaskCompletedEventAttributes: async ({ scheduledEventId, result }, segment) => {
    const id = idOf(scheduledEventId);
    const value = await segment.value(result, segment.activity(id));
    return { type: 'activity-completed', scheduledEventId: id, result: value };
  },
  activityTaskFailedEventAttributes: failedActivity,
  activityTaskTimedOutEventAttributes: failedActivity,
  activityTaskCanceledEventAttributes: async ({ scheduledEventId, details }, segment) => {
    const id = idOf(scheduledEventId);
    const detail = await segment.value(details, segment.activity(id));
    const thrown = new CancelledFailure('Activity cancelled', detail === undefined ? [] : [detail]);
    return { type: 'activity-failed', scheduledEventId: id, thrown };
  },
  timerStartedEventAttributes: () => ({ type: 'timer-started' }),
  timerFiredEventAttributes: ({ startedEventId }) => ({
    type: 'timer-fired',
    startedEventId: idOf(startedEventId),
  }),
  startChildWorkflowExecutionInitiatedEventAttributes: ({ workflowId }, segment, eventId) => {
    segment.initiated(eventId, workflowId ?? '');
    return { type: 'child-initiated', workflowId: workflowId ?? '' };
  },
  startChildWorkflowExecutionFailedEventAttributes: ({ initiatedEventId }) => ({
    type: 'child-failed',
    initiatedEventId: idOf(initiatedEventId),
    thrown: new Error('a workflow with its id runs already'),
  }),
  childWorkflowExecutionCompletedEventAttributes: async ({ initiatedEventId, result }, segment) => {
    const id = idOf(initiatedEventId);
    const value = await segment.value(result, segment.child(id));
    return { type: 'child-completed', initiatedEventId: id, result: value };
  },
  childWorkflowExecutionFailedEventAttributes: async ({ initiatedEventId, failure }, segment) =>
    failedChild(
      initiatedEventId,
      await segment.failure(failure, segment.child(idOf(initiatedEventId))),
    ),
  childWorkflowExecutionCanceledEventAttributes: ({ initiatedEventId }) =>
    failedChild(initiatedEventId, new CancelledFailure('cancelled')),
  childWorkflowExecutionTerminatedEventAttributes: ({ initiatedEventId }) =>
    failedChild(initiatedEventId, new TerminatedFailure('terminated')),
  childWorkflowExecutionTimedOutEventAttributes: ({ initiatedEventId }) =>
    failedChild(
      initiatedEventId,
      new TimeoutFailure('timed out', undefined, TimeoutType.START_TO_CLOSE),
    ),
  workflowExecutionSignaledEventAttributes: async ({ signalName, input }, segment) => ({
    type: 'signalled',
    name: signalName ?? '',
    // As the workflow reads it: undefined if it cannot be read.
    argument: await segment.own(input).catch(() => undefined),
  }),
  workflowExecutionCancelRequestedEventAttributes: () => ({ type: 'cancel-requested' }),
  workflowExecutionUpdateAdmittedEventAttributes: async ({ request }, segment) => ({
    type: 'update-admitted',
    updateId: request?.meta?.updateId ?? '',
    ...(await updateRequest(request, segment)),
  }),
  workflowExecutionUpdateAcceptedEventAttributes: async (accepted, segment) => ({
    type: 'update-accepted',
    updateId: accepted.protocolInstanceId ?? '',
    sequencingEventId: idOf(accepted.acceptedRequestSequencingEventId),
    request:
      accepted.acceptedRequest == null
        ? undefined
        : await updateRequest(accepted.acceptedRequest, segment),
  }),
  workflowExecutionStartedEventAttributes: async (began, segment) => ({
    type: 'segment-began',
    workflowType: began.workflowType?.name ?? '',
    firstRunId: began.firstExecutionRunId ?? '',
    previousRunId: began.continuedExecutionRunId || undefined,
    input: await segment.own(began.input),
  }),
  workflowExecutionCompletedEventAttributes: () => ended({ type: 'completed' }),
  workflowExecutionFailedEventAttributes: () => ended({ type: 'failed' }),
  workflowExecutionCanceledEventAttributes: () => ended({ type: 'cancelled' }),
  workflowExecutionTimedOutEventAttributes: () => ended({ type: 'timed-out' }),
  workflowExecutionTerminatedEventAttributes: ({ reason }) =>
    ended({ type: 'terminated', reason: reason ?? '' }),
  workflowExecutionContinuedAsNewEventAttributes: ({ newExecutionRunId }) =>
    ended({ type: 'rolled-over', nextRunId: newExecutionRunId ?? '' }),
} satisfies { readonly [Name in AttributeName]?: Reader<Name> };
const attributeNames = Object.keys(readers) as readonly (keyof typeof readers)[];
