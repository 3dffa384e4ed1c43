/** `holdfast fork`: a new run that begins where another one stood. */
import type { Command } from 'commander';
import { InvalidArgumentError } from 'commander';
import type { CommandContext, CommonOptions } from '../command-context';
import { print, withClient } from '../command-context';

interface Options extends CommonOptions {
  readonly at: number;
  readonly message?: string;
  readonly id?: string;
}

/** Reads the number of an iteration. */
export function iterationNumber(text: string): number {
  const value = Number(text);
  if (/^\d{1,9}$/.test(text.trim())) return value;
  throw new InvalidArgumentError('Give the number of an iteration, 0 for before the first.');
}

/** Adds the command. */
export function addFork(program: Command, context: CommandContext): void {
  program
    .command('fork')
    .description('start a new run whose transcript begins with that of another one')
    .argument('<run>', 'id of the run; it is left as it is')
    .requiredOption(
      '--at <iteration>',
      'after which iteration (0: before the first)',
      iterationNumber,
    )
    .option('--message <text>', 'what the model is told; without, it just goes on')
    .option('--id <id>', 'id of the new run')
    .option('--json', 'one JSON object')
    .action((from: string, options: Options) => forkRun(context, from, options));
}

async function forkRun(context: CommandContext, from: string, options: Options): Promise<void> {
  await withClient(context, async (client) => {
    const { at, message, id } = options;
    const { runId } = await client.fork(from, at, {
      ...(message === undefined ? {} : { message }),
      ...(id === undefined ? {} : { runId: id }),
    });
    print(context, options, { runId, from, at }, runId);
    if (options.json !== true)
      context.output.note(
        `Forked. Work on it: holdfast worker. Look at it: holdfast watch ${runId}`,
      );
  });
}
