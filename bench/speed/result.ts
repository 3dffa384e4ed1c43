/** The result of a benchmark: rows made into ratios, the headline, and the bars. */
import { cpus, loadavg } from 'node:os';
import type { Measure, Row } from './cells';
import type { SpeedRows } from './run-speed';
import type { Spread, SpeedSummary } from './statistics';
import { ratiosOf, spreadOf, summarize } from './statistics';

/** One engine over the floor: medians; null where the run did not measure it. */
interface Headline {
  readonly ratios: {
    readonly wallPerIteration: number | null;
    readonly cpuPerIteration: number | null;
    /** Wall time of 100 runs at once. */
    readonly concurrent100: number | null;
    readonly historyBytes: number | null;
    readonly replay: number | null;
  };
  readonly actionsPerIteration: number | null;
}

/** A bar, and what was measured for it. */
export interface Bar {
  readonly bar: string;
  readonly limit: number;
  /** Null: this run did not measure it. */
  readonly measured: number | null;
  readonly passes: boolean | null;
}

/** Everything that is kept of a benchmark. */
export interface SpeedResult {
  readonly date: string;
  readonly machine: {
    readonly node: string;
    readonly platform: string;
    readonly cpus: number;
    /** One minute, median and highest over the cells. */
    readonly load: Spread;
  };
  readonly serverVersion: string;
  readonly versions: SpeedRows['versions'];
  readonly rounds: number;
  /** By engine: `holdfast` is the headline, the worse of the two usual kinds of tools. */
  readonly headlines: Readonly<Record<string, Headline>>;
  readonly bars: readonly Bar[];
  readonly summary: SpeedSummary;
}

const floor = 'floor';
const bytesPerGiB = 1024 ** 3;
/** Iterations and result bytes of the headline, and the runs of its concurrent cell. */
const headlineSize = '100 x 1024 B';
const concurrentHeadline = /^concurrent 100 runs /;

function cellNamed(summary: SpeedSummary, pattern: RegExp | string): string {
  const matches = (name: string) =>
    typeof pattern === 'string' ? name === pattern : pattern.test(name);
  return Object.keys(summary).find(matches) ?? '';
}

function over(summary: SpeedSummary, cell: string, engine: string, name: Measure): number | null {
  return summary[cell]?.[engine]?.overFloor[name]?.median ?? null;
}

function median(summary: SpeedSummary, cell: string, engine: string, name: Measure): number | null {
  return summary[cell]?.[engine]?.measured[name]?.median ?? null;
}

/** The headline of one engine. */
function headlineOf(summary: SpeedSummary, engine: string): Headline {
  const single = `single ${headlineSize}`;
  const concurrent = cellNamed(summary, concurrentHeadline);
  return {
    ratios: {
      wallPerIteration: over(summary, single, engine, 'wallMs'),
      cpuPerIteration: over(summary, single, engine, 'workerCpuMs'),
      concurrent100: over(summary, concurrent, engine, 'wallMs'),
      historyBytes: over(summary, single, engine, 'historyBytes'),
      replay: over(summary, `replay ${headlineSize}`, engine, 'wallMs'),
    },
    actionsPerIteration: median(summary, single, engine, 'actions'),
  };
}

/** History bytes of an iteration between 100 and 1,000 iterations, over those between 10 and 100. */
function historyGrowth(summary: SpeedSummary, engine: string): number | null {
  const total = (iterations: number): number | null => {
    const each = median(summary, `single ${iterations} x 1024 B`, engine, 'historyBytes');
    return each === null ? null : each * iterations;
  };
  const [few, some, many] = [total(10), total(100), total(1_000)];
  if (few === null || some === null || many === null) return null;
  return Math.round(((many - some) / 900 / ((some - few) / 90)) * 1000) / 1000;
}

/** The highest median ratio to a peer over all single and concurrent cells that both completed. */
function worstOver(
  { rows }: SpeedRows,
  engine: string,
  peer: string,
  name: Measure,
): number | null {
  const cells = [...new Set(rows.map(({ cell }) => cell))].filter((cell) =>
    /^(single|concurrent) /.test(cell),
  );
  const medians = cells.flatMap(
    (cell) => spreadOf(ratiosOf(rows, cell, engine, peer, name))?.median ?? [],
  );
  return medians.length === 0 ? null : Math.max(...medians);
}

