/** Which release's rules a run follows, so that a deploy changes new runs only and old histories replay. */
import type { RunState } from './run/state';

/**
 * Rules that runs start under now. 1 (release 0.1.0) knew neither loops, budgets, compaction nor recovery; under 2 (0.2.0) a
 * recovery could repeat an effect of unknown outcome, pass a cap, and take an old failure for the present trouble, and a
 * subagent was not bound to the caps that the run above had left.
 */
export const currentRules = 3;

/**
 * Whether a run was prepared under these rules or later ones.
 *
 * Contract: false before the run is prepared, since nothing that depends on it has happened yet.
 */
export function hasRules(state: RunState, rules: number): boolean {
  return state.snapshot !== undefined && (state.snapshot.rules ?? 1) >= rules;
}
