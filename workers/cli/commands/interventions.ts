/** `holdfast escalate`, `stop`, `cancel` and `message`: what a person may send to a running run. */
import type { Command } from 'commander';
import type { Actor } from '../../../client/person-requests';
import type { RunHandle } from '../../../client/run-handle';
import type { CommandContext, CommonOptions } from '../command-context';
import { print, withClient } from '../command-context';

interface Options extends CommonOptions, Actor {
  readonly reason?: string;
}

function actor({ by }: Options): Actor {
  return by === undefined ? {} : { by };
}

async function send(
  context: CommandContext,
  runId: string,
  options: Options,
  sent: string,
  request: (run: RunHandle) => Promise<void>,
): Promise<void> {
  await withClient(context, (client) => request(client.run(runId)));
  print(context, options, { runId, sent }, `sent ${sent} to ${runId}`);
}

/** Adds `escalate`. */
export function addEscalate(program: Command, context: CommandContext): void {
  program
    .command('escalate')
    .description('hand the run to a person: it waits until it is answered')
    .argument('<run>', 'id of the run')
    .option('--reason <text>', 'why', 'taken over from the command line')
    .option('--by <name>', 'who')
    .option('--json', 'one JSON object')
    .action((runId: string, options: Options) =>
      send(context, runId, options, 'escalate', (run) =>
        run.escalate(options.reason ?? '', actor(options)),
      ),
    );
}

/** Adds `stop`. */
export function addStop(program: Command, context: CommandContext): void {
  program
    .command('stop')
    .description('end the run with what it has so far')
    .argument('<run>', 'id of the run')
    .option('--reason <text>', 'why', 'stopped from the command line')
    .option('--by <name>', 'who')
    .option('--json', 'one JSON object')
    .action((runId: string, options: Options) =>
      send(context, runId, options, 'stop', (run) =>
        run.stop(options.reason ?? '', actor(options)),
      ),
    );
}

/** Adds `cancel`. */
export function addCancel(program: Command, context: CommandContext): void {
  program
    .command('cancel')
    .description("cancel the run by Temporal's own cancellation")
    .argument('<run>', 'id of the run')
    .option('--json', 'one JSON object')
    .action((runId: string, options: Options) =>
      send(context, runId, options, 'cancel', (run) => run.cancel()),
    );
}

/** Adds `message`. */
export function addMessage(program: Command, context: CommandContext): void {
  program
    .command('message')
    .description('say something to the model; it reads it with its next call')
    .argument('<run>', 'id of the run')
    .argument('<text>', 'what to say')
    .option('--by <name>', 'who')
    .option('--json', 'one JSON object')
    .action((runId: string, text: string, options: Options) =>
      send(context, runId, options, 'message', (run) => run.addMessage(text, actor(options))),
    );
}
