/** `holdfast transcript`: what was said in a run, from its store. */
import type { Command } from 'commander';
import { iterationNumber } from './fork';
import type { CommandLineContext } from '../command-line-context';
import type { TranscriptOptions } from './transcript-action';

/** Adds the command. */
export function addTranscript(program: Command, context: CommandLineContext): void {
  program
    .command('transcript')
    .description('show what was said in a run, as its store has it')
    .argument('<run>', 'id of the run')
    .option(
      '--at <iteration>',
      'as it was after this iteration (0: before the first)',
      iterationNumber,
    )
    .option('--json', 'JSON lines: one message each')
    .action(async (runId: string, options: TranscriptOptions) => {
      const { showTranscript } = await import('./transcript-action.ts');
      await showTranscript(context, runId, options);
    });
}
