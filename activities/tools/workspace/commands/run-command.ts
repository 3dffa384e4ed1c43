/** Tool `run_command`: runs a program in the workspace, without a shell unless configured. */
import { join } from 'node:path';
import { z } from 'zod';
import { defined } from '../../../../workflows/core/json';
import { UserError } from '../../../lifecycle/user-error';
import { defineTool } from '../../define-tool';
import type { Tool, ToolContext, ToolDefinition } from '../../tool';
import { ToolError } from '../../tool-error';
import { commandWords } from './command-line';
import { explainingPath } from '../path-errors';
import { OutputSpool } from './output-spool';
import { runProgram } from './process-group';
import type { ProgramEnd } from './process-group';
import { errorCode, withFolder, workspaceOf } from '../workspace-root';

/** How commands run; set by people, never by the model. */
export interface RunCommandOptions extends Pick<ToolDefinition, 'approval' | 'maxCalls'> {
  /** Give the command to `/bin/sh -c`. Default false. */
  readonly shell?: boolean;
  /** Milliseconds that a command may take. Default 120,000. */
  readonly timeLimitMs?: number;
  /** Variables added to the allowed ones of the worker; do not put secrets here. */
  readonly environment?: Readonly<Record<string, string>>;
  /** `read` only if all commands may be repeated freely, such as tests. Default `irreversible`. */
  readonly effect?: 'read' | 'irreversible';
}

/** Variables that pass from the worker to commands: what programs need to run, and none of the worker's secrets. */
const passedNames = 'PATH HOME USER LOGNAME LANG LC_ALL LC_CTYPE TZ TMPDIR SystemRoot'.split(' ');

/** No colors, no questions, no pager, and no git repository but one in a `.git`: its config would run programs. */
const fixedEnvironment = {
  TERM: 'dumb',
  NO_COLOR: '1',
  CI: '1',
  GIT_TERMINAL_PROMPT: '0',
  PAGER: 'cat',
  GIT_CONFIG_COUNT: '1',
  GIT_CONFIG_KEY_0: 'safe.bareRepository',
  GIT_CONFIG_VALUE_0: 'explicit',
};

function commandEnvironment(added: Readonly<Record<string, string>>): Record<string, string> {
  const passed = passedNames.map((name) => [name, process.env[name]]);
  return defined({ ...Object.fromEntries(passed), ...fixedEnvironment, ...added });
}

const defaultTimeLimitMs = 120_000;
/** Bytes of output that are kept, beside its end. */
const maxOutputBytes = 16 * 1024 * 1024;
/** Milliseconds from the command's time limit to the tool's, in which the process group is ended. */
const endingMs = 10_000;
/** Characters of the last line that are shown while a command runs, and milliseconds between two of them. */
const progressChars = 80;
const progressMs = 200;
/** Characters of output in the message of a command that was stopped. */
const tailChars = 300;

const input = z.object({
  command: z
    .union([z.string().min(1), z.array(z.string()).min(1)])
    .describe('Program and arguments: npm test, or ["npm", "test"].'),
  folder: z
    .string()
    .default('.')
    .describe('Folder to run it in, relative to the workspace root. Default: the root.'),
});
type CommandInput = z.output<typeof input>;

function programOf({ command }: CommandInput, usesShell: boolean): readonly string[] {
  if (usesShell)
    return ['/bin/sh', '-c', typeof command === 'string' ? command : command.join(' ')];
  const words = typeof command === 'string' ? commandWords(command) : command;
  if (words.some((word) => word.includes('\0')))
    throw new ToolError('The command contains a NUL character', { code: 'invalid_params' });
  return words;
}

