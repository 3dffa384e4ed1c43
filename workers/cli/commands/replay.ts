/** `holdfast replay`: runs recorded histories through the workflow code, and says which command changed. */
import type { Command } from 'commander';
import type { CommandLineContext } from '../command-line-context';
import type { ReplayOptions } from './replay-action';

/** Adds the command. */
export function addReplay(program: Command, context: CommandLineContext): void {
  program
    .command('replay')
    .description(
      'replay histories (JSON files of the Web UI or `temporal workflow show --output json`)',
    )
    .argument('[path]', 'a file, or a directory with all its *.json')
    .option('--run-id <id...>', 'runs to fetch from the server, all their segments')
    .option('--save <dir>', 'keep what --run-id fetches there, as JSON files')
    .option('--workflows <file>', "workflows of your own, replayed beside Holdfast's")
    .option('--json', 'JSON lines: one history each, then a summary')
    .action(async (target: string | undefined, options: ReplayOptions) => {
      const { replay } = await import('./replay-action.ts');
      await replay(context, target, options);
    });
}
