/** A result as the tables of docs/speed.md. */
import type { Measure } from './cells';
import { engines } from './engines';
import type { Bar, SpeedResult } from './result';
import type { CellSummary, Spread } from './statistics';

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.join(' | ')} |`;
  return [line(head), line(head.map(() => '---')), ...rows.map(line)].join('\n');
}

function short(value: number): string {
  if (value >= 1_000_000) return `${(value / 1_000_000).toFixed(1)} M`;
  if (value >= 100) return Math.round(value).toLocaleString('en-US');
  return value.toFixed(value < 10 ? 2 : 1);
}

function range({ min, max }: Spread): string {
  return min === max ? '' : ` (${short(min)}–${short(max)})`;
}

/** The median; over the floor with its spread in brackets. */
function cellText(seen: CellSummary | undefined, name: Measure): string {
  if (seen === undefined) return '–';
  const value = seen.measured[name];
  if (value === undefined) return seen.failed === undefined ? '–' : 'fails';
  const ratio = seen.overFloor[name];
  return ratio === undefined
    ? `${short(value.median)}${range(value)}`
    : `${short(value.median)}: ${ratio.median.toFixed(2)}${range(ratio)}`;
}

function section(
  { summary }: SpeedResult,
  title: string,
  name: Measure,
  kinds: RegExp,
): readonly string[] {
  const cells = Object.keys(summary).filter(
    (cell) =>
      kinds.test(cell) &&
      Object.values(summary[cell] ?? {}).some(({ measured }) => measured[name] !== undefined),
  );
  const names = Object.keys(engines).filter((engine) =>
    cells.some((cell) => summary[cell]?.[engine] !== undefined),
  );
  if (cells.length === 0) return [];
  const rows = names.map((engine) => [
    engine,
    ...cells.map((cell) => cellText(summary[cell]?.[engine], name)),
  ]);
  return [`### ${title}`, table(['Engine', ...cells], rows)];
}

function barRow({ bar, limit, measured, passes }: Bar): readonly string[] {
  const verdict = passes === null ? 'not measured' : passes ? 'pass' : 'FAIL';
  return [bar, String(limit), measured === null ? '–' : String(measured), verdict];
}

function failures({ summary }: SpeedResult): readonly string[] {
  const lines = Object.entries(summary).flatMap(([cell, byEngine]) =>
    Object.entries(byEngine).flatMap(([engine, { failed }]) =>
      failed === undefined ? [] : [`- ${engine}, ${cell}: ${failed}`],
    ),
  );
  return lines.length === 0 ? [] : ['### What failed', lines.join('\n')];
}

/** Markdown: what was run, the bars, a table for each measure, what failed. */
export function tablesOf(result: SpeedResult): string {
  const { machine, versions } = result;
  const known = Object.entries(versions).map(
    ([engine, packages]) =>
      `${engine}: ${Object.entries(packages)
        .map(([name, version]) => `${name} ${version}`)
        .join(', ')}`,
  );
  const bars = result.bars.map(barRow);
  const runs = /^(single|concurrent) /;
  const alone = /^single /;
  return [
    `${result.date.slice(0, 10)}, ${machine.cpus} CPUs, ${machine.platform}, Node ${machine.node}, Temporal server ` +
      `${result.serverVersion}; rounds: ${result.rounds}; load ${machine.load.median} (${machine.load.min} to ${machine.load.max}).`,
    `${known.join('; ')}.`,
    '### Bars',
    table(['Bar', 'Limit', 'Measured', 'Verdict'], bars),
    ...section(result, 'Wall time of an iteration, ms', 'wallMs', runs),
    ...section(result, 'Worker CPU of an iteration, ms', 'workerCpuMs', runs),
    ...section(result, 'Server CPU of an iteration, ms', 'serverCpuMs', runs),
    ...section(result, 'History of an iteration, bytes', 'historyBytes', alone),
    ...section(result, 'Events of an iteration', 'events', alone),
    ...section(result, 'Billed actions of an iteration', 'actions', alone),
    ...section(result, 'Heartbeats of an iteration', 'heartbeats', runs),
    ...section(result, 'Replay of an iteration, ms', 'wallMs', /^replay /),
    ...section(result, 'Start of a worker, ms', 'startMs', /^start$/),
    ...section(result, 'Memory of a cached run, bytes', 'cachedRunBytes', /^memory$/),
    ...section(result, 'Highest memory of the worker, bytes', 'peakBytes', /^concurrent /),
    ...failures(result),
  ].join('\n\n');
}
