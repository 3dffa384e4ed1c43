/** Gives limits that a release added to runs that an earlier release prepared. */
import { defaultLimits } from './limits';
import type { AgentSnapshot } from './run/ports';

/** The snapshot with the default of every limit that it does not know. */
export function withEveryLimit(snapshot: AgentSnapshot): AgentSnapshot {
  return { ...snapshot, limits: { ...defaultLimits, ...snapshot.limits } };
}
