/** Rebuilds a run from its history: the core, fed with the same events in the same order as in the workflow. Pure. */
import { CancelledFailure } from '@temporalio/common';
import type { AgentRunInput } from '../../workflows/contract';
import { signalNames, updateNames } from '../../workflows/contract';
import { restoreRunState } from '../../workflows/core/run/restore';
import type {
  ActivityCommand,
  RunCommand,
  RunEvent,
  TimelineEntry,
  UnstampedEvent,
} from '../../workflows/core/run/protocol';
import type { RunState } from '../../workflows/core/run/state';
import type { Transition } from '../../workflows/core/run/transition';
import { initialTransition, transition } from '../../workflows/core/run/transition';
import { endOfFailure, endOfResult } from '../../workflows/child-outcome';
import {
  activityIdOf,
  completedEvent,
  endsLocalCall,
  failedEvent,
  isActivityCommand,
  preparedWork,
  resultIdOf,
} from '../../workflows/activity-events';
import { eventOfSignal, eventOfUpdate } from '../../workflows/people-events';
import { readingHistory } from '../temporal-failure';
import type { HistoryFact, SegmentEnd } from './facts';

type Fact<Type extends HistoryFact['type']> = Extract<HistoryFact, { type: Type }>;

/** An entry of a run's timeline under its id, which stays the same whenever and wherever history is read. */
export type RunEntry = TimelineEntry & {
  /** `<segment>.<event>.<index>`: the event of history that completed the workflow task. */
  readonly id: string;
};

/** The result of folding a segment's history as far as it is known. */
export interface FoldedSegment {
  /** Undefined only before the first fact. */
  readonly state: RunState | undefined;
  /** False until the first workflow task has completed: `state` is then what the segment will begin with. */
  readonly begun: boolean;
  /** Absent while the segment runs. */
  readonly end: SegmentEnd | undefined;
  /** When the last fact of any kind happened. */
  readonly atMs: number;
}

/** A completed workflow task: its input, and the commands that it produced according to history. */
interface Activation {
  readonly task: Fact<'task-completed'>;
  readonly inputs: readonly HistoryFact[];
  readonly outputs: HistoryFact[];
}

/**
 * Folds one segment of a run, fact by fact, in the order of history.
 *
 * Contract: the order inside a workflow task is the SDK's: signals and updates, then cancellation, timers and activities as history
 * has them, then subagents. The state equals the one that the workflow carried, provided that the client's release has the worker's core.
 * Source: activation order of sdk-core in SDK 1.24 (`variant_ordinal`) and the microtask depth of `execute-command.ts`;
 * proved on a real server in `test/client/history-fold.workflow.test.ts`.
 * Errors: `converter-mismatch` for a history that no run of this release writes.
 */
export class SegmentFold {
  private state: RunState | undefined;
  private end: SegmentEnd | undefined;
  private atMs = 0;
  private began: Fact<'segment-began'> | undefined;
  private waiting: HistoryFact[] = [];
  private readonly timerIds = new Map<number, string>();
  private readonly subagents = new Map<string, SubagentCommand>();
  private readonly commands = new Map<string, ActivityCommand>();
  /** Calls whose Temporal work runs, by the activity that will bring its result in. */
  private readonly reading = new Map<string, ActivityCommand>();
  /** Calls that run as local activities, by the number that the SDK gives to each activity. */
  private readonly localCalls = new Map<number, ActivityCommand>();
  private activitiesStarted = 0;
  private open: Activation | undefined;

  /** `watch` sees each event that the core takes, with the state and the commands after it. */
  constructor(
    private readonly workflowId: string,
    private readonly watch?: (event: RunEvent, [state, commands]: Transition) => void,
  ) {}

  /** The segment as far as its facts were taken. */
  folded(): FoldedSegment {
    const { state, began, end, atMs } = this;
    const firstOf = ({ atMs: beganAtMs }: Fact<'segment-began'>): RunState =>
      readingHistory(this.workflowId, () => this.begin(beganAtMs)[1][0]);
    const first = state ?? (began === undefined ? undefined : firstOf(began));
    return { state: first, begun: state !== undefined, end, atMs };
  }

