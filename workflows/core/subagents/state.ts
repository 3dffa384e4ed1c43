/** The slice of subagents. */
import type { SubagentRecord } from '../run/outcome';

/** The slice. */
export interface SubagentsSlice {
  /** Subagents that returned, newest last, bounded. */
  readonly subagents: readonly SubagentRecord[];
}
