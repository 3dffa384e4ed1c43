/** Reads Temporal's history events as plain facts: the only file that knows the shape of history. */
import type { LoadedWorkflowClientOptions } from '@temporalio/client';
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
import { readingHistory, unreadableHistory } from '../temporal-failure';

/** One event of a Temporal history, as the SDK decodes it. */
export type HistoryEvent = NonNullable<History['events']>[number];

/** How a segment ended, where the workflow itself did not say it with a `RunOutcome`. */
export type SegmentEnd =
  | { readonly type: 'completed' | 'failed' | 'cancelled' | 'timed-out' }
  | { readonly type: 'terminated'; readonly reason: string }
  | { readonly type: 'rolled-over'; readonly nextRunId: string };

type Payloads = { readonly payloads?: Parameters<typeof decodeFromPayloadsAtIndex>[2] } | null;
type ProtoFailure = Parameters<typeof decodeOptionalFailureToOptionalError>[1];
type Context = NonNullable<Parameters<typeof decodeFromPayloadsAtIndex>[3]>;
type EventId = HistoryEvent['eventId'];
type UpdateRequest = NonNullable<
  HistoryEvent['workflowExecutionUpdateAcceptedEventAttributes']
>['acceptedRequest'];

function idOf(value: EventId): number {
  return value == null ? 0 : value.toNumber();
}

/**
 * Reads the events of one segment.
 *
 * Contract: give it the events in order, since an event is read by what was scheduled, started or admitted before.
 * Errors: `converter-mismatch` for a payload that the client's data converter cannot read.
 */
export class HistoryReader {
  /** Activity ids and child workflow ids, by the event that scheduled them. */
  readonly ids = new Map<number, string>();
  /** Update requests that the server wrote before they were accepted, by update id. */
  readonly admitted = new Map<string, UpdateRequest>();
  /** Input of the newest workflow task. */
  task = { startedAtMs: 0, rollOverSuggested: false };

  constructor(
    private readonly options: Pick<
      LoadedWorkflowClientOptions,
      'loadedDataConverter' | 'namespace'
    >,
    private readonly workflowId: string,
  ) {}

  /** Undefined for an event that a fold does not need. */
  async read(event: HistoryEvent): Promise<HistoryFact | undefined> {
    for (const name of attributeNames) {
      const attributes = event[name];
      if (attributes == null) continue;
      // The table has a reader for attributes of exactly this name.
      const read = readers[name] as (
        given: object,
        from: HistoryReader,
        of: HistoryEvent,
      ) => Unstamped | Promise<Unstamped>;
      const reading = new Promise<Unstamped>((resolve) => {
        resolve(read(attributes, this, event));
      });
      const fact = await reading.catch((thrown: unknown) => {
        throw unreadableHistory(this.workflowId, thrown);
      });
      return (
        fact &&
        readingHistory(this.workflowId, () => ({
          ...fact,
          eventId: idOf(event.eventId),
          atMs: tsToMs(event.eventTime),
        }))
      );
    }
    return undefined;
  }

  idFrom(eventId: EventId): string {
    return this.ids.get(idOf(eventId)) ?? '';
  }

  own(payloads: Payloads | undefined): Promise<unknown> {
    return this.value(payloads, this.workflow(this.workflowId));
  }

  value(payloads: Payloads | undefined, context: Context): Promise<unknown> {
    return decodeFromPayloadsAtIndex(
      this.options.loadedDataConverter,
      0,
      payloads?.payloads,
      context,
    );
  }

  failure(failure: ProtoFailure, context: Context): Promise<Error | undefined> {
    return decodeOptionalFailureToOptionalError(this.options.loadedDataConverter, failure, context);
  }

  activity(activityId: string, isLocal = false): Context {
    const { options, workflowId } = this;
    const { namespace } = options;
    return { type: 'activity', namespace, workflowId, isLocal, activityId };
  }

