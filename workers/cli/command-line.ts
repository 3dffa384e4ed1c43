/** Runs one command, and turns whatever it throws into a message and an exit code. */
import { Command, CommanderError } from 'commander';
import { packageVersion } from '../../activities/lifecycle/package-version';
import { UserError } from '../../activities/lifecycle/user-error';
import { ClientError } from '../../client/client-error';
import type { CommandContext, CommandOutput, Surroundings } from './command-context';
import type { CommandSpec } from './commands';
import { printableJson, printableLines } from './display/printable';
import { commandGroups } from './commands';
import { exitCodeHelp, exitCodes } from './exit-codes';
import { NotReadyError } from './wait-until-ready';

/**
 * Runs the command that these arguments name; returns the exit code. Never throws.
 *
 * Contract: reads no variable and writes only to `output`, so that many may run in one process. What a command needs
 * beyond its options is loaded when it runs: help and wrong usage load neither Temporal's SDK nor a vendor's.
 */
export async function runCommandLine(
  args: readonly string[],
  output: CommandOutput,
  surroundings: Surroundings,
): Promise<number> {
  let code: number = exitCodes.completed;
  const contextOf = async (): Promise<CommandContext> => {
    const all = await withSecretsFile(surroundings);
    return {
      ...all,
      output,
      connect: async (store) => {
        const { connectAgentClient } = await import('./reach-temporal.ts');
        return connectAgentClient(all, store);
      },
      exitWith: (wanted) => {
        code = wanted;
      },
    };
  };
  try {
    await createProgram(output, contextOf).parseAsync([...args], { from: 'user' });
    return code;
  } catch (thrown) {
    const { code: failed, message } = explain(thrown);
    if (failed !== exitCodes.completed && args.includes('--json'))
      output.write(`${printableJson({ error: { exitCode: failed, message } })}\n`);
    // Commander has printed its own message, with the help that goes with it.
    if (!(thrown instanceof CommanderError))
      output.note(printableLines(`holdfast: ${message}`).join('\n'));
    return failed;
  }
}

/** With the variables of the file that `HOLDFAST_SECRETS_FILE` names; read only for a command that runs. */
async function withSecretsFile(surroundings: Surroundings): Promise<Surroundings> {
  const { variables, directory } = surroundings;
  const file = variables['HOLDFAST_SECRETS_FILE']?.trim() ?? '';
  if (file === '') return surroundings;
  const { readSecretsFile } = await import('./secrets-file.ts');
  return { directory, variables: { ...variables, ...readSecretsFile(file, directory) } };
}

function createProgram(output: CommandOutput, contextOf: () => Promise<CommandContext>): Command {
  const program = new Command('holdfast')
    .description('Durable, self-healing agent runs on Temporal.')
    .version(packageVersion(), '--version')
    .addHelpText('after', `\n${exitCodeHelp}`)
    .showHelpAfterError('(see holdfast --help)')
    .exitOverride()
    // Narrow terminals too get whole words.
    .configureHelp({ minWidthToWrap: 20 })
    .configureOutput({
      writeOut: output.write,
      writeErr: (text) => {
        output.note(text.replace(/\n$/, ''));
      },
      getOutHelpWidth: output.columns,
      getErrHelpWidth: output.columns,
    });
  for (const [heading, specs] of Object.entries(commandGroups)) {
    program.commandsGroup(heading);
    for (const spec of specs) addCommand(program, spec, contextOf, 'holdfast');
  }
  return program;
}

function addCommand(
  parent: Command,
  spec: CommandSpec,
  contextOf: () => Promise<CommandContext>,
  path: string,
): void {
  const { name, about, args = {}, options = [], action, subcommands = [] } = spec;
  const command = parent
    .command(name)
    .description(about)
    .showHelpAfterError(`(see ${path} ${name} --help)`);
  for (const [syntax, meaning] of Object.entries(args)) command.argument(syntax, meaning);
  for (const option of options) command.addOption(option);
  for (const subcommand of subcommands)
    addCommand(command, subcommand, contextOf, `${path} ${name}`);
  if (action === undefined) return;
  command.option('--json', 'print JSON, or JSON lines where there are several results');
  command.action(async (...given: unknown[]) => {
    const perform = await action();
    // Commander parsed the arguments by this spec, and adds the command itself as the last one.
    await perform(await contextOf(), ...(given.slice(0, -1) as never[]));
  });
}

function explain(thrown: unknown): { readonly code: number; readonly message: string } {
  if (thrown instanceof CommanderError) {
    const code = thrown.exitCode === 0 ? exitCodes.completed : exitCodes.usage;
    // Without a command there is only the help and commander's placeholder message.
    const message = thrown.message.startsWith('(') ? 'No command is given.' : thrown.message;
    return { code, message: message.replace(/^error: /, '') };
  }
  if (thrown instanceof ClientError && thrown.code === 'unreachable')
    return { code: exitCodes.unreachable, message: thrown.message };
  if (thrown instanceof NotReadyError) return { code: exitCodes.notReady, message: thrown.message };
  if (thrown instanceof ClientError || thrown instanceof UserError)
    return { code: exitCodes.usage, message: thrown.message };
  const message = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown);
  return { code: exitCodes.internal, message: `unexpected: ${message}` };
}
