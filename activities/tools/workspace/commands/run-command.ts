/** Tool `run_command`: runs a program in the workspace, without a shell unless configured. */
import { realpath } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { defined } from '../../../../workflows/core/json';
import { checkOptions } from '../../../lifecycle/check-options';
import { UserError } from '../../../lifecycle/user-error';
import { defineTool } from '../../define-tool';
import type { Tool, ToolContext, ToolDefinition } from '../../tool';
import { ToolError } from '../../tool-error';
import { commandWords } from './command-line';
import { explainingPath } from '../path-errors';
import { OutputSpool } from './output-spool';
import { runProgram } from './process-group';
import type { ProgramEnd } from './process-group';
import { prepareSandbox } from './sandbox';
import type { CommandUser, Sandbox, SandboxOptions } from './sandbox';
import { errorCode, withFolder, workspaceOf } from '../workspace-root';

/** How commands run; set by people, never by the model. */
export interface RunCommandOptions extends Pick<ToolDefinition, 'approval' | 'maxCalls'> {
  /** Give the command to `/bin/sh -c`. Default false. */
  readonly shell?: boolean;
  /** Milliseconds that a command may take. Default 120,000. */
  readonly timeLimitMs?: number;
  /** Variables added to the allowed ones of the worker; do not put secrets here. */
  readonly environment?: Readonly<Record<string, string>>;
  /**
   * Run commands in a sandbox of bubblewrap (Linux): they write only the workspace, and read only it and the system; there is no
   * other process, no home folder, and no network. Default false: they can do what the worker's user can.
   */
  readonly sandbox?: boolean | SandboxOptions;
  /** Run commands as another user, which needs a worker that runs as root. The workspace must be that user's. */
  readonly user?: CommandUser;
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

/** Of those, what is the worker's user's own. */
const userNames: ReadonlySet<string> = new Set(['HOME', 'USER', 'LOGNAME', 'TMPDIR']);

function commandEnvironment({ environment: added, user, sandbox }: Setup): Record<string, string> {
  const passed = passedNames
    .filter((name) => user === undefined || !userNames.has(name))
    .map((name) => [name, process.env[name]]);
  const inSandbox = sandbox && {
    PATH: [process.env['PATH'], sandbox.programs].filter((part) => part !== undefined).join(':'),
    HOME: '/tmp',
    TMPDIR: undefined,
  };
  return defined({ ...Object.fromEntries(passed), ...fixedEnvironment, ...inSandbox, ...added });
}

/** The options, checked on this machine. */
interface Setup extends Omit<RunCommandOptions, 'sandbox'> {
  readonly timeLimitMs: number;
  readonly sandbox: Sandbox | undefined;
}

const flag = z.boolean({ error: 'give true or false' }).optional();
const strings = 'give an object of strings by name';
const shape = z.strictObject({
  shell: flag,
  timeLimitMs: z.unknown().optional(),
  environment: z.record(z.string(), z.string({ error: strings }), { error: strings }).optional(),
  sandbox: z.unknown().optional(),
  user: z.unknown().optional(),
  effect: z.enum(['read', 'irreversible'], { error: "give 'read' or 'irreversible'" }).optional(),
  approval: z.unknown().optional(),
  maxCalls: z.unknown().optional(),
});
const sandboxShape = z.strictObject({
  network: flag,
  readable: z.array(z.string(), { error: 'give an array of absolute paths' }).optional(),
});
const known = Object.keys(shape.shape).join(', ');

/** A misspelled option would leave commands with more than their author allowed. Errors: `UserError`. */
function checkShape(options: RunCommandOptions): void {
  checkOptions('workspaceTools', 'commands', shape, options, `Known options: ${known}.`);
  const { sandbox = false } = options;
  if (typeof sandbox !== 'boolean')
    checkOptions(
      'workspaceTools',
      'commands.sandbox',
      sandboxShape,
      sandbox,
      'Give true, false or { network, readable }.',
    );
}

function setupOf(options: RunCommandOptions): Setup {
  checkShape(options);
  const { sandbox = false, user, timeLimitMs = defaultTimeLimitMs } = options;
  if (!Number.isInteger(timeLimitMs) || timeLimitMs < 1)
    throw new UserError(`run_command: timeLimitMs is ${timeLimitMs}; give a whole number above 0.`);
  if (user !== undefined) checkUser(user);
  const prepared =
    sandbox === false ? undefined : prepareSandbox(sandbox === true ? {} : sandbox, user);
  return { ...options, timeLimitMs, sandbox: prepared };
}

function checkUser({ uid, gid }: CommandUser): void {
  for (const [name, id] of Object.entries({ uid, gid }))
    if (!Number.isInteger(id) || id < 1)
      throw new UserError(`run_command: user.${name} is ${id}; give a whole number above 0.`);
  const own = process.getuid?.();
  if (own !== 0)
    throw new UserError(
      `run_command: user needs a worker that runs as root on Linux or macOS; this one ${own === undefined ? 'has no user ids' : `has user id ${own}`}. Run the worker as root, or leave out the option user.`,
    );
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

function notStarted(program: string, thrown: unknown, { sandbox }: Setup): unknown {
  const code = errorCode(thrown);
  if (code === 'ENOENT' || code === 'EACCES' || code === 'ENOEXEC') {
    const why = code === 'ENOENT' ? 'was not found' : 'is not executable';
    return new ToolError(`The program "${program.slice(0, 100)}" ${why}`, {
      hint: `Check the name. Name a program of the project by its path, such as ./node_modules/.bin/tsc.${sandbox === undefined ? '' : ' There are only programs of the system and of the workspace.'}`,
      cause: thrown,
    });
  }
  return code === 'E2BIG'
    ? new ToolError('The command is too long for the system', { code: 'invalid_params' })
    : thrown;
}

async function report(
  end: ProgramEnd,
  seconds: string,
  spool: OutputSpool,
  context: ToolContext,
): Promise<string> {
  const output = await spool.text();
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
  root: string,
  words: readonly string[],
  setup: Setup,
  context: ToolContext,
): Promise<string> {
  const [program = '', ...programArguments] = words;
  const spool = new OutputSpool(maxOutputBytes);
  const startedAt = performance.now();
  let progressAt = 0;
  const { sandbox, user, timeLimitMs } = setup;
  const entry = await sandbox?.enter(root, folder, context.signal);
  const end = await runProgram({
    program,
    programArguments,
    folder,
    environment: commandEnvironment(setup),
    timeLimitMs,
    ...defined({ user }),
    ...(sandbox &&
      entry && {
        sandbox: { words: entry.words, sees: (path: string) => sandbox.sees(root, path) },
      }),
    signal: context.signal,
    onOutput: (bytes) => {
      spool.write(bytes);
      if (performance.now() < progressAt) return;
      progressAt = performance.now() + progressMs;
      context.progress(spool.tail(progressChars).trim().split('\n').at(-1) ?? '');
    },
  })
    .catch((thrown: unknown) => {
      throw notStarted(program, thrown, setup);
    })
    .finally(entry?.leave);
  const seconds = ((performance.now() - startedAt) / 1_000).toFixed(1);
  return report(end, seconds, spool, context);
}

async function execute(given: CommandInput, setup: Setup, context: ToolContext): Promise<string> {
  const root = workspaceOf(context);
  const words = programOf(given, setup.shell === true);
  const folder = await explainingPath(given.folder, context, () =>
    withFolder(root, given.folder, ({ path }) => Promise.resolve(path)),
  );
  const realRoot = await realpath(root);
  context.signal.throwIfAborted();
  return runIn(join(realRoot, folder), realRoot, words, setup, context);
}

/** Whether programs run in a sandbox without the worker's network. */
function isIsolated(sandbox: RunCommandOptions['sandbox'] = false): boolean {
  return sandbox === true || (sandbox !== false && sandbox.network !== true);
}

/** What the model must know of the sandbox. */
function sandboxText({ sandbox = false }: RunCommandOptions): string {
  if (sandbox === false) return '';
  const network = !isIsolated(sandbox);
  return ` It can change only the workspace, and not .git${network ? '' : '; there is no network'}.`;
}

/**
 * Makes `run_command`.
 *
 * Contract: commands do not outlive their call and get neither the worker's environment nor its open files. Without `sandbox` or
 * `user`, a program can do what the worker's user can, which includes reading the worker's memory.
 * Errors: `UserError` for a time limit or user that is not a whole number, and for a sandbox or user that this machine cannot give.
 */
export function runCommand(options: RunCommandOptions = {}): Tool {
  const setup = setupOf(options);
  const { timeLimitMs } = setup;
  const how =
    setup.shell === true
      ? '/bin/sh runs the command.'
      : 'There is no shell: one program per call, no pipes, no redirection, no variables.';
  return defineTool({
    name: 'run_command',
    description: `Runs a program in the workspace and returns its exit code and output. ${how}${sandboxText(options)} The program and all that it started are stopped after ${Math.round(timeLimitMs / 1_000)} s.`,
    input,
    effect: options.effect ?? 'irreversible',
    timeoutMs: timeLimitMs + endingMs,
    label: 'command',
    // In the sandbox, without a network, none of them reaches Temporal.
    runsPrograms: !isIsolated(options.sandbox),
    ...defined({ approval: options.approval, maxCalls: options.maxCalls }),
    execute: (given, context) => execute(given, setup, context),
  });
}