  workflow(workflowId: string): Context {
    return { type: 'workflow', namespace: this.options.namespace, workflowId };
  }
}

type AttributeName = Extract<keyof HistoryEvent, `${string}EventAttributes`>;
type Reader<Name extends AttributeName> = (
  attributes: NonNullable<HistoryEvent[Name]>,
  segment: HistoryReader,
  event: HistoryEvent,
) => unknown;

function fact<Type extends string, Fields extends object>(
  type: Type,
  fields: Fields,
): { readonly type: Type } & Readonly<Fields> {
  return { type, ...fields };
}

const ended = (end: SegmentEnd) => fact('segment-ended', { end });

async function failedActivity(
  { scheduledEventId, failure }: { scheduledEventId?: EventId; failure?: ProtoFailure },
  segment: HistoryReader,
) {
  const activityId = segment.idFrom(scheduledEventId);
  const thrown: unknown = await segment.failure(failure, segment.activity(activityId));
  return fact('activity-failed', { activityId, thrown });
}

/** What the SDK names the marker that records the end of a local activity. */
const localActivityMarker = 'core_local_activity';

/** What such a marker says of its activity, in plain JSON. */
interface LocalActivityData {
  /** Its number among the activities of the segment, local or not, from 1, in the order in which the workflow started them. */
  readonly seq: number;
  /** By the workflow's clock. */
  readonly complete_time: { readonly seconds: number; readonly nanos: number } | null;
}

async function localActivity(
  details: Readonly<Record<string, Payloads>>,
  failure: ProtoFailure,
  segment: HistoryReader,
) {
  const [data] = details['data']?.payloads ?? [];
  // Written by the SDK's core, without the client's codec.
  const text = Buffer.from(data?.data ?? []).toString('utf8');
  const { seq, complete_time: ended } = JSON.parse(text) as LocalActivityData;
  const endedAtMs = ended === null ? 0 : ended.seconds * 1_000 + Math.floor(ended.nanos / 1e6);
  const context = segment.activity(String(seq), true);
  if (failure == null) {
    const result = await segment.value(details['result'], context);
    return fact('local-activity-completed', { seq, endedAtMs, result });
  }
  const thrown: unknown = await segment.failure(failure, context);
  return fact('local-activity-failed', { seq, endedAtMs, thrown });
}

/** As the workflow's SDK wraps the cause. */
function failedChild(workflowId: string, cause: Error | undefined) {
  const execution = { workflowId: '', runId: '' };
  const state = RetryState.NON_RETRYABLE_FAILURE;
  const thrown: unknown = new ChildWorkflowFailure(undefined, execution, '', state, cause);
  return fact('child-failed', { workflowId, thrown });
}

