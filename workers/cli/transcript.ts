/** `holdfast transcript`: what was said in a run, from its store. */
import type { Command } from 'commander';
import type { CommandContext, CommonOptions } from '../../client/commands/command-context';
import { withClient } from '../../client/commands/command-context';
import { iterationNumber } from '../../client/commands/fork';
import { painter } from '../../client/commands/terminal-text';
import { transcriptLines } from '../../client/commands/transcript-lines';
import { readEnvironment } from '../env';
import { SetupError } from '../setup-error';
import { openEnvironmentStore } from './local-worker';

interface Options extends CommonOptions {
  readonly at?: number;
}

/** Adds the command. */
export function addTranscript(program: Command, context: CommandContext): void {
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
    .action((runId: string, options: Options) => showTranscript(context, runId, options));
}

async function showTranscript(
  context: CommandContext,
  runId: string,
  options: Options,
): Promise<void> {
  const { output } = context;
  const point = await withClient(context, (client) =>
    client.run(runId).transcriptPoint(options.at),
  );
  const store = await openEnvironmentStore(readEnvironment());
  try {
    if (store.id !== point.storeId)
      throw new SetupError(
        `The run's transcript is in store ${point.storeId}; HOLDFAST_STORE names ${store.id} (${store.label}). Set HOLDFAST_STORE to the run's store.`,
      );
    const messages = await store.loadTranscript(point.head);
    if (options.json === true) {
      for (const message of messages) output.write(`${JSON.stringify(message)}\n`);
      return;
    }
    const paint = painter(output.hasColours);
    for (const { colour, text } of transcriptLines(messages))
      output.write(`${colour === undefined ? text : paint(colour, text)}\n`);
  } finally {
    await store.close();
  }
}
