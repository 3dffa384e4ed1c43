/** Composes the commands, runs one, and turns its errors into a message and an exit code. */
import { Command, CommanderError } from 'commander';
import { packageVersion } from '../../activities/lifecycle/package-version';
import { UserError } from '../../activities/lifecycle/user-error';
import { ClientError } from '../../client/client-error';
import type { CommandOutput } from './command-context';
import { addAnswer, addApprove, addReject } from './commands/decisions';
import { exitCodeHelp, exitCodes } from './exit-codes';
import { addCancel, addEscalate, addMessage, addStop } from './commands/interventions';
import { addFork } from './commands/fork';
import { addList } from './commands/list';
import { addShow } from './commands/show';
import { addWatch } from './commands/watch';
import type { CommandLineContext, Surroundings } from './command-line-context';
import { addPatterns } from './commands/patterns';
import { addGc } from './commands/gc';
import { addReplay } from './commands/replay';
import { addRun } from './commands/run';
import { addSetup } from './commands/setup';
import { TemporalUnreachable } from './temporal-unreachable';
import { addTranscript } from './commands/transcript';
import { addWorker } from './commands/worker';

/**
 * Runs the command that these arguments name; returns the exit code. Never throws.
 *
 * Contract: reads no variable and writes only to what it is given, so that many may run in one process. What a command
 * needs beyond its options is loaded when it runs: help and wrong usage load neither Temporal's SDK nor a vendor's.
 */
export async function runCommandLine(
  args: readonly string[],
  output: CommandOutput,
  surroundings: Surroundings,
): Promise<number> {
  let code: number = exitCodes.completed;
  const context: CommandLineContext = {
    ...surroundings,
    output,
    connect: async () => {
      const { connectAgentClient } = await import('./reach-temporal.ts');
      return connectAgentClient(surroundings);
    },
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

type AddCommand = (program: Command, context: CommandLineContext) => void;

/** The commands as help shows them. */
const groups: readonly (readonly [heading: string, adders: readonly AddCommand[]])[] = [
  ['Running:', [addRun, addWorker, addFork]],
  ['Looking:', [addList, addShow, addWatch, addTranscript]],
  ['Deciding:', [addAnswer, addApprove, addReject, addMessage, addEscalate, addStop, addCancel]],
  ['Keeping:', [addSetup, addPatterns, addReplay, addGc]],
];

function createProgram(context: CommandLineContext): Command {
  const { output } = context;
  const program = new Command('holdfast')
    .description('Durable, self-healing agent runs on Temporal.')
    .version(packageVersion(), '--version')
    .addHelpText('after', `\n${exitCodeHelp}`)
    .showHelpAfterError('(see holdfast --help)')
    .exitOverride()
    .configureOutput({
      writeOut: output.write,
      writeErr: (text) => {
        output.note(text.replace(/\n$/, ''));
      },
      getOutHelpWidth: output.columns,
      getErrHelpWidth: output.columns,
    });
  for (const [heading, adders] of groups) {
    program.commandsGroup(heading);
    for (const add of adders) add(program, context);
  }
  for (const command of program.commands)
    command.exitOverride().showHelpAfterError(`(see holdfast ${command.name()} --help)`);
  return program;
}

function explain(thrown: unknown): { readonly code: number; readonly message: string } {
  if (thrown instanceof CommanderError) {
    const code = thrown.exitCode === 0 ? exitCodes.completed : exitCodes.usage;
    // Without a command there is only the help and commander's placeholder message.
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
