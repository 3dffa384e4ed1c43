/** An agent error as the result of its tool call. */
import type { AgentError } from '../failure';

/** The hint of an error without one (R-TOOL-3). */
export const defaultHint = 'Please check your parameters and try again.';

/**
 * An agent error as a tool result that the model can read.
 *
 * Source: R-TOOL-3.
 */
export function toToolResponse(error: AgentError): string {
  return JSON.stringify({
    error: true,
    code: error.code,
    message: error.message,
    hint: error.hint ?? defaultHint,
    recoverable: error.recoverable,
  });
}
