/** `holdfast list`: runs that go on, then those that ended last. */
import type { Command } from 'commander';
import { InvalidArgumentError, Option } from 'commander';
import type { RunStatusWord } from '../../../workflows/core/view/status';
import type { RunSummary } from '../../../client/list-runs';
import { defaultListLimit } from '../../../client/list-runs';
import type { CommandContext, CommonOptions } from '../command-context';
import { withClient } from '../command-context';
import { cutTo, duration, padTo, printable } from '../display/terminal-text';

interface Options extends CommonOptions {
  readonly status?: RunStatusWord;
  readonly agent?: string;
  readonly limit: number;
}

const statusWords: readonly RunStatusWord[] = [
  'running',
  'waiting',
  'completed',
  'stopped',
  'failed',
  'cancelled',
];

/** Adds the command. */
export function addList(program: Command, context: CommandContext): void {
  program
    .command('list')
    .description('list runs: those that go on, newest first, then those that ended last')
    .addOption(new Option('--status <status>', 'only runs of this status').choices(statusWords))
    .option('--agent <name>', 'only runs of this agent')
    .option('--limit <count>', 'at most so many', wholeNumber, defaultListLimit)
    .option('--json', 'JSON lines: one run each')
    .action(async (options: Options) => {
      const { json, ...filter } = options;
      const runs = await withClient(context, (client) => client.list(filter));
      const { output } = context;
      if (json === true) for (const run of runs) output.write(`${JSON.stringify(run)}\n`);
      else if (runs.length === 0) output.note('No runs.');
      else output.write(`${runTable(runs, output.columns()).join('\n')}\n`);
    });
}

function wholeNumber(text: string): number {
  const value = Number(text);
  if (!Number.isInteger(value) || value < 1 || value > 10_000)
    throw new InvalidArgumentError('Give a whole number from 1 to 10000.');
  return value;
}

/** A table that is cut to the width; the run's id is never cut, so that it can be copied. */
export function runTable(runs: readonly RunSummary[], columns: number): readonly string[] {
  const nowMs = Date.now();
  const rows = runs.map((run) => [
    run.runId,
    run.status,
    run.agent,
    run.iteration === undefined ? '' : String(run.iteration),
    duration((run.closedAtMs ?? nowMs) - run.startedAtMs),
    printable(run.reason ?? run.route ?? ''),
  ]);
  const table = [['RUN', 'STATUS', 'AGENT', 'ITER', 'TIME', 'DETAIL'], ...rows];
  const widths = [0, 1, 2, 3, 4].map((column) =>
    Math.max(...table.map((row) => row[column]?.length ?? 0)),
  );
  return table.map((row) => {
    const [id = '', ...rest] = row;
    const tail = rest
      .map((cell, index) => padTo(cell, widths[index + 1] ?? 0))
      .join('  ')
      .trimEnd();
    const head = padTo(id, widths[0] ?? 0);
    return `${head}  ${cutTo(tail, Math.max(columns - head.length - 2, 30))}`.trimEnd();
  });
}
