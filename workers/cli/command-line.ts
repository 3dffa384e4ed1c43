/** Composes the commands, runs one, and turns whatever it throws into a message and an exit code. */
import { Client } from '@temporalio/client';
import { Command, CommanderError } from 'commander';
import { UserError } from '../../activities/user-error';
import { AgentClient } from '../../client/agent-client';
import { ClientError } from '../../client/client-error';
import type { CommandContext } from '../../client/commands/command-context';
import { addAnswer, addApprove, addReject } from '../../client/commands/decisions';
import { exitCodeHelp, exitCodes } from '../../client/commands/exit-codes';
import { addCancel, addEscalate, addMessage, addStop } from '../../client/commands/interventions';
import { addList } from '../../client/commands/list';
import { addShow } from '../../client/commands/show';
import { addWatch } from '../../client/commands/watch';
import { connectClient } from '../connection';
import { readEnvironment } from '../env';
import { createLogger, installRuntime } from '../logging';
import { processOutput } from './process-output';
import { addReplay } from './replay';
import { addRun } from './run';
import { addSetup } from './setup';
import { TemporalUnreachable, reachTemporal } from './reach-temporal';
import { addWorker } from './worker';

/** Runs the command that these arguments name; returns the exit code. Never throws. */
export async function runCommandLine(args: readonly string[]): Promise<number> {
  let code: number = exitCodes.completed;
  const output = processOutput();
  const context: CommandContext = {
    output,
    connect,
    exitWith: (wanted) => {
      code = wanted;
    },
  };
  try {
    await createProgram(context).parseAsync([...args], { from: 'user' });
    return code;
  } catch (thrown) {
    const { code: failed, message } = explain(thrown);
    if (message !== '') {
      if (args.includes('--json'))
        output.write(`${JSON.stringify({ error: { exitCode: failed, message } })}\n`);
      output.note(`holdfast: ${message}`);
    }
    return failed;
  }
}

function createProgram(context: CommandContext): Command {
  const program = new Command('holdfast')
    .description('Durable, self-healing agent runs on Temporal.')
    .addHelpText('after', `\n${exitCodeHelp}`)
    .showHelpAfterError('(see holdfast --help)')
    .exitOverride()
    .configureOutput({ writeErr: (text) => process.stderr.write(text) });
  const adders = [
    addRun,
    addWorker,
    addSetup,
    addList,
    addShow,
    addWatch,
    addAnswer,
    addApprove,
    addReject,
    addMessage,
    addEscalate,
    addStop,
    addCancel,
    addReplay,
  ];
  for (const add of adders) add(program, context);
  for (const command of program.commands)
    command.exitOverride().showHelpAfterError(`(see holdfast ${command.name()} --help)`);
  return program;
}

async function connect(): Promise<AgentClient> {
  const environment = readEnvironment();
  installRuntime(createLogger('silent'));
  const server = await reachTemporal(environment);
  const connection = await connectClient(server.connect);
  const client = new Client({ connection, namespace: server.namespace });
  const { address } = server;
  return new AgentClient(client, { address, taskQueue: environment.taskQueue });
}

function explain(thrown: unknown): { readonly code: number; readonly message: string } {
  if (thrown instanceof CommanderError)
    // Commander has printed its own message.
    return { code: thrown.exitCode === 0 ? 0 : exitCodes.usage, message: '' };
  if (thrown instanceof TemporalUnreachable)
    return { code: exitCodes.unreachable, message: thrown.message };
  if (thrown instanceof ClientError)
    return {
      code: thrown.code === 'unreachable' ? exitCodes.unreachable : exitCodes.usage,
      message: thrown.message,
    };
  if (thrown instanceof UserError) return { code: exitCodes.usage, message: thrown.message };
  const message = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
  return { code: exitCodes.internal, message: `unexpected: ${message}` };
}
