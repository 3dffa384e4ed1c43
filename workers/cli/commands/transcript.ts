/** `holdfast transcript`: the messages of a run, from its store. */
import { SetupError } from '../../setup-error';
import type { CommandContext, CommonOptions } from '../command-context';
import { withClient } from '../command-context';
import { printableJson } from '../display/printable';
import { painter } from '../display/terminal-text';
import { transcriptLines } from '../display/transcript-lines';
import { withStore } from '../environment-store';

/** Prints the messages. */
export async function transcript(
  context: CommandContext,
  runId: string,
  options: CommonOptions & { readonly at?: number },
): Promise<void> {
  const { output } = context;
  const point = await withClient(context, (client) => client.run(runId).transcriptHead(options.at));
  await withStore(context, async (store) => {
    if (store.id !== point.storeId)
      throw new SetupError(
        `The run's transcript is in store ${point.storeId}; HOLDFAST_STORE names ${store.id} (${store.label}). Set HOLDFAST_STORE to the run's store.`,
      );
    const messages = await store.loadTranscript(point.head);
    if (options.json === true) {
      for (const message of messages) output.write(`${printableJson(message)}\n`);
      return;
    }
    const paint = painter(output.hasColors);
    for (const { color, text } of transcriptLines(messages))
      output.write(`${color === undefined ? text : paint(color, text)}\n`);
  });
}
