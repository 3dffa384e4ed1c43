/** A run's story as a client folds it from history. */
import { HistoryReader } from '../../client/history/facts';
import { SegmentFold } from '../../client/history/fold';
import type { TimelineEntry } from '../../workflows/core/run/protocol';
import type { AgentWorld, RunHandle } from './agent-world';

/** The entries of a run's newest segment. */
export async function storyOf(
  world: AgentWorld,
  handle: RunHandle,
): Promise<readonly TimelineEntry[]> {
  const { workflowId } = handle;
  const reader = new HistoryReader(world.server.client.options, workflowId);
  const fold = new SegmentFold(workflowId);
  const entries: TimelineEntry[] = [];
  for (const event of (await handle.fetchHistory()).events ?? []) {
    const fact = await reader.read(event);
    if (fact !== undefined) entries.push(...fold.take(fact));
  }
  return [...entries, ...fold.settle()];
}
