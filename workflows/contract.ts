/** Names and types that a client and the workflow `agentRun` share. Plain data, so that both sides may import it. */
import type { RunOutcome } from './core/run/outcome';
import type { UnstampedEvent } from './core/run/protocol';
import type { RunRequest } from './core/run/ports';
import type { RunState } from './core/run/state';

/** Workflow type that a client starts. */
export const agentRunWorkflow = 'agentRun';

/** Workflow type that the schedule of patterns starts. */
export const extractPatternsWorkflow = 'extractPatterns';

/** Id of the schedule of patterns of one task queue's store. */
export function patternScheduleId(taskQueue: string): string {
  return `holdfast-extract-patterns-${taskQueue}`;
}

/** Default task queue of workers. */
export const defaultTaskQueue = 'holdfast';

/** Input of `agentRun`: the request of a person, and the state where a segment continues one. */
export interface AgentRunInput {
  readonly request: RunRequest;
  readonly state?: RunState;
}

/** The workflow `agentRun`, for typed starts by name. */
export type AgentRunWorkflow = (input: AgentRunInput) => Promise<RunOutcome>;

/** Signals: no answer, never rejected; ignored where they cannot apply. */
export const signalNames = {
  escalate: 'escalate',
  stop: 'stop',
  addMessage: 'addMessage',
} as const;

/** Updates: validated before they enter history, answered when they took effect. */
export const updateNames = {
  resolveApproval: 'resolveApproval',
  answer: 'answer',
} as const;

/** Queries: read-only, also for finished runs while a worker lives. */
export const queryNames = {
  status: 'status',
  pending: 'pending',
} as const;

/** An event without its type: what the sender gives. */
type Argument<Type extends UnstampedEvent['type']> = Omit<
  Extract<UnstampedEvent, { type: Type }>,
  'type'
>;

/** Argument of `escalate` and `stop`. */
export type ReasonSignal = Argument<'stop-requested'>;

/** Argument of `addMessage`. */
export type MessageSignal = Argument<'message-added'>;

/**
 * Argument of `resolveApproval`. `digest` binds the decision to the action that the person saw. `input`, with `approve` only:
 * the whole arguments that the call is to run with instead, at most `editedInputChars` of JSON.
 */
export type ResolveApproval = Argument<'approval-resolved'> & { readonly digest: string };

/** Argument of `answer`. */
export type AnswerQuestion = Argument<'question-answered'>;

/** Result of an update. */
export interface UpdateAccepted {
  readonly accepted: true;
}

/** Search attributes of a run; registered by `holdfast setup`. */
export const searchAttributes = {
  status: 'HoldfastStatus',
  agent: 'HoldfastAgent',
  provider: 'HoldfastProvider',
  reason: 'HoldfastReason',
  iteration: 'HoldfastIteration',
  tenant: 'HoldfastTenant',
  usd: 'HoldfastUsd',
} as const;
