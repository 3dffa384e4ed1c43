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
  failedEvent,
  isActivityCommand,
} from '../../workflows/activity-events';
import { eventOfSignal, eventOfUpdate } from '../../workflows/people-events';
import type { HistoryFact, SegmentEnd } from './facts';

type Fact<Type extends HistoryFact['type']> = Extract<HistoryFact, { type: Type }>;

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
  readonly atMs: number;
  readonly rollOverSuggested: boolean;
  readonly inputs: readonly HistoryFact[];
  readonly outputs: HistoryFact[];
}

/**
 * Folds one segment of a run, fact by fact, in the order of history.
 *
 * Contract: the order inside a workflow task is the SDK's: signals and updates, then cancellation and timers, then
 * activities. The state equals the one that the workflow carried, provided that the client's release has the worker's core.
 * Source: activation order of sdk-core in SDK 1.24 (`variant_ordinal`) and the microtask depth of `execute-command.ts`;
 * proved on a real server in `test/client/history-fold.workflow.test.ts`.
 */
export class SegmentFold {
  private state: RunState | undefined;
  private end: SegmentEnd | undefined;
  private atMs = 0;
  private began: Fact<'segment-began'> | undefined;
  private waiting: HistoryFact[] = [];
  private readonly started = new Map<number, Fact<'task-started'>>();
  private readonly admitted = new Map<string, { name: string; argument: unknown }>();
  private readonly activityIds = new Map<number, string>();
  private readonly timerIds = new Map<number, string>();
  private readonly childIds = new Map<number, string>();
  private readonly subagents = new Map<string, SubagentCommand>();
  private readonly commands = new Map<string, ActivityCommand>();
  private open: Activation | undefined;

  /** `watch` sees each event that the core takes, with the state and the commands after it. */
  constructor(
    private readonly workflowId: string,
    private readonly watch?: (event: RunEvent, [state, commands]: Transition) => void,
  ) {}

  /** The segment as far as its facts were taken. */
  folded(): FoldedSegment {
    const { state, began, end, atMs } = this;
    const first = state ?? (began === undefined ? undefined : this.begin(began.atMs)[1][0]);
    return { state: first, begun: state !== undefined, end, atMs };
  }

  /** Takes the next event; returns what the run published because of the events before. */
  take(fact: HistoryFact): readonly TimelineEntry[] {
    this.atMs = fact.atMs;
    switch (fact.type) {
      case 'segment-began':
        this.began = fact;
        return [];
      case 'task-started':
        this.started.set(fact.eventId, fact);
        return this.settle();
      case 'task-completed':
        return this.openActivation(fact);
      case 'activity-scheduled':
        this.activityIds.set(fact.eventId, fact.activityId);
        return [];
      case 'child-initiated':
        this.childIds.set(fact.eventId, fact.workflowId);
        return [];
      case 'timer-started':
      case 'update-accepted':
        this.open?.outputs.push(fact);
        return [];
      case 'update-admitted':
        this.admitted.set(fact.updateId, fact);
        return [];
      case 'segment-ended': {
        const entries = this.settle();
        this.end = fact.end;
        return entries;
      }
      case 'signalled':
      case 'cancel-requested':
      case 'activity-completed':
      case 'activity-failed':
      case 'child-completed':
      case 'child-failed':
      case 'timer-fired': {
        const entries = this.settle();
        this.waiting.push(fact);
        return entries;
      }
    }
  }

  /** Says that no more facts are there now: the last completed workflow task is digested. */
  settle(): readonly TimelineEntry[] {
    const activation = this.open;
    if (activation === undefined) return [];
    this.open = undefined;
    return this.digest(activation);
  }

  private openActivation(fact: Fact<'task-completed'>): readonly TimelineEntry[] {
    const entries = this.settle();
    const started = this.started.get(fact.startedEventId);
    this.started.clear();
    this.open = {
      atMs: started?.atMs ?? fact.atMs,
      rollOverSuggested: started?.rollOverSuggested ?? false,
      inputs: this.waiting,
      outputs: [],
    };
    this.waiting = [];
    return entries;
  }

