/** Errors for the model. */
import type { AgentError } from '../../workflows/core/failure';
import { defined } from '../../workflows/core/json';
import { failureMessageChars } from '../../workflows/core/limits';
import { sanitizeText } from './sanitizer';

/** What an error says in addition to code and message. */
export interface AgentErrorParts {
  readonly hint?: string | undefined;
  /** Default true. */
  readonly recoverable?: boolean;
  readonly toolName?: string | undefined;
  /** Absolute path of the workspace: paths below it become relative. */
  readonly root?: string | undefined;
}

/** An error for the model, with message and hint sanitized and bounded. */
export function agentError(
  code: AgentError['code'],
  message: string,
  { hint, recoverable = true, toolName, root }: AgentErrorParts = {},
): AgentError {
  const clean = (text: string): string =>
    sanitizeText(text, { maxChars: failureMessageChars, root });
  return {
    kind: 'agent',
    code,
    message: clean(message),
    ...defined({ hint: hint === undefined ? undefined : clean(hint) }),
    recoverable,
    ...defined({ toolName }),
  };
}
