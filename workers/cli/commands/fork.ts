/** `holdfast fork`: a new run whose transcript begins with that of another run. */
import { defined } from '../../../workflows/core/json';
import { shellWord } from '../../../workflows/core/view/shell-word';
import type { CommandContext, CommonOptions } from '../command-context';
import { print, withClient } from '../command-context';

/** Starts the fork. */
export async function fork(
  context: CommandContext,
  from: string,
  options: CommonOptions & {
    readonly at: number;
    readonly message?: string;
    readonly id?: string;
    readonly repeatEffects?: readonly string[];
  },
): Promise<void> {
  await withClient(context, async (client) => {
    const { at, message, id, repeatEffects } = options;
    const given = defined({ message, runId: id, repeatEffects });
    const { runId } = await client.fork(from, at, given);
    print(context, options, { runId, from, at }, runId);
    if (options.json !== true)
      context.output.note(
        `Forked. To work on it: holdfast worker. To follow it: holdfast watch ${shellWord(runId)}`,
      );
  });
}
