/** Every command of the command line: its options, and the module that does the work, which is loaded when it runs. */
import { Option } from 'commander';
import type { RunStatusWord } from '../../workflows/core/view/status';
import type { CommandContext } from './command-context';
import { defaultGrace, dollars, graceOf, originOf, wait, wholeNumber } from './option-values';

/** Does the work of a command, given its arguments and then its options. */
type Action = (context: CommandContext, ...given: never[]) => Promise<void>;

/** A command. */
export interface CommandSpec {
  readonly name: string;
  readonly about: string;
  /** As commander writes them, with what they mean. */
  readonly args?: Readonly<Record<string, string>>;
  readonly options?: readonly Option[];
  /** Loads the action; absent where there are only subcommands. */
  readonly action?: () => Promise<Action>;
  readonly subcommands?: readonly CommandSpec[];
}

const option = (flags: string, about: string): Option => new Option(flags, about);
const iteration = (about: string): Option =>
  option('--at <iteration>', about).argParser(
    wholeNumber(0, 999_999_999, 'Give the number of an iteration, 0 for before the first.'),
  );
const runId = { '<run>': 'id of the run' };
const taskQueue = (about: string): Option =>
  option('--task-queue <name>', `${about} (default: HOLDFAST_TASK_QUEUE or holdfast)`);
const repeatEffects = option(
  '--repeat-effects <tools>',
  'comma-separated tools whose effects are repeated even if the earlier run already had them',
).argParser((text) => text.split(',').map((name) => name.trim()));
const model = option(
  '--model <provider/model>',
  'model of the built-in agent; further ones after a comma take over in this order',
);

const unattended = option(
  '--unattended',
  'the built-in agent asks nobody: neither before commands nor before changes of files that programs run later',
);

const files = (about: string): Option =>
  option('--file <path>', `${about} (PNG, JPEG, GIF, WebP, PDF, or text); repeatable`).argParser(
    (file: string, before: readonly string[] | undefined) => [...(before ?? []), file],
  );

const statuses: readonly RunStatusWord[] = [
  'running',
  'waiting',
  'completed',
  'stopped',
  'failed',
  'cancelled',
];

const running: readonly CommandSpec[] = [
  {
    name: 'run',
    about: 'start a run, work on it here, and show it until it ends',
    args: { '<goal>': 'the task of the agent' },
    options: [
      option('--workspace <dir>', 'directory that the agent works in'),
      files('images and files for the model, beside the goal'),
      option('--agent <name>', 'agent to run (default: "coder", or the only one of --agents)'),
      option('--agents <file>', 'module that exports `agents`'),
      model,
      unattended,
      option('--id <id>', 'id of the run'),
      option(
        '--continue <run>',
        'continue a finished run; the goal becomes a message to the model',
      ),
      option(
        '--max-iterations <count>',
        'limit of model calls, each with its tool calls',
      ).argParser(wholeNumber(1, 10_000_000)),
      option('--budget-usd <amount>', 'limit in US dollars, subagents included').argParser(dollars),
      option('--budget-tokens <count>', 'limit in tokens, subagents included').argParser(
        wholeNumber(1, Number.MAX_SAFE_INTEGER, 'Give a whole number of at least 1.'),
      ),
      repeatEffects,
      option('--tenant <name>', 'tenant whose runs learn from each other (default: "default")'),
      option('--detach', 'only start the run; a `holdfast worker` does the work'),
    ],
    action: async () => (await import('./commands/run.ts')).run,
  },
  {
    name: 'worker',
    about: 'work on runs until SIGINT or SIGTERM',
    options: [
      option(
        '--agents <file>',
        'module that exports `agents` (default: the built-in agent "coder")',
      ),
      model,
      unattended,
      taskQueue('task queue'),
      option(
        '--health-port <[host:]port>',
        'answer /healthz and /readyz there (default: HOLDFAST_HEALTH_PORT)',
      ),
      wait,
    ],
    action: async () => (await import('./commands/worker.ts')).worker,
  },
  {
    name: 'serve',
    about: 'serve runs over HTTP, with tokens and tenants, until SIGINT or SIGTERM',
    options: [
      option('--host <address>', 'address to listen on').default('127.0.0.1'),
      option('--port <port>', 'port to listen on; 0 for any')
        .argParser(wholeNumber(0, 65_535))
        .default(7466),
      option('--tokens <file>', 'JSON file of tokens (default: HOLDFAST_GATEWAY_TOKENS)'),
      option('--cors-origin <origin>', 'other site whose pages may call; repeatable').argParser(
        originOf,
      ),
      option('--no-console', 'serve the API alone, without the pages for people'),
      taskQueue('task queue of the runs that are started'),
      wait,
    ],
    action: async () => (await import('./commands/serve.ts')).serve,
  },
  {
    name: 'gateway-token',
    about: 'make a token for `holdfast serve`, and the entry that lets it in',
    args: { '<name>': 'who will use it' },
    options: [
      option('--role <role>', 'view only reads, operate also starts, steers and ends runs')
        .choices(['view', 'operate'])
        .makeOptionMandatory(),
      option('--tenant <name>', 'the tenant whose runs it reaches (default: all tenants)'),
    ],
    action: async () => (await import('./commands/gateway-token.ts')).gatewayToken,
  },
  {
    name: 'fork',
    about: 'start a new run whose transcript begins with that of another run',
    args: { '<run>': 'id of the run; it does not change' },
    options: [
      iteration('iteration to fork after (0: before the first)').makeOptionMandatory(),
      option('--message <text>', 'message to the model; without one, it just continues'),
      repeatEffects,
      option('--id <id>', 'id of the new run'),
    ],
    action: async () => (await import('./commands/fork.ts')).fork,
  },
];

