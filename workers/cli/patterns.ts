/** `holdfast patterns`: what runs have learned, and people's word on it. */
import { Client } from '@temporalio/client';
import { Command, InvalidArgumentError, Option } from 'commander';
import { judged, trustIn } from '../../activities/learning/evidence';
import { describeFix } from '../../activities/learning/fix-template';
import type { Pattern, PatternStatus, PatternStore } from '../../activities/learning/pattern-store';
import { UserError } from '../../activities/user-error';
import type { CommandContext, CommonOptions } from '../../client/commands/command-context';
import { print } from '../../client/commands/command-context';
import { cutTo, padTo, printable } from '../../client/commands/terminal-text';
import { schedulePatterns } from '../../client/pattern-schedule';
import { connectClient } from '../connection';
import { readEnvironment } from '../env';
import { openEnvironmentStore } from './local-worker';
import { reachTemporal } from './reach-temporal';

interface Filter extends CommonOptions {
  readonly tenant?: string;
  readonly tool?: string;
  readonly status?: PatternStatus;
}

const statuses: readonly PatternStatus[] = ['candidate', 'active', 'demoted', 'disabled'];

async function withPatterns<Result>(
  work: (patterns: PatternStore) => Promise<Result>,
): Promise<Result> {
  const store = await openEnvironmentStore(readEnvironment());
  try {
    return await work(store.patterns);
  } finally {
    await store.close();
  }
}

/** A pattern with what it is worth now, as programs read it. */
function shown(pattern: Pattern, nowMs: number): object {
  const { successes, failures } = counts(pattern);
  const trust = Math.round(trustIn(pattern, nowMs) * 1_000) / 1_000;
  return { ...pattern, successes, failures, lowerBound: trust, text: describeFix(pattern.fix) };
}

/** Evidence without its age, in whole numbers. */
function counts({ observed, used }: Pattern): { successes: number; failures: number } {
  return {
    successes: Math.round(observed.successes + used.successes),
    failures: Math.round(observed.failures + used.failures),
  };
}

/** Patterns as a table that is cut to the width; ids are never cut, so that they can be copied. */
function patternTable(
  patterns: readonly Pattern[],
  columns: number,
  nowMs: number,
): readonly string[] {
  const rows = patterns.map((pattern) => {
    const { successes, failures } = counts(pattern);
    const evidence = `${successes}/${failures}`;
    const trust = trustIn(pattern, nowMs).toFixed(2);
    const what = `${describeFix(pattern.fix)} -- ${pattern.errorText}`;
    return [
      pattern.id,
      pattern.status,
      trust,
      evidence,
      pattern.tenant,
      pattern.tool === '' ? '(reply)' : pattern.tool,
      printable(what),
    ];
  });
  const table = [
    ['PATTERN', 'STATUS', 'TRUST', 'OK/NOT', 'TENANT', 'TOOL', 'FIX -- ERROR'],
    ...rows,
  ];
  const widths = [0, 1, 2, 3, 4, 5].map((column) =>
    Math.max(...table.map((row) => row[column]?.length ?? 0)),
  );
  return table.map((row) => {
    const cells = row.map((cell, column) => padTo(cell, widths[column] ?? 0));
    const [id = '', ...rest] = cells;
    const tail = cutTo(rest.join('  ').trimEnd(), Math.max(columns - id.length - 2, 40));
    return `${id}  ${tail}`.trimEnd();
  });
}

function day(atMs: number | undefined): string {
  return atMs === undefined ? 'never' : new Date(atMs).toISOString().slice(0, 16).replace('T', ' ');
}

function patternText(pattern: Pattern, nowMs: number): string {
  const { observed, used, lastUses } = pattern;
  const tally = ({ successes, failures }: Pattern['used']): string =>
    `${successes.toFixed(1)} worked, ${failures.toFixed(1)} did not`;
  const rows: readonly (readonly [string, string])[] = [
    ['pattern', pattern.id],
    ['status', `${pattern.status} since ${day(pattern.statusAtMs)}`],
    ['trust', `${trustIn(pattern, nowMs).toFixed(2)} (lower bound of its rate of success)`],
    ['tenant', pattern.tenant],
    ['tool', pattern.tool === '' ? '(the reply as a whole)' : pattern.tool],
    ['error', `${pattern.errorCode}: ${pattern.errorText}`],
    ['fix', describeFix(pattern.fix)],
    ['seen', `${tally(observed)} (weighed by age)`],
    [
      'used',
      `${tally(used)}; last: ${lastUses.map(({ helped }) => (helped ? '+' : '-')).join('') || 'none'}`,
    ],
    ['created', day(pattern.createdAtMs)],
    ['last used', day(pattern.lastUsedAtMs)],
  ];
  return rows.map(([name, value]) => `${name.padEnd(10)} ${printable(value)}`).join('\n');
}

async function selected(
  patterns: PatternStore,
  { tenant, tool, status }: Filter,
): Promise<readonly Pattern[]> {
  const found = await patterns.patterns({
    ...(tenant === undefined ? {} : { tenant }),
    ...(tool === undefined ? {} : { tool }),
  });
  return found.filter((pattern) => status === undefined || pattern.status === status);
}

/** Errors: `UserError` for an id that the store has not got. */
async function patternOf(patterns: PatternStore, id: string): Promise<Pattern> {
  const pattern = await patterns.pattern(id);
  if (pattern !== undefined) return pattern;
  throw new UserError(
    `There is no pattern "${id.slice(0, 40)}" in this store; see \`holdfast patterns list\`.`,
  );
}