function notStarted(program: string, thrown: unknown): unknown {
  const code = errorCode(thrown);
  if (code === 'ENOENT' || code === 'EACCES' || code === 'ENOEXEC') {
    const why = code === 'ENOENT' ? 'was not found' : 'is not executable';
    return new ToolError(`The program "${program.slice(0, 100)}" ${why}`, {
      hint: 'Check the name. Name a program of the project by its path, such as ./node_modules/.bin/tsc.',
      cause: thrown,
    });
  }
  return code === 'E2BIG'
    ? new ToolError('The command is too long for the system', { code: 'invalid_params' })
    : thrown;
}

function report(
  end: ProgramEnd,
  seconds: string,
  spool: OutputSpool,
  context: ToolContext,
): string {
  const output = spool.text();
  switch (end.type) {
    case 'exited':
      return `Exit code ${end.exitCode} after ${seconds} s.\n${output === '' ? '(no output)' : output}`;
    case 'killed':
      throw new ToolError(
        `The command was ended by ${end.signalName} after ${seconds} s. ${spool.tail(tailChars)}`,
        { output },
      );
    case 'timed-out':
      throw new ToolError(
        `The command was stopped at its time limit, after ${seconds} s. Last output: ${spool.tail(tailChars)}`,
        {
          code: 'tool_timeout',
          hint: 'Run something shorter: one test file, no watch mode, no server.',
          output,
        },
      );
    case 'aborted':
      context.signal.throwIfAborted();
      throw new ToolError('The command was stopped', { output });
  }
}

async function runIn(
  folder: string,
  words: readonly string[],
  options: RunCommandOptions,
  context: ToolContext,
): Promise<string> {
  const [program = '', ...programArguments] = words;
  const spool = new OutputSpool(maxOutputBytes);
  const startedAt = performance.now();
  let progressAt = 0;
  const end = await runProgram({
    program,
    programArguments,
    folder,
    environment: commandEnvironment(options.environment ?? {}),
    timeLimitMs: options.timeLimitMs ?? defaultTimeLimitMs,
    signal: context.signal,
    onOutput: (bytes) => {
      spool.write(bytes);
      if (performance.now() < progressAt) return;
      progressAt = performance.now() + progressMs;
      context.progress(spool.tail(progressChars).trim().split('\n').at(-1) ?? '');
    },
  }).catch((thrown: unknown) => {
    throw notStarted(program, thrown);
  });
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  return report(end, seconds, spool, context);
}

async function execute(
  given: CommandInput,
  options: RunCommandOptions,
  context: ToolContext,
): Promise<string> {
  const root = workspaceOf(context);
  const words = programOf(given, options.shell === true);
  const folder = await explainingPath(given.folder, context, () =>
    withFolder(root, given.folder, ({ path }) => Promise.resolve(join(root, path))),
  );
  context.signal.throwIfAborted();
  return runIn(folder, words, options, context);
}

/**
 * Makes `run_command`.
 *
 * Contract: commands do not outlive their call and do not see the worker's environment. It is not a sandbox: a program can do
 * what the worker's user can. Run the worker in a container for that.
 * Errors: `UserError` for a time limit that is no whole number.
 */
export function runCommand(options: RunCommandOptions = {}): Tool {
  const { shell: usesShell = false, timeLimitMs = defaultTimeLimitMs } = options;
  if (!Number.isInteger(timeLimitMs) || timeLimitMs < 1)
    throw new UserError(`run_command: timeLimitMs is ${timeLimitMs}; give a whole number above 0.`);
  const how = usesShell
    ? '/bin/sh runs the command.'
    : 'There is no shell: one program per call, no pipes, no redirection, no variables.';
  return defineTool({
    name: 'run_command',
    description: `Runs a program in the workspace and returns its exit code and output. ${how} The program and all that it started are stopped after ${Math.round(timeLimitMs / 1_000)} s.`,
    input,
    effect: options.effect ?? 'irreversible',
    timeoutMs: timeLimitMs + endingMs,
    label: 'command',
    runsPrograms: true,
    ...defined({ approval: options.approval, maxCalls: options.maxCalls }),
    execute: (given, context) => execute(given, options, context),
  });
}
