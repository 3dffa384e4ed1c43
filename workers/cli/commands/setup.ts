/** `holdfast setup`: makes in the namespace what Holdfast needs there. */
import type { Command } from 'commander';
import type { CommandLineContext } from '../command-line-context';
import type { SetupOptions } from './setup-action';

/** Adds the command. */
export function addSetup(program: Command, context: CommandLineContext): void {
  program
    .command('setup')
    .description(
      'register the search attributes and the schedule of learned patterns; harmless to repeat',
    )
    .option(
      '--task-queue <name>',
      'whose workers draw patterns (default: HOLDFAST_TASK_QUEUE or holdfast)',
    )
    .option('--no-schedule', 'only the search attributes')
    .option('--json', 'one JSON object')
    .action(async (options: SetupOptions) => {
      const { setUp } = await import('./setup-action.ts');
      await setUp(context, options);
    });
}
