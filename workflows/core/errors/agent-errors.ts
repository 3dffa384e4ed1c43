/** What the core does with the errors of one iteration that the model can correct. */
import type { AgentError } from '../failure';
import type { ApprovalsSlice } from '../people/state';
import { requireNewPrivileges } from '../people/state';
import type { AccountSlice } from '../run/account';
import { addFailureLine } from '../run/account';
import type { Stop } from '../run/outcome';
import type { SnapshotSlice } from '../run/ports';
import type { Move } from '../run/move';
import { publish, stay } from '../run/move';
import { askUserTool, completeTaskTool, readOutputTool } from '../tools/ports';
import type { NextRequestSlice } from '../model-call/next-request';
import { addTroubleNote } from '../model-call/next-request';
import { isTripped, ringSize, timesInARow, trackError } from './circuit-breaker';
import { buildErrorRecoveryMessage, shownToolName } from './recovery-message';
import { normalizeText } from './fingerprint';
import type { TriedCall } from './healing';
import { openTrouble } from './healing';
import type { ErrorsSlice } from './state';

/** An agent error as the ring, the report, and people see it. */
function errorLine(error: AgentError): string {
  const where = error.toolName === undefined ? '' : `${shownToolName(error.toolName)}: `;
  return `${error.code}: ${where}${error.message}`;
}

/** Names of the tools that the model may call. */
function availableTools({
  snapshot,
  offersReadOutput,
}: SnapshotSlice & NextRequestSlice): readonly string[] {
  if (snapshot === undefined) return [];
  const names = snapshot.tools
    .map((tool) => tool.name)
    .filter((name) => name !== readOutputTool || offersReadOutput === true);
  return snapshot.completion === 'tool' ? [...names, completeTaskTool, askUserTool] : names;
}

type ErrorTaker = ErrorsSlice & AccountSlice & NextRequestSlice & ApprovalsSlice & SnapshotSlice;

/**
 * Records the errors of one iteration: enters them in the ring unless something succeeded beside them, and sets the ephemeral
 * note for the next request. `calls` are the calls that failed, each at the place of its error.
 *
 * Source: R-ERR-1, R-BREAKER-2, R-BREAKER-4.
 */
export function takeAgentErrors<State extends ErrorTaker>(
  state: State,
  errors: readonly AgentError[],
  anySucceeded: boolean,
  calls: readonly (TriedCall | undefined)[] = [],
): Move<State> {
  const [first] = errors;
  if (first === undefined) return stay(state);
  const distinct = [
    ...new Map(errors.map((error) => [normalizeText(errorLine(error)), error])).values(),
  ];
  let { breaker } = state;
  let listed = state;
  for (const error of distinct) {
    listed = addFailureLine(listed, errorLine(error));
    if (!anySucceeded) breaker = trackError(breaker, errorLine(error));
  }
  const tracked: State = {
    ...openTrouble(listed, errors, calls),
    breaker,
    lastError: errorLine(first),
  };
  const note = buildErrorRecoveryMessage(errors, availableTools(state), {
    times: anySucceeded ? 1 : timesInARow(breaker),
    calls: calls.flatMap((call) => call?.said ?? []),
  });
  const noted = addTroubleNote(requireNewPrivileges(tracked), note);
  return stay(noted, ...errors.map((error) => publish({ type: 'ErrorEvent', failure: error })));
}

/** Why a run whose ring is full of one error must end; undefined if it need not. Source: R-BREAKER-1. */
export function breakerStop(state: ErrorsSlice & AccountSlice): Stop | undefined {
  if (!isTripped(state.breaker)) return undefined;
  const last = state.didNotWork.at(-1) ?? 'the same error';
  return {
    reason: 'circuit_breaker',
    message: `Circuit breaker opened: the same error came ${ringSize} times in a row. ${last}`,
  };
}
