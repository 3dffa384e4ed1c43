/** The error that tools throw for failures that the model can see and correct. */
import type { AgentErrorCode } from '../../workflows/core/failure';

/** Codes that a running tool may report. */
export type ToolErrorCode = Extract<
  AgentErrorCode,
  | 'tool_execution_failed'
  | 'tool_timeout'
  | 'rate_limit'
  | 'auth_failed'
  | 'invalid_params'
  | 'tool_denied'
  | 'outcome_unknown'
>;

/** Thrown by a tool's `execute` for what the model can correct; becomes an `AgentError`. */
export class ToolError extends Error {
  readonly code: ToolErrorCode;
  readonly hint: string | undefined;
  readonly recoverable: boolean;
  readonly output: string | undefined;

  constructor(
    message: string,
    options: {
      /** Default `tool_execution_failed`. */
      readonly code?: ToolError['code'];
      /** Trusted advice for the model: written by the tool's author, never taken from a tool's output. */
      readonly hint?: string;
      /** False if no other input can help. Default true. */
      readonly recoverable?: boolean;
      /** Output before the failure, of any length; stored like a result, untrusted. */
      readonly output?: string;
      readonly cause?: unknown;
    } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'ToolError';
    this.code = options.code ?? 'tool_execution_failed';
    this.hint = options.hint;
    this.recoverable = options.recoverable ?? true;
    this.output = options.output;
  }
}

/** Reason of an abort by the tool's own time limit. */
export class ToolDeadline extends Error {
  constructor(timeoutMs: number) {
    super(`the tool did not finish within ${timeoutMs} ms`);
    this.name = 'ToolDeadline';
  }
}