/** The fact of each event, by the name of its attributes. */
const readers = {
  workflowTaskStartedEventAttributes: ({ suggestContinueAsNew }, segment, { eventTime }) => {
    const rollOverSuggested = suggestContinueAsNew === true;
    segment.task = { startedAtMs: tsToMs(eventTime), rollOverSuggested };
  },
  workflowTaskCompletedEventAttributes: (_completed, { task }) => fact('task-completed', task),
  activityTaskScheduledEventAttributes: ({ activityId }, { ids }, { eventId }) => {
    ids.set(idOf(eventId), activityId ?? '');
  },
  activityTaskCompletedEventAttributes: async ({ scheduledEventId, result }, segment) => {
    const activityId = segment.idFrom(scheduledEventId);
    const value = await segment.value(result, segment.activity(activityId));
    return fact('activity-completed', { activityId, result: value });
  },
  activityTaskFailedEventAttributes: failedActivity,
  activityTaskTimedOutEventAttributes: failedActivity,
  activityTaskCanceledEventAttributes: async ({ scheduledEventId, details }, segment) => {
    const activityId = segment.idFrom(scheduledEventId);
    const detail = await segment.value(details, segment.activity(activityId));
    const given = detail === undefined ? [] : [detail];
    const thrown: unknown = new CancelledFailure('Activity cancelled', given);
    return fact('activity-failed', { activityId, thrown });
  },
  markerRecordedEventAttributes: ({ markerName, details, failure }, segment) =>
    markerName === localActivityMarker ? localActivity(details ?? {}, failure, segment) : undefined,
  timerStartedEventAttributes: () => fact('timer-started', {}),
  timerFiredEventAttributes: ({ startedEventId }) =>
    fact('timer-fired', { startedEventId: idOf(startedEventId) }),
  startChildWorkflowExecutionInitiatedEventAttributes: ({ workflowId }, { ids }, { eventId }) => {
    ids.set(idOf(eventId), workflowId ?? '');
  },
  startChildWorkflowExecutionFailedEventAttributes: ({ initiatedEventId }, segment) => {
    const thrown: unknown = new Error('a workflow with its id runs already');
    return fact('child-failed', { workflowId: segment.idFrom(initiatedEventId), thrown });
  },
  childWorkflowExecutionCompletedEventAttributes: async ({ initiatedEventId, result }, segment) => {
    const workflowId = segment.idFrom(initiatedEventId);
    const value = await segment.value(result, segment.workflow(workflowId));
    return fact('child-completed', { workflowId, result: value });
  },
  childWorkflowExecutionFailedEventAttributes: async ({ initiatedEventId, failure }, segment) => {
    const workflowId = segment.idFrom(initiatedEventId);
    return failedChild(workflowId, await segment.failure(failure, segment.workflow(workflowId)));
  },
  childWorkflowExecutionCanceledEventAttributes: ({ initiatedEventId }, segment) =>
    failedChild(segment.idFrom(initiatedEventId), new CancelledFailure('cancelled')),
  childWorkflowExecutionTerminatedEventAttributes: ({ initiatedEventId }, segment) =>
    failedChild(segment.idFrom(initiatedEventId), new TerminatedFailure('terminated')),
  childWorkflowExecutionTimedOutEventAttributes: ({ initiatedEventId }, segment) => {
    const cause = new TimeoutFailure('timed out', undefined, TimeoutType.START_TO_CLOSE);
    return failedChild(segment.idFrom(initiatedEventId), cause);
  },
  workflowExecutionSignaledEventAttributes: async ({ signalName, input }, segment, event) => {
    // As the workflow reads it: undefined if it cannot be read.
    const argument = await segment.own(input).catch(() => undefined);
    return fact('signalled', { name: signalName ?? '', argument, place: idOf(event.eventId) });
  },
  workflowExecutionCancelRequestedEventAttributes: () => fact('cancel-requested', {}),
  workflowExecutionUpdateAdmittedEventAttributes: ({ request }, { admitted }) => {
    admitted.set(request?.meta?.updateId ?? '', request);
  },
  workflowExecutionUpdateAcceptedEventAttributes: async (accepted, segment) => {
    const { acceptedRequest, protocolInstanceId, acceptedRequestSequencingEventId } = accepted;
    const { input } = acceptedRequest ?? segment.admitted.get(protocolInstanceId ?? '') ?? {};
    return fact('update-accepted', {
      name: input?.name ?? '',
      argument: await segment.own(input?.args),
      // An update is delivered after the event that it was sequenced by.
      place: idOf(acceptedRequestSequencingEventId) + 0.5,
    });
  },
  workflowExecutionStartedEventAttributes: async (began, segment) =>
    fact('segment-began', {
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

type Read = Awaited<ReturnType<(typeof readers)[keyof typeof readers]>>;
/** Undefined for an event that only helps to read later ones. */
type Unstamped = Exclude<Read, void> | undefined;

/** What one history event says that a fold of the run needs. */
export type HistoryFact = { readonly eventId: number; readonly atMs: number } & Exclude<
  Unstamped,
  undefined
>;
