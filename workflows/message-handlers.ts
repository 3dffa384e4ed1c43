/** Signals, updates and queries. Handlers only append events; the core decides what they mean. */
import {
  condition,
  defineQuery,
  defineSignal,
  defineUpdate,
  setHandler,
} from '@temporalio/workflow';
import type {
  AnswerQuestion,
  MessageSignal,
  ReasonSignal,
  ResolveApproval,
  UpdateAccepted,
} from './contract';
import { queryNames, signalNames, updateNames } from './contract';
import { personTextChars } from './core/limits';
import { rejectAnswer, rejectDecision } from './core/people';
import type { UnstampedEvent } from './core/run-protocol';
import type { RunState } from './core/run-state';
import type { PendingItem, RunStatusView } from './core/status-view';
import { pendingItems, statusView } from './core/status-view';
import { invalidInput } from './invalid-input';
import { eventOfSignal, eventOfUpdate, field } from './people-events';

/** What handlers may use of the run. */
export interface RunHandle {
  readonly state: () => RunState;
  readonly emit: (event: UnstampedEvent) => void;
  /** True when the core has taken this emitted event. */
  readonly isDigested: (event: UnstampedEvent) => boolean;
}

function reject(problem: string): never {
  throw invalidInput(problem);
}

function requireText(argument: unknown, update: string, name: string, maxChars: number): string {
  const value = field(argument, name);
  if (typeof value !== 'string' || value === '')
    return reject(`${update}: "${name}" must be a non-empty text, got ${typeof value}.`);
  if (value.length > maxChars)
    return reject(
      `${update}: "${name}" has ${value.length} characters; at most ${maxChars} are allowed.`,
    );
  return value;
}

function registerSignals({ emit }: RunHandle): void {
  const emitEvent = (event: UnstampedEvent | undefined): void => {
    if (event !== undefined) emit(event);
  };
  setHandler(defineSignal<[ReasonSignal]>(signalNames.escalate), (signal) => {
    emitEvent(eventOfSignal(signalNames.escalate, signal));
  });
  setHandler(defineSignal<[ReasonSignal]>(signalNames.stop), (signal) => {
    emitEvent(eventOfSignal(signalNames.stop, signal));
  });
  setHandler(defineSignal<[MessageSignal]>(signalNames.addMessage), (signal) => {
    emitEvent(eventOfSignal(signalNames.addMessage, signal));
  });
}

/** Waits for the core to take an update's event; a run that ended first never takes it, and waits for its handlers. */
async function digest(
  { state, isDigested }: RunHandle,
  event: UnstampedEvent,
): Promise<UpdateAccepted> {
  await condition(() => isDigested(event) || state().phase.type === 'ended');
  if (!isDigested(event)) throw invalidInput('The run ended before this took effect.', 'RunEnded');
  return { accepted: true };
}

function checkDecision(handle: RunHandle, update: unknown): void {
  const approvalId = requireText(update, updateNames.resolveApproval, 'approvalId', 200);
  const decision = requireText(update, updateNames.resolveApproval, 'decision', 20);
  if (decision !== 'approve' && decision !== 'reject')
    reject(
      `${updateNames.resolveApproval}: "decision" must be "approve" or "reject", got "${decision}".`,
    );
  const digestOfAction = requireText(update, updateNames.resolveApproval, 'digest', 200);
  const problem = rejectDecision(handle.state(), { approvalId, digest: digestOfAction, decision });
  if (problem !== undefined) reject(problem);
}

function checkAnswer(handle: RunHandle, update: unknown): void {
  const questionId = requireText(update, updateNames.answer, 'questionId', 200);
  requireText(update, updateNames.answer, 'answer', personTextChars);
  const problem = rejectAnswer(handle.state(), questionId);
  if (problem !== undefined) reject(problem);
}

function registerUpdates(handle: RunHandle): void {
  const emitUpdate = (name: string, update: unknown): Promise<UpdateAccepted> => {
    const event = eventOfUpdate(name, update);
    if (event === undefined) return Promise.resolve({ accepted: true });
    handle.emit(event);
    return digest(handle, event);
  };
  setHandler(
    defineUpdate<UpdateAccepted, [ResolveApproval]>(updateNames.resolveApproval),
    (update) => emitUpdate(updateNames.resolveApproval, update),
    {
      validator: (update) => {
        checkDecision(handle, update);
      },
    },
  );
  setHandler(
    defineUpdate<UpdateAccepted, [AnswerQuestion]>(updateNames.answer),
    (update) => emitUpdate(updateNames.answer, update),
    {
      validator: (update) => {
        checkAnswer(handle, update);
      },
    },
  );
}

/** Registers every handler of a run. */
export function registerMessageHandlers(handle: RunHandle): void {
  registerSignals(handle);
  registerUpdates(handle);
  setHandler(defineQuery<RunStatusView>(queryNames.status), () => statusView(handle.state()));
  setHandler(defineQuery<readonly PendingItem[]>(queryNames.pending), () =>
    pendingItems(handle.state()),
  );
}
