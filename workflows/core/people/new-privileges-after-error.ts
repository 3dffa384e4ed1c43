/** Privileged parameters: after an error, each new one needs approval, since the error's text may have asked for it. */
import type { ApprovalsSlice } from './state';
import type { ProposedToolCall } from '../tools/ports';

/** Uses that a run remembers; a forgotten one is asked for again, the safe side (ADR 0022). */
const rememberedUses = 256;

/** Names of a call's privileged parameters that are new since an error occurred. */
export function newPrivileges(
  { approvals }: ApprovalsSlice,
  call: ProposedToolCall,
): readonly string[] {
  if (call.privileged === undefined || !approvals.afterError) return [];
  const seen = new Set(approvals.privilegedSeen);
  return call.privileged.parameters.flatMap(({ name, use }) => (seen.has(use) ? [] : [name]));
}

/** Remembers the privileged parameters of calls that may run. */
export function rememberPrivileges<State extends ApprovalsSlice>(
  state: State,
  calls: readonly ProposedToolCall[],
): State {
  const uses = calls.flatMap(
    ({ privileged }) => privileged?.parameters.map(({ use }) => use) ?? [],
  );
  if (uses.length === 0) return state;
  const kept = state.approvals.privilegedSeen.filter((use) => !uses.includes(use));
  const privilegedSeen = [...kept, ...new Set(uses)].slice(-rememberedUses);
  return { ...state, approvals: { ...state.approvals, privilegedSeen } };
}