function filtered(command: Command): Command {
  return command
    .option('--tenant <name>', 'only patterns of this tenant')
    .option('--tool <name>', "only patterns for this tool's errors")
    .addOption(new Option('--status <status>', 'only patterns of this status').choices(statuses))
    .option('--json', 'JSON lines: one pattern each');
}

function listCommand({ output }: CommandContext): Command {
  return filtered(new Command('list').description('list patterns, oldest first')).action(
    async (options: Filter) => {
      const found = await withPatterns((patterns) => selected(patterns, options));
      const nowMs = Date.now();
      if (options.json === true)
        for (const pattern of found) output.write(`${JSON.stringify(shown(pattern, nowMs))}\n`);
      else if (found.length === 0) output.note('No patterns.');
      else output.write(`${patternTable(found, output.columns(), nowMs).join('\n')}\n`);
    },
  );
}

function showCommand(context: CommandContext): Command {
  return new Command('show')
    .description('show one pattern and what it is worth')
    .argument('<pattern>', 'id of the pattern')
    .option('--json', 'one JSON object')
    .action(async (id: string, options: CommonOptions) => {
      const pattern = await withPatterns((patterns) => patternOf(patterns, id));
      const nowMs = Date.now();
      print(context, options, shown(pattern, nowMs), patternText(pattern, nowMs));
    });
}

/** A person's word: `disable` holds until `enable`, which leaves the pattern to its evidence again. */
function switchCommand(context: CommandContext, name: 'disable' | 'enable'): Command {
  const about =
    name === 'disable'
      ? 'never use a pattern again, whatever its evidence'
      : 'let its evidence decide about a pattern again';
  return new Command(name)
    .description(about)
    .argument('<pattern>', 'id of the pattern')
    .option('--json', 'one JSON object')
    .action(async (id: string, options: CommonOptions) => {
      const nowMs = Date.now();
      const pattern = await withPatterns(async (patterns) => {
        await patternOf(patterns, id);
        return patterns.updatePattern(id, (known) => switched(known, name, nowMs));
      });
      if (pattern === undefined) throw new UserError(`Pattern "${id}" went meanwhile.`);
      const text = `pattern ${pattern.id} is ${pattern.status}`;
      print(context, options, shown(pattern, nowMs), text);
    });
}

function switched(
  known: Pattern | undefined,
  name: 'disable' | 'enable',
  nowMs: number,
): Pattern | undefined {
  if (known === undefined) return undefined;
  if (name === 'disable') return { ...known, status: 'disabled', statusAtMs: nowMs };
  if (known.status === 'active') return known;
  return judged({ ...known, status: 'candidate', statusAtMs: nowMs, lastUses: [] }, nowMs);
}

function exportCommand({ output }: CommandContext): Command {
  return filtered(
    new Command('export').description('print patterns as JSON lines, with their corpus if asked'),
  )
    .option('--observations', 'with the observations, each marked by "type"')
    .action(async (options: Filter & { readonly observations?: boolean }) => {
      const nowMs = Date.now();
      await withPatterns(async (patterns) => {
        for (const pattern of await selected(patterns, options))
          output.write(`${JSON.stringify({ type: 'pattern', ...shown(pattern, nowMs) })}\n`);
        if (options.observations !== true) return;
        const tenants = options.tenant === undefined ? await patterns.tenants() : [options.tenant];
        for (const tenant of tenants)
          for (const observation of await patterns.observations(tenant))
            if (options.tool === undefined || observation.tool === options.tool)
              output.write(`${JSON.stringify({ type: 'observation', ...observation })}\n`);
      });
    });
}

function minutes(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > 10_080)
    throw new InvalidArgumentError('Give a whole number of minutes from 1 to 10080.');
  return value;
}

interface ScheduleOptions extends CommonOptions {
  readonly taskQueue?: string;
  readonly every: number;
}

function scheduleCommand(context: CommandContext): Command {
  return new Command('schedule')
    .description('let Temporal draw patterns from the corpus regularly; harmless to repeat')
    .option('--every <minutes>', 'minutes between two extractions', minutes, 60)
    .option('--task-queue <name>', 'task queue (default: HOLDFAST_TASK_QUEUE or holdfast)')
    .option('--json', 'one JSON object')
    .action(async (options: ScheduleOptions) => {
      const environment = readEnvironment();
      const server = await reachTemporal(environment);
      const connection = await connectClient(server.connect);
      try {
        const { namespace } = server;
        const client = new Client({ connection, namespace });
        const made = await schedulePatterns(client, {
          taskQueue: options.taskQueue ?? environment.taskQueue,
          everyMs: options.every * 60_000,
        });
        const verb = made.created ? 'created' : 'is there';
        print(
          context,
          options,
          made,
          `schedule ${made.scheduleId} ${verb}: every ${options.every} min`,
        );
      } finally {
        await connection.close();
      }
    });
}

/** Adds the command and what it can do. */
export function addPatterns(program: Command, context: CommandContext): void {
  const patterns = program
    .command('patterns')
    .description('what runs have learned: list, show, disable, enable, export, schedule');
  const parts = [
    listCommand(context),
    showCommand(context),
    switchCommand(context, 'disable'),
    switchCommand(context, 'enable'),
    exportCommand(context),
    scheduleCommand(context),
  ];
  for (const part of parts)
    patterns.addCommand(
      part
        .exitOverride()
        .configureOutput(program.configureOutput())
        .showHelpAfterError(`(see holdfast patterns ${part.name()} --help)`),
    );
}
