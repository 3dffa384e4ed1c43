/** The slice of subagents. */
import type { SubagentRecord } from '../run/outcome';

/** The slice. */
export interface SubagentsSlice {
  /** Subagents that returned, newest last, bounded. */
  readonly subagents: readonly SubagentRecord[];
}

/** No subagent has returned. */
export const initialSubagents: SubagentsSlice = { subagents: [] };

/** The subagents of a run's report; nothing where there were none. */
export function subagentsReport({ subagents }: SubagentsSlice): Partial<SubagentsSlice> {
  return subagents.length === 0 ? {} : { subagents };
}
