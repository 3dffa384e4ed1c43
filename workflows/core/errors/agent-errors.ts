/** What the core does with the errors of one iteration that the model can correct. */
import { isTripped, resetErrors, trackError } from './circuit-breaker';
import { buildErrorRecoveryMessage, shownToolName } from './error-context';
import type { AgentError } from '../failure';
import { normaliseText } from './fingerprint';
import { addNote } from '../model-call/notes';
import { noteError } from '../tools/privileged-parameters';
import { endFailed } from '../run/end';
import type { RunState } from '../run/state';
import type { Step } from '../run/step';
import { appendLine, publish, step } from '../run/step';
import { askUserTool, completeTaskTool } from '../tools/ports';

/** An agent error as the ring, the report and people see it. */
function errorLine(error: AgentError): string {
  const where = error.toolName === undefined ? '' : `${shownToolName(error.toolName)}: `;
  return `${error.code}: ${where}${error.message}`;
}

/** Names of the tools that the model may call. */
function availableTools(state: RunState): readonly string[] {
  const { snapshot } = state;
  if (snapshot === undefined) return [];
  const names = snapshot.tools.map((tool) => tool.name);
  return snapshot.completion === 'tool' ? [...names, completeTaskTool, askUserTool] : names;
}

/** A tool call succeeded, or the run did: the errors before it are healed, and the ring forgets them. */
export function healErrors(
  state: RunState,
  atMs: number,
  how = 'the model corrected itself after the error note',
): Step {
  const healed = { ...state.healed };
  for (const code of state.unhealed) healed[code] = (healed[code] ?? 0) + 1;
  const entries = state.unhealed.map((code) =>
    publish(state, atMs, {
      type: 'HealedEvent',
      code,
      how,
    }),
  );
  return step({ ...state, healed, unhealed: [], breaker: resetErrors() }, ...entries);
}

/**
 * Takes the errors of one iteration: notes them, enters them in the ring unless something succeeded beside them, and sets
 * the ephemeral note for the next request.
 *
 * Source: seed 000 (ring, reset by any success); equal errors of one iteration enter once (ADR 0005).
 */
export function takeAgentErrors(
  state: RunState,
  errors: readonly AgentError[],
  anySucceeded: boolean,
  atMs: number,
): Step {
  const distinct = [
    ...new Map(errors.map((error) => [normaliseText(errorLine(error)), error])).values(),
  ];
  let { breaker, didNotWork } = state;
  for (const error of distinct) {
    didNotWork = appendLine(didNotWork, errorLine(error).slice(0, 300));
    if (!anySucceeded) breaker = trackError(breaker, errorLine(error));
  }
  const [first] = errors;
  const tracked: RunState = {
    ...state,
    breaker,
    didNotWork,
    unhealed: [...state.unhealed, ...errors.map((error) => error.code)].slice(-64),
    ...(first === undefined ? {} : { lastError: errorLine(first) }),
  };
  const noted =
    first === undefined
      ? tracked
      : addNote(noteError(tracked), buildErrorRecoveryMessage(errors, availableTools(state)));
  const entries = errors.map((error) =>
    publish(noted, atMs, { type: 'ErrorEvent', failure: error }),
  );
  return step(noted, ...entries);
}

/** Ends the run if the ring is full of one and the same error. */
export function endIfTripped(state: RunState, atMs: number): Step | undefined {
  if (!isTripped(state.breaker)) return undefined;
  const last = state.didNotWork.at(-1) ?? 'the same error';
  return endFailed(
    state,
    atMs,
    'circuit_breaker',
    `Circuit breaker opened: the same error came 5 times in a row. ${last}`,
  );
}
