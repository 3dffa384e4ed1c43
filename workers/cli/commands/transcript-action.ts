/** The work of `holdfast transcript`. */
import type { CommonOptions } from '../command-context';
import { withClient } from '../command-context';
import { painter } from '../display/terminal-text';
import { transcriptLines } from '../display/transcript-lines';
import { readEnvironment } from '../../env';
import { SetupError } from '../../setup-error';
import type { CommandLineContext } from '../command-line-context';
import { openEnvironmentStore } from '../environment-store';

/** What the command was told. */
export interface TranscriptOptions extends CommonOptions {
  readonly at?: number;
}

/** Does what `holdfast transcript` says. */
export async function showTranscript(
  context: CommandLineContext,
  runId: string,
  options: TranscriptOptions,
): Promise<void> {
  const { output } = context;
  const point = await withClient(context, (client) =>
    client.run(runId).transcriptPoint(options.at),
  );
  const store = await openEnvironmentStore(readEnvironment(context.variables, context.directory));
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
    const paint = painter(output.hasColors);
    for (const { color, text } of transcriptLines(messages))
      output.write(`${color === undefined ? text : paint(color, text)}\n`);
  } finally {
    await store.close();
  }
}