  /** Takes the next event; returns what the run published because of the events before. */
  take(fact: HistoryFact): readonly RunEntry[] {
    this.atMs = fact.atMs;
    switch (fact.type) {
      case 'segment-began':
        this.began = fact;
        return [];
      case 'timer-started':
      case 'update-accepted':
      case 'local-activity-completed':
      case 'local-activity-failed':
        this.open?.outputs.push(fact);
        return [];
      case 'task-completed': {
        const entries = this.settle();
        this.open = { task: fact, inputs: this.waiting, outputs: [] };
        this.waiting = [];
        return entries;
      }
      case 'segment-ended':
        this.end = fact.end;
        return this.settle();
      case 'signalled':
      case 'cancel-requested':
      case 'activity-completed':
      case 'activity-failed':
      case 'child-completed':
      case 'child-failed':
      case 'timer-fired':
        this.waiting.push(fact);
        return this.settle();
    }
  }

  /** Says that no more facts are there now: the last completed workflow task is digested. */
  settle(): readonly RunEntry[] {
    const activation = this.open;
    if (activation === undefined) return [];
    this.open = undefined;
    return readingHistory(this.workflowId, () => this.digest(activation));
  }

  private digest(activation: Activation): readonly RunEntry[] {
    const { startedAtMs, rollOverSuggested, eventId } = activation.task;
    const isFirst = this.state === undefined;
    const entries: RunEntry[] = [];
    const issued: RunCommand[] = [];
    const take = (event: RunEvent, after: Transition): void => {
      const [next, commands] = after;
      this.state = next;
      this.watch?.(event, after);
      for (const command of commands) {
        if (command.type === 'publish') {
          const id = `${next.counters.segments}.${eventId}.${entries.length}`;
          entries.push({ ...command.entry, id });
        } else issued.push(command);
        if (command.type === 'run-subagent') this.subagents.set(command.runId, command);
        if (isActivityCommand(command)) this.noteStart(command);
      }
    };
    let atMs = startedAtMs;
    const feed = (event: UnstampedEvent): void => {
      const stamped: RunEvent = { ...event, atMs, ...(rollOverSuggested && { rollOverSuggested }) };
      if (this.state !== undefined) take(stamped, transition(this.state, stamped));
    };
    if (isFirst) take(...this.begin(atMs));
    for (const event of this.inOrder(activation, isFirst)) feed(event);
    for (const event of this.neverSent(issued)) feed(event);
    // Local activities end within the task that they delay, and move the workflow's clock.
    for (const fact of activation.outputs) {
      if (fact.type !== 'local-activity-completed' && fact.type !== 'local-activity-failed')
        continue;
      atMs = Math.max(atMs, fact.endedAtMs);
      const event = this.ofLocalCall(fact);
      if (event !== undefined) feed(event);
    }
    this.nameTimers(issued, activation.outputs);
    return entries;
  }

  private begin(atMs: number): [RunEvent, Transition] {
    const input = (this.began?.input ?? {}) as AgentRunInput;
    if (input.state !== undefined) {
      const event = { type: 'segment-started', atMs } as const;
      return [event, transition(restoreRunState(input.state), event)];
    }
    const runKey = `${this.workflowId}/${this.began?.firstRunId ?? ''}`;
    const event = { type: 'run-started', atMs, runKey, request: input.request } as const;
    return [event, initialTransition(event)];
  }

  /** The events of a workflow task in the order in which the workflow's queue got them. */
  private inOrder(activation: Activation, isFirst: boolean): readonly UnstampedEvent[] {
    const { inputs } = activation;
    return [
      ...this.peoplesEvents(activation, isFirst),
      ...inputs.flatMap(
        (fact) => this.ofCancellationOrTimer(fact) ?? this.ofActivity(fact, this.commands) ?? [],
      ),
      // Subagents resolve after activities, and Temporal work after them: their promises are deeper.
      ...inputs.flatMap((fact) => this.ofSubagent(fact) ?? []),
      ...inputs.flatMap((fact) => this.ofActivity(fact, this.reading) ?? []),
    ];
  }

  private ofCancellationOrTimer(fact: HistoryFact): UnstampedEvent | undefined {
    if (fact.type === 'cancel-requested') return { type: fact.type, reason: 'Workflow cancelled' };
    if (fact.type !== 'timer-fired') return undefined;
    const timerId = this.timerIds.get(fact.startedEventId);
    return timerId === undefined ? undefined : { type: fact.type, timerId };
  }

  private ofActivity(
    fact: HistoryFact,
    commands: ReadonlyMap<string, ActivityCommand>,
  ): UnstampedEvent | undefined {
    if (fact.type !== 'activity-completed' && fact.type !== 'activity-failed') return undefined;
    const command = commands.get(fact.activityId);
    if (command === undefined) return undefined;
    if (fact.type === 'activity-failed') return failedEvent(command, fact.thrown);
    const work = preparedWork(command, fact.result);
    if (work === undefined) return completedEvent(command, fact.result);
    // The call goes on with the work, and ends with the activity that brings its result in.
    this.reading.set(resultIdOf(fact.activityId), command);
    this.activitiesStarted += work.type === 'activity' ? 2 : 1;
    return undefined;
  }