const looking: readonly CommandSpec[] = [
  {
    name: 'list',
    about: 'list runs: those in progress, newest first, then those that ended last',
    options: [
      option('--status <status>', 'only runs with this status').choices(statuses),
      option('--agent <name>', 'only runs of this agent'),
      option('--limit <count>', 'number of runs').argParser(wholeNumber(1, 10_000)).default(50),
    ],
    action: async () => (await import('./commands/look.ts')).list,
  },
  {
    name: 'providers',
    about: 'show the health of the providers, as the runs of this store share it',
    options: [option('--tenants', 'instead: what each tenant with a cap has spent today')],
    action: async () => (await import('./commands/providers.ts')).providers,
  },
  {
    name: 'show',
    about: 'show where a run is, what it waits for, and its result',
    args: runId,
    options: [
      option('--events', 'with the whole timeline'),
      option(
        '--arguments [approval]',
        'with all the arguments of what waits for approval, or of one item',
      ),
    ],
    action: async () => (await import('./commands/look.ts')).show,
  },
  {
    name: 'why',
    about: 'explain a run: what failed, what was tried, what worked, what to do now',
    args: runId,
    action: async () => (await import('./commands/why.ts')).why,
  },
  {
    name: 'watch',
    about: 'follow a run live, from its beginning to its end',
    args: runId,
    action: async () => (await import('./commands/look.ts')).watch,
  },
  {
    name: 'transcript',
    about: 'show the messages of a run, from its store',
    args: runId,
    options: [iteration('the transcript after this iteration (0: before the first)')],
    action: async () => (await import('./commands/transcript.ts')).transcript,
  },
  {
    name: 'record',
    about:
      'print a run as a script for tests (`testAgent` of holdfast/testing), without its secrets',
    args: runId,
    action: async () => (await import('./commands/record.ts')).record,
  },
];

const by = (about: string): Option => option('--by <name>', about);
const decisionArgs = {
  ...runId,
  '[approval]': 'id of the approval; optional if only one waits',
};
const digest = option('--digest <digest>', 'refuse unless the action has this digest');
const reason = (text: string): Option => option('--reason <text>', 'reason').default(text);

const deciding: readonly CommandSpec[] = [
  {
    name: 'answer',
    about: 'answer a question of the agent, or let an escalated run continue',
    args: { ...runId, '<text>': 'the answer' },
    options: [
      option('--question <id>', 'id of the question; optional if only one waits'),
      files('images and files of the answer'),
      by('who answers'),
    ],
    action: async () => (await import('./commands/decide.ts')).answer,
  },
  {
    name: 'approve',
    about: 'approve an action that waits, perhaps with other arguments',
    args: decisionArgs,
    options: [
      option('--edit <file|json>', 'run it with these arguments; the model sees the change'),
      by('who decides'),
      digest,
    ],
    action: async () => (await import('./commands/decide.ts')).approve,
  },
  {
    name: 'reject',
    about: 'reject an action that waits; the model reads the reason',
    args: decisionArgs,
    options: [
      option('--reason <text>', 'reason, for the model').makeOptionMandatory(),
      by('who decides'),
      digest,
    ],
    action: async () => (await import('./commands/decide.ts')).reject,
  },
  {
    name: 'approval-key',
    about: 'make the key pair of an approver, for workers that take signed decisions only',
    args: { '<file>': 'new file for the private key; the public one is printed' },
    action: async () => (await import('./commands/approval-key.ts')).approvalKey,
  },
  {
    name: 'message',
    about: 'send a message to the model, which reads it with its next call',
    args: { ...runId, '<text>': 'the message' },
    options: [files('images and files of the message'), by('who sends it')],
    action: async () => (await import('./commands/decide.ts')).message,
  },
  {
    name: 'escalate',
    about: 'hand the run to a person: it waits for an answer',
    args: runId,
    options: [reason('escalated from the command line'), by('who escalates')],
    action: async () => (await import('./commands/decide.ts')).escalate,
  },
  {
    name: 'stop',
    about: 'end the run with the results so far',
    args: runId,
    options: [reason('stopped from the command line'), by('who stops it')],
    action: async () => (await import('./commands/decide.ts')).stop,
  },
  {
    name: 'cancel',
    about: "cancel the run by Temporal's own cancellation",
    args: runId,
    action: async () => (await import('./commands/decide.ts')).cancel,
  },
];

