/** `holdfast show`: where one run is, what waits, and how it went. */
import type { Command } from 'commander';
import type { TimelineEntry } from '../../../workflows/core/run/protocol';
import type { CommandContext, CommonOptions } from '../command-context';
import { print, withClient } from '../command-context';

interface Options extends CommonOptions {
  readonly events?: boolean;
}

/** Adds the command. */
export function addShow(program: Command, context: CommandContext): void {
  program
    .command('show')
    .description('show where a run is, what it waits for and how it went')
    .argument('<run>', 'id of the run')
    .option('--events', 'with the whole story')
    .option('--json', 'one JSON object')
    .action(async (runId: string, options: Options) => {
      const { runText } = await import('../display/run-text.ts');
      const shown = await withClient(context, async (client) => {
        const run = client.run(runId);
        const entries: TimelineEntry[] = [];
        const [status, asked] = await Promise.all([run.status(), run.pending()]);
        // Two answers of a run that goes on: it may have begun to wait between them.
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
    });
}