  private noteStart(command: ActivityCommand): void {
    this.commands.set(activityIdOf(command), command);
    this.activitiesStarted += 1;
    if (isLocalCall(command)) this.localCalls.set(this.activitiesStarted, command);
  }

  private ofLocalCall(
    fact: Fact<'local-activity-completed' | 'local-activity-failed'>,
  ): UnstampedEvent | undefined {
    const command = this.localCalls.get(fact.seq);
    // Only calls have results that the core takes (`recordObservations` has none).
    if (command === undefined) return undefined;
    this.localCalls.delete(fact.seq);
    if (fact.type === 'local-activity-completed') return completedEvent(command, fact.result);
    if (endsLocalCall(fact.thrown)) return failedEvent(command, fact.thrown);
    // It runs again, as an ordinary activity.
    this.activitiesStarted += 1;
    return undefined;
  }

  private ofSubagent(fact: HistoryFact): UnstampedEvent | undefined {
    if (fact.type !== 'child-completed' && fact.type !== 'child-failed') return undefined;
    const command = this.subagents.get(fact.workflowId);
    if (command === undefined) return undefined;
    const end =
      fact.type === 'child-completed' ? endOfResult(fact.result) : endOfFailure(fact.thrown);
    return { type: 'subagent-ended', toolCallId: command.toolCallId, end };
  }

  private peoplesEvents(
    { inputs, outputs }: Activation,
    isFirst: boolean,
  ): readonly UnstampedEvent[] {
    const sent = [...inputs, ...outputs].flatMap((fact) => {
      if (fact.type !== 'signalled' && fact.type !== 'update-accepted') return [];
      const { type, name, argument, place } = fact;
      const read = type === 'signalled' ? eventOfSignal : eventOfUpdate;
      const event = read(name, argument);
      return event === undefined ? [] : [{ place, name, event }];
    });
    const order = isFirst ? byHandler : byPlace;
    return sent.sort(order).map(({ event }) => event);
  }

  /** Activities that were asked for and cancelled in one workflow task: the SDK answers them itself, history shows nothing, except of local ones. */
  private neverSent(issued: readonly RunCommand[]): readonly UnstampedEvent[] {
    const cancelled = issued.flatMap((command) =>
      command.type === 'cancel-activities' ? command.callIds : [],
    );
    return cancelled.flatMap((callId): readonly UnstampedEvent[] => {
      const command = issued.find((candidate): candidate is ActivityCommand | SubagentCommand =>
        candidate.type === 'run-subagent'
          ? candidate.callId === callId
          : isActivityCommand(candidate) && activityIdOf(candidate) === callId,
      );
      if (command === undefined || isLocalCall(command)) return [];
      if (command.type !== 'run-subagent') return [failedEvent(command, cancelledBeforeSent)];
      const end = endOfFailure(cancelledBeforeSent);
      return [{ type: 'subagent-ended', toolCallId: command.toolCallId, end }];
    });
  }

  private nameTimers(issued: readonly RunCommand[], outputs: readonly HistoryFact[]): void {
    const cancelled = new Set<string>();
    for (const command of issued)
      if (command.type === 'cancel-timer') cancelled.add(command.timerId);
    const timerIds = issued.flatMap((command) =>
      command.type === 'start-timer' && !cancelled.has(command.timerId) ? [command.timerId] : [],
    );
    const startedEvents = outputs.filter((fact) => fact.type === 'timer-started');
    startedEvents.forEach(({ eventId }, index) => {
      const timerId = timerIds[index];
      if (timerId !== undefined) this.timerIds.set(eventId, timerId);
    });
  }
}

function isLocalCall(command: RunCommand): boolean {
  return command.type === 'run-tool' && command.isLocal === true;
}

type SubagentCommand = Extract<RunCommand, { type: 'run-subagent' }>;

/** What was there before the workflow began waits for its handler; handlers are registered in this order. */
const handlerOrder: readonly string[] = [
  ...Object.values(signalNames),
  ...Object.values(updateNames),
];

function byHandler(left: { name: string }, right: { name: string }): number {
  return handlerOrder.indexOf(left.name) - handlerOrder.indexOf(right.name);
}

function byPlace(left: { place: number }, right: { place: number }): number {
  return left.place - right.place;
}

/** As the SDK puts it for an activity that was cancelled before the server knew of it. */
const cancelledBeforeSent = new CancelledFailure('Activity cancelled');
