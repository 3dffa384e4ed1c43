/** Every failure of a run as plain data, with what the model is told about those that it can correct. */
import type { CallSpend } from './budget/spend';
import type { FailoverReason } from './limits';
import { failureMessageChars } from './limits';
import type { ContextMeasure } from './context/measure';
import { shortened } from './shortened';

/**
 * What the recovery message tells the model to do about each agent error.
 *
 * Source: R-ERR-3 fixes four of them; the others follow their form. `{tools}` is replaced by the tools' names.
 */
export const recoveryInstructions = {
  no_tool_call: 'You must provide a tool call in your response.',
  empty_reply: 'Your reply was empty. Answer, or call a tool.',
  invalid_json: 'Ensure your tool call JSON is properly formatted.',
  missing_tool_name:
    'Name the tool in the field "tool_name". Use one of the available tools: [{tools}]',
  invalid_tool: 'Use one of the available tools: [{tools}]',
  invalid_params: 'Correct the parameters of the call.',
  tool_execution_failed: 'The error was: {message}',
  tool_timeout: 'The error was: {message}',
  rate_limit: 'The error was: {message}',
  auth_failed: 'The error was: {message}',
  tool_denied: 'The error was: {message}',
  outcome_unknown: 'The error was: {message}',
  output_truncated:
    'Your reply was cut off at the output token limit, so nothing of it was run. Write less at once, in smaller parts.',
  subagent_failed: 'The error was: {message}',
  guardrail: 'Your answer was not given to anybody. Give one that the check accepts.',
  premature_answer:
    'If the goal is not reached yet, call a tool now. If nothing more can be done, answer again, and say what was not done.',
  invalid_answer: 'Answer with one JSON object of the form that was asked for, and nothing else.',
} as const;

/** Codes that the model can see and act on. */
export type AgentErrorCode = keyof typeof recoveryInstructions;

/** Failures of Holdfast's own surroundings. */
export type SystemFailureCode =
  | 'store_unavailable'
  | 'store_corrupt'
  | 'store_mismatch'
  | 'worker_mismatch'
  | 'config_invalid'
  | 'agent_unknown'
  | 'workspace_missing'
  | 'tool_infrastructure'
  | 'guardrail_failed'
  | 'payload_too_large'
  | 'worker_lost'
  | 'chain_exhausted'
  | 'budget_exhausted'
  | 'tenant_cap';

/** What is known of a request that a vendor refused as too long. All in tokens, as the vendor's own words have them. */
export interface ContextOverflow {
  readonly inputTokens?: number;
  /** What the vendor took as the limit of the reply. */
  readonly outputTokens?: number;
  /** Input and reply limit together. */
  readonly totalTokens?: number;
  readonly windowTokens?: number;
  /** The request as it was measured before it was sent. */
  readonly measure?: ContextMeasure;
}

/**
 * What a vendor's refusal says about the model's thoughts that a request sends back: it takes none that it made (`omitted`), or
 * none of its tool calls without the thought's text or signature (ADR 0046).
 */
export type ThoughtReplay = 'omitted' | 'with-text' | 'with-signatures';

/** The model sees it, with a hint, and may correct itself. */
export interface AgentError {
  readonly kind: 'agent';
  readonly code: AgentErrorCode;
  /** Sanitized, at most 500 characters. */
  readonly message: string;
  /** From trusted code only: the tool's definition or the runtime. */
  readonly hint?: string;
  readonly recoverable: boolean;
  readonly toolName?: string;
}

/** An error that the model may correct. */
export function agentError(
  code: AgentErrorCode,
  message: string,
  more: Partial<Pick<AgentError, 'hint' | 'recoverable' | 'toolName'>> = {},
): AgentError {
  const bounded = shortened(message, failureMessageChars);
  return { kind: 'agent', code, message: bounded, recoverable: true, ...more };
}

/** People see it; the model never does. */
export interface InfraError {
  readonly kind: 'infra';
  readonly code: FailoverReason | SystemFailureCode;
  /** Sanitized, at most 500 characters; names thing, value and remedy. */
  readonly message: string;
  /** Milliseconds, from the vendor's Retry-After or reset headers. */
  readonly retryAfterMs?: number;
  /** `provider/model` that failed. */
  readonly route?: string;
  /** No request was sent: another run found the route cooling down, for `retryAfterMs`. */
  readonly spared?: true;
  /** Codes of the same call's earlier failures, each of which was retried on the route; oldest first. */
  readonly retried?: readonly InfraError['code'][];
  /** HTTP status, if any. */
  readonly status?: number;
  /** The vendor says that the same request must not be sent again (`x-should-retry: false`). */
  readonly refusesRetry?: true;
  /** What the failed call consumed, all its attempts together. */
  readonly spend?: CallSpend;
  /** Nobody can say what the call consumed: its worker is gone. */
  readonly spendUnknown?: true;
  /** The same request with the thoughts sent so may be taken; absent if it would be the same. */
  readonly thoughts?: ThoughtReplay;
  /** The same request may be taken if the vendor is not asked to enforce a form; absent if it would be the same. */
  readonly structure?: 'refused';
  /** Only with `context_overflow`. */
  readonly overflow?: ContextOverflow;
}

/** Anything that can go wrong in a run. */
export type Failure = AgentError | InfraError;

/**
 * What healed a failure: the model's next try with something changed, the same request or call made again, another provider,
 * recovery, or a person.
 */
export type HealedBy = 'model' | 'retry' | 'failover' | 'recovery' | 'person';
