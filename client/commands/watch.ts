/** `holdfast watch`: follows a run live, from its beginning. */
import type { Command } from 'commander';
import type { CommandContext, CommonOptions } from './command-context';
import { withClient } from './command-context';
import { watchRun } from './watch-run';

/** Adds the command. */
export function addWatch(program: Command, context: CommandContext): void {
  program
    .command('watch')
    .description('follow a run live, from its beginning to its end')
    .argument('<run>', 'id of the run')
    .option('--json', 'JSON lines: each entry of the story, then the outcome')
    .action((runId: string, options: CommonOptions) =>
      withClient(context, (client) => watchRun(context, client.run(runId), options)),
    );
}
