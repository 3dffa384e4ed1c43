/** An agent error as the result of its tool call. */
import type { AgentError } from '../failure';
import { inertTags } from '../secrets/inert-tags';

/** The hint of an error without one (R-TOOL-3). */
export const defaultHint = 'Please check your parameters and try again.';

/**
 * An agent error as a tool result that the model can read. JSON's quotes are the fence of its texts.
 *
 * Source: R-TOOL-3.
 */
export function toToolResponse(error: AgentError): string {
  return JSON.stringify({
    error: true,
    code: error.code,
    message: inertTags(error.message),
    hint: inertTags(error.hint ?? defaultHint),
    recoverable: error.recoverable,
  });
}