const patternId = { '<pattern>': 'id of the pattern' };

const patterns: readonly CommandSpec[] = [
  {
    name: 'list',
    about: 'list patterns, oldest first',
    options: [option('--tenant <name>', 'only patterns of this tenant')],
    action: async () => (await import('./commands/patterns.ts')).listPatterns,
  },
  {
    name: 'show',
    about: 'show one pattern and its evidence',
    args: patternId,
    action: async () => (await import('./commands/patterns.ts')).showPattern,
  },
  {
    name: 'disable',
    about: 'never use a pattern again, whatever its evidence',
    args: patternId,
    action: async () => (await import('./commands/patterns.ts')).disablePattern,
  },
  {
    name: 'enable',
    about: 'let its evidence decide about a pattern again',
    args: patternId,
    action: async () => (await import('./commands/patterns.ts')).enablePattern,
  },
  {
    name: 'export',
    about: 'print patterns as JSON lines, with their observations if asked',
    options: [
      option('--tenant <name>', 'only those of this tenant'),
      option('--observations', 'with the observations; "type" tells them apart'),
    ],
    action: async () => (await import('./commands/patterns.ts')).exportPatterns,
  },
];

const keeping: readonly CommandSpec[] = [
  {
    name: 'setup',
    about: 'register the search attributes and the schedule of learned patterns; safe to repeat',
    options: [
      taskQueue('task queue of the workers that extract patterns'),
      option('--no-schedule', 'only the search attributes'),
    ],
    action: async () => (await import('./commands/setup.ts')).setup,
  },
  {
    name: 'patterns',
    about: 'what runs have learned: list, show, disable, enable, export',
    subcommands: patterns,
  },
  {
    name: 'replay',
    about: 'replay histories (JSON from the Web UI or `temporal workflow show --output json`)',
    args: { '[path]': 'a file, or a directory with all its *.json' },
    options: [
      option('--run-id <id...>', 'runs whose histories the server has, with all segments'),
      option('--save <dir>', 'directory that keeps what --run-id fetches, as JSON files'),
      option('--workflows <file>', "your own workflows, replayed beside Holdfast's"),
    ],
    action: async () => (await import('./commands/replay.ts')).replay,
  },
  {
    name: 'gc',
    about: "remove from the store what no run in Temporal's retention reaches",
    options: [
      option('--dry-run', 'only print what would be removed'),
      option('--grace <duration>', 'keep what was written within this time')
        .argParser(graceOf)
        .default(graceOf(defaultGrace), defaultGrace),
      option('--force', 'even if no run of the namespace names this store'),
    ],
    action: async () => (await import('./commands/gc.ts')).gc,
  },
  {
    name: 'erase',
    about: 'remove the ended runs of a tenant or a thread, with what only they have in the store',
    options: [
      option('--tenant <name>', 'every run of this tenant, and what its runs have learned'),
      option('--thread <id>', 'the runs <id>:1, <id>:2 and so on, with their subagents'),
      option('--dry-run', 'only print what would be removed'),
    ],
    action: async () => (await import('./commands/erase.ts')).erase,
  },
  {
    name: 'codec-server',
    about: "decrypt payloads for Temporal's Web UI and command line, until it is ended",
    options: [
      option('--port <port>', 'port; 0 takes a free one')
        .argParser(wholeNumber(0, 65_535))
        .default(8_234),
      option('--host <address>', 'address to listen on').default('127.0.0.1'),
      option('--origin <origin...>', 'web pages that may ask, such as http://localhost:8233'),
    ],
    action: async () => (await import('./commands/codec-server.ts')).codecServer,
  },
];

/** The commands in the groups that help shows. */
export const commandGroups: Readonly<Record<string, readonly CommandSpec[]>> = {
  'Run:': running,
  'Look:': looking,
  'Decide:': deciding,
  'Maintain:': keeping,
};
