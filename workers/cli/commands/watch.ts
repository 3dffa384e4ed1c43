/** `holdfast watch`: follows a run live, from its beginning. */
import type { Command } from 'commander';
import type { CommandContext, CommonOptions } from '../command-context';
import { withClient } from '../command-context';
import { exitCodes } from '../exit-codes';

/** Adds the command. */
export function addWatch(program: Command, context: CommandContext): void {
  program
    .command('watch')
    .description('follow a run live, from its beginning to its end')
    .argument('<run>', 'id of the run')
    .option('--json', 'JSON lines: each entry of the story, then the outcome')
    .action(async (runId: string, options: CommonOptions) => {
      const { watchRun } = await import('./watch-run.ts');
      await withClient(context, async (client) => {
        const leave = new AbortController();
        const interrupt = (): void => {
          leave.abort();
        };
        // Once each: a second signal ends the process as it is.
        process.once('SIGINT', interrupt).once('SIGTERM', interrupt);
        try {
          await watchRun(context, client.run(runId), options, leave.signal);
          if (leave.signal.aborted) context.exitWith(exitCodes.interrupted);
        } finally {
          process.off('SIGINT', interrupt).off('SIGTERM', interrupt);
        }
      });
    });
}
