/** Privileged parameters: after an error, each that is new needs a person, since an error's text may have asked for it. */
import type { ProposedToolCall, RunToolResult } from './ports';
import { hasRules } from '../rules';
import type { RunState } from '../run/state';

/** Uses that a run remembers; of more the oldest is asked for again: the safe side (ADR 0022). */
const rememberedUses = 256;

/** The privileged parameters of a call that are new since something went wrong. */
export function newPrivileges(state: RunState, call: ProposedToolCall): readonly string[] {
  if (call.privileged === undefined || !hasRules(state, 2) || !state.approvals.afterError)
    return [];
  const seen = new Set(state.approvals.privilegedSeen);
  return call.privileged.parameters.flatMap(({ name, use }) => (seen.has(use) ? [] : [name]));
}

/** Remembers the privileged parameters of calls that may run. */
export function rememberPrivileges(state: RunState, calls: readonly ProposedToolCall[]): RunState {
  const uses = calls.flatMap(
    ({ privileged }) => privileged?.parameters.map(({ use }) => use) ?? [],
  );
  if (uses.length === 0) return state;
  const kept = state.approvals.privilegedSeen.filter((use) => !uses.includes(use));
  const privilegedSeen = [...kept, ...new Set(uses)].slice(-rememberedUses);
  return { ...state, approvals: { ...state.approvals, privilegedSeen } };
}

/** An output in the form of an error counts as one here: its words may ask for more rights too. */
export function noteSaidError(
  state: RunState,
  result: Pick<RunToolResult, 'saysFailed'>,
): RunState {
  return result.saysFailed === true && hasRules(state, 3) ? noteError(state) : state;
}

/** From now on new privileged parameters need approval. */
export function noteError(state: RunState): RunState {
  return state.approvals.afterError
    ? state
    : { ...state, approvals: { ...state.approvals, afterError: true } };
}