/** Gibibytes of the worker after 1,000 runs at once; Infinity where one of them did not complete. */
function peakOf1000(summary: SpeedSummary, engine: string): number | null {
  const seen = summary[cellNamed(summary, /^concurrent 1000 runs /)]?.[engine];
  if (seen === undefined) return null;
  if (seen.failed !== undefined) return Infinity;
  const bytes = seen.measured.peakBytes?.median;
  return bytes === undefined ? null : Math.round((bytes / bytesPerGiB) * 100) / 100;
}

function barOf(bar: string, limit: number, measured: number | null): Bar {
  return { bar, limit, measured, passes: measured === null ? null : measured <= limit };
}

/** Every bar of the benchmark, for the engines that it holds for. */
function barsOf(seen: SpeedRows, summary: SpeedSummary): readonly Bar[] {
  const single = `single ${headlineSize}`;
  const concurrent = cellNamed(summary, concurrentHeadline);
  const usual = ['holdfast', 'holdfast-read'].flatMap((engine) => [
    barOf(`${engine}: wall time, one run`, 1.15, over(summary, single, engine, 'wallMs')),
    barOf(`${engine}: wall time, 100 runs`, 1.15, over(summary, concurrent, engine, 'wallMs')),
    barOf(`${engine}: worker CPU`, 1.5, over(summary, single, engine, 'workerCpuMs')),
    barOf(`${engine}: history bytes`, 1.35, over(summary, single, engine, 'historyBytes')),
    barOf(`${engine}: growth of history`, 1.1, historyGrowth(summary, engine)),
    barOf(`${engine}: actions`, 2.2, median(summary, single, engine, 'actions')),
    barOf(
      `${engine}: replay of 1,000`,
      1.5,
      over(summary, 'replay 1000 x 1024 B', engine, 'wallMs'),
    ),
    barOf(`${engine}: GiB of 1,000 runs`, 1.5, peakOf1000(summary, engine)),
    ...['ai-sdk', 'openai-agents'].flatMap((peer) => [
      barOf(`${engine}: wall time over ${peer}`, 1, worstOver(seen, engine, peer, 'wallMs')),
      barOf(`${engine}: worker CPU over ${peer}`, 1, worstOver(seen, engine, peer, 'workerCpuMs')),
    ]),
  ]);
  const quick = 'holdfast-quick';
  return [
    ...usual,
    barOf(`${quick}: wall time, one run`, 0.75, over(summary, single, quick, 'wallMs')),
    barOf(`${quick}: actions`, 1.2, median(summary, single, quick, 'actions')),
  ];
}

/** Makes the result of what was run. */
export function resultOf(seen: SpeedRows): SpeedResult {
  const summary = summarize(seen.rows, floor);
  const measuredEngines = [...new Set(seen.rows.map(({ engine }: Row) => engine))];
  const loads = spreadOf(seen.rows.map(({ load }) => load));
  return {
    date: new Date().toISOString(),
    machine: {
      node: process.version,
      platform: `${process.platform} ${process.arch}`,
      cpus: cpus().length,
      load: loads ?? { median: loadavg()[0] ?? 0, min: 0, max: 0 },
    },
    serverVersion: seen.serverVersion,
    versions: seen.versions,
    rounds: seen.rounds,
    headlines: Object.fromEntries(
      measuredEngines
        .filter((engine) => engine.startsWith('holdfast'))
        .map((engine) => [engine, headlineOf(summary, engine)]),
    ),
    bars: barsOf(seen, summary),
    summary,
  };
}

/** The one line of `--json`: the worse kind of tool first, the other ones beside it. */
export function resultLine({ headlines, bars, ...result }: SpeedResult): string {
  const { holdfast, ...others } = headlines;
  const measuredBars = bars.filter(({ measured }) => measured !== null);
  const beside: Record<string, Headline> = {};
  for (const [engine, headline] of Object.entries(others))
    beside[engine.replace('holdfast-', '')] = headline;
  return JSON.stringify({ ...holdfast, ...beside, bars: measuredBars, ...result });
}
