/** `holdfast show`: where one run is, what it waits for, and its timeline. */
import type { TimelineEntry } from '../../../workflows/core/run/protocol';
import type { CommandContext, CommonOptions } from '../command-context';
import { print, withClient } from '../command-context';
import { runText } from '../display/run-text';

/** Shows the run. */
export async function show(
  context: CommandContext,
  runId: string,
  options: CommonOptions & { readonly events?: boolean },
): Promise<void> {
  const shown = await withClient(context, async (client) => {
    const run = client.run(runId);
    const entries: TimelineEntry[] = [];
    const [status, asked] = await Promise.all([run.status(), run.pending()]);
    // Two answers of a run in progress: it may have begun to wait between them.
    const isStale = status.status === 'waiting' && asked.length === 0;
    const pending = isStale ? await run.pending() : asked;
    if (options.events === true) for await (const entry of run.events()) entries.push(entry);
    const isOver = status.status !== 'running' && status.status !== 'waiting';
    const outcome = isOver ? await run.outcome() : undefined;
    return { runId, status, pending, entries, outcome };
  });
  const { status, pending, entries, outcome } = shown;
  const events = options.events === true ? { events: entries } : {};
  const value = { runId, ...status, pending, outcome, ...events };
  print(context, options, value, runText(shown, context.output));
}
