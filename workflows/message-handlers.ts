/** Signals, updates and queries. Handlers only append events; the core decides what they mean. */
import { ApplicationFailure } from '@temporalio/common';
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
import type { RunState } from './core/run-state';
import type { PendingItem, RunStatusView } from './core/status-view';
import { pendingItems, statusView } from './core/status-view';
import type { UnstampedEvent } from './execute-command';

/** What handlers may use of the run. */
export interface RunHandle {
  readonly state: () => RunState;
  readonly emit: (event: UnstampedEvent) => void;
  /** True when every event emitted so far has been digested. */
  readonly isDigested: () => boolean;
}

function field(argument: unknown, name: string): unknown {
  return typeof argument === 'object' && argument !== null
    ? (argument as Record<string, unknown>)[name]
    : undefined;
}

function textField(argument: unknown, name: string): string {
  const value = field(argument, name);
  return typeof value === 'string' ? value : '';
}

function optionalText<Name extends string>(
  argument: unknown,
  name: Name,
): { [Key in Name]?: string } {
  const value = textField(argument, name).slice(0, 1_000);
  return value === '' ? {} : ({ [name]: value } as { [Key in Name]?: string });
}

function reject(problem: string): never {
  throw ApplicationFailure.nonRetryable(problem, 'InvalidInput');
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
  setHandler(defineSignal<[ReasonSignal]>(signalNames.escalate), (signal) => {
    const reason = textField(signal, 'reason').slice(0, 1_000) || 'a person asked to take over';
    emit({ type: 'escalation-requested', reason, ...optionalText(signal, 'by') });
  });
  setHandler(defineSignal<[ReasonSignal]>(signalNames.stop), (signal) => {
    const reason = textField(signal, 'reason').slice(0, 1_000) || 'a person stopped the run';
    emit({ type: 'stop-requested', reason, ...optionalText(signal, 'by') });
  });
  setHandler(defineSignal<[MessageSignal]>(signalNames.addMessage), (signal) => {
    const text = textField(signal, 'text').slice(0, personTextChars);
    if (text.trim() !== '') emit({ type: 'message-added', text, ...optionalText(signal, 'by') });
  });
}

async function digest({ isDigested }: RunHandle): Promise<UpdateAccepted> {
  await condition(isDigested);
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
  setHandler(
    defineUpdate<UpdateAccepted, [ResolveApproval]>(updateNames.resolveApproval),
    (update) => {
      const { approvalId, decision } = update;
      handle.emit({
        type: 'approval-resolved',
        approvalId,
        decision,
        ...optionalText(update, 'reason'),
        ...optionalText(update, 'by'),
      });
      return digest(handle);
    },
    {
      validator: (update) => {
        checkDecision(handle, update);
      },
    },
  );
  setHandler(
    defineUpdate<UpdateAccepted, [AnswerQuestion]>(updateNames.answer),
    (update) => {
      const { questionId, answer } = update;
      handle.emit({ type: 'question-answered', questionId, answer, ...optionalText(update, 'by') });
      return digest(handle);
    },
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