  private digest(activation: Activation): readonly TimelineEntry[] {
    const { atMs } = activation;
    const isFirst = this.state === undefined;
    const entries: TimelineEntry[] = [];
    const issued: RunCommand[] = [];
    const take = (event: RunEvent, after: Transition): void => {
      const [next, commands] = after;
      this.state = next;
      this.watch?.(event, after);
      for (const command of commands) {
        if (command.type === 'publish') entries.push(command.entry);
        else issued.push(command);
        if (command.type === 'run-subagent') this.subagents.set(command.runId, command);
        if (isActivityCommand(command)) this.commands.set(activityIdOf(command), command);
      }
    };
    const stamp = (event: UnstampedEvent): RunEvent => ({
      ...event,
      atMs,
      ...(activation.rollOverSuggested ? { rollOverSuggested: true } : {}),
    });
    const feed = (event: UnstampedEvent): void => {
      const stamped = stamp(event);
      if (this.state !== undefined) take(stamped, transition(this.state, stamped));
    };
    if (isFirst) take(...this.begin(atMs));
    for (const event of this.inOrder(activation, isFirst)) feed(event);
    for (const event of this.neverSent(issued)) feed(event);
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
  private *inOrder(
    { inputs, outputs }: Activation,
    isFirst: boolean,
  ): Generator<UnstampedEvent, void> {
    yield* this.peoplesEvents(inputs, outputs, isFirst);
    for (const fact of inputs) {
      if (fact.type === 'cancel-requested')
        yield { type: 'cancel-requested', reason: 'Workflow cancelled' };
      const timerId =
        fact.type === 'timer-fired' ? this.timerIds.get(fact.startedEventId) : undefined;
      if (timerId !== undefined) yield { type: 'timer-fired', timerId };
    }
    for (const fact of inputs) {
      if (fact.type !== 'activity-completed' && fact.type !== 'activity-failed') continue;
      const callId = this.activityIds.get(fact.scheduledEventId);
      const command = callId === undefined ? undefined : this.commands.get(callId);
      if (command === undefined) continue;
      yield fact.type === 'activity-completed'
        ? completedEvent(command, fact.result)
        : failedEvent(command, fact.thrown);
    }
    yield* this.subagentsEvents(inputs);
  }

  /** Subagents resolve after activities: their promises are deeper. */
  private *subagentsEvents(inputs: readonly HistoryFact[]): Generator<UnstampedEvent, void> {
    for (const fact of inputs) {
      if (fact.type !== 'child-completed' && fact.type !== 'child-failed') continue;
      const command = this.subagents.get(this.childIds.get(fact.initiatedEventId) ?? '');
      if (command === undefined) continue;
      const end =
        fact.type === 'child-completed' ? endOfResult(fact.result) : endOfFailure(fact.thrown);
      yield { type: 'subagent-ended', toolCallId: command.toolCallId, end };
    }
  }

  private peoplesEvents(
    inputs: readonly HistoryFact[],
    outputs: readonly HistoryFact[],
    isFirst: boolean,
  ): readonly UnstampedEvent[] {
    const signals = inputs.flatMap((fact) => {
      const event = fact.type === 'signalled' ? eventOfSignal(fact.name, fact.argument) : undefined;
      const name = fact.type === 'signalled' ? fact.name : '';
      return event === undefined ? [] : [{ place: fact.eventId, name, event }];
    });
    const updates = outputs.flatMap((fact) => {
      if (fact.type !== 'update-accepted') return [];
      const request = fact.request ?? this.admitted.get(fact.updateId);
      const event = request && eventOfUpdate(request.name, request.argument);
      // An update is delivered after the event that it was sequenced by.
      const place = fact.sequencingEventId + 0.5;
      return event === undefined ? [] : [{ place, name: request?.name ?? '', event }];
    });
    const order = isFirst ? byHandler : byPlace;
    return [...signals, ...updates].sort(order).map(({ event }) => event);
  }

  /** Activities that were asked for and cancelled in one workflow task: the SDK answers them itself, history shows nothing. */
  private neverSent(issued: readonly RunCommand[]): readonly UnstampedEvent[] {
    const asked = issued.filter(isActivityCommand);
    return issued.flatMap((command) => {
      if (command.type !== 'cancel-activities') return [];
      return command.callIds.flatMap((callId) => {
        const never = asked.find((candidate) => activityIdOf(candidate) === callId);
        const subagent = issued.find(
          (other): other is SubagentCommand =>
            other.type === 'run-subagent' && other.callId === callId,
        );
        if (subagent !== undefined) return [subagentNeverBegan(subagent)];
        return never === undefined ? [] : [failedEvent(never, cancelledBeforeSent)];
      });
    });
  }

  private nameTimers(issued: readonly RunCommand[], outputs: readonly HistoryFact[]): void {
    const cancelled = new Set(
      issued.flatMap((command) => (command.type === 'cancel-timer' ? [command.timerId] : [])),
    );
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

type SubagentCommand = Extract<RunCommand, { type: 'run-subagent' }>;

function subagentNeverBegan({ toolCallId }: SubagentCommand): UnstampedEvent {
  return { type: 'subagent-ended', toolCallId, end: endOfFailure(cancelledBeforeSent) };
}

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
