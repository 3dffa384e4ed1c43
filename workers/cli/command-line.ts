/** Composes the commands, runs one, and turns whatever it throws into a message and an exit code. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Client } from '@temporalio/client';
import { Command, CommanderError } from 'commander';
import { z } from 'zod';
import { UserError } from '../../activities/user-error';
import { AgentClient } from '../../client/agent-client';
import { ClientError } from '../../client/client-error';
import type { CommandContext } from '../../client/commands/command-context';
import { addAnswer, addApprove, addReject } from '../../client/commands/decisions';
import { exitCodeHelp, exitCodes } from '../../client/commands/exit-codes';
import { addCancel, addEscalate, addMessage, addStop } from '../../client/commands/interventions';
import { addFork } from '../../client/commands/fork';
import { addList } from '../../client/commands/list';
import { addShow } from '../../client/commands/show';
import { addWatch } from '../../client/commands/watch';
import { connectClient } from '../connection';
import { readEnvironment } from '../env';
import { createLogger, installRuntime } from '../logging';
import { processOutput } from './process-output';
import { addPatterns } from './patterns';
import { addGc } from './gc';
import { addReplay } from './replay';
import { addRun } from './run';
import { addSetup } from './setup';
import { TemporalUnreachable, reachTemporal } from './reach-temporal';
import { addTranscript } from './transcript';
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
    if (failed !== exitCodes.completed && args.includes('--json'))
      output.write(`${JSON.stringify({ error: { exitCode: failed, message } })}\n`);
    // Commander has printed its own message, with the help that goes with it.
    if (!(thrown instanceof CommanderError)) output.note(`holdfast: ${message}`);
    return failed;
  }
}

function createProgram(context: CommandContext): Command {
  const program = new Command('holdfast')
    .description('Durable, self-healing agent runs on Temporal.')
    .version(ownVersion(), '--version')
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
    addPatterns,
    addReplay,
    addFork,
    addTranscript,
    addGc,
  ];
  for (const add of adders) add(program, context);
  for (const command of program.commands)
    command.exitOverride().showHelpAfterError(`(see holdfast ${command.name()} --help)`);
  return program;
}

/** The version in the package's own package.json, which lies above `dist` or, from source, above `workers`. */
function ownVersion(): string {
  const file = [path.join('..', '..'), path.join('..', '..', '..')]
    .map((up) => path.resolve(__dirname, up, 'package.json'))
    .find((candidate) => existsSync(candidate));
  if (file === undefined) return 'unknown';
  return z.object({ version: z.string() }).parse(JSON.parse(readFileSync(file, 'utf8'))).version;
}

async function connect(): Promise<AgentClient> {
  const environment = readEnvironment();
  installRuntime(createLogger('silent'), { withoutWorkers: true });
  const server = await reachTemporal(environment);
  const connection = await connectClient(server.connect);
  const client = new Client({ connection, namespace: server.namespace });
  const { address } = server;
  return new AgentClient(client, { address, taskQueue: environment.taskQueue });
}

function explain(thrown: unknown): { readonly code: number; readonly message: string } {
  if (thrown instanceof CommanderError) {
    const code = thrown.exitCode === 0 ? exitCodes.completed : exitCodes.usage;
    // Without a command there is only the help, and commander's placeholder for a message.
    const message = thrown.message.startsWith('(') ? 'No command is given.' : thrown.message;
    return { code, message: message.replace(/^error: /, '') };
  }
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
