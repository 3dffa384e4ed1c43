/** Command line of the benchmarks: `npm run bench` measures speed; `npm run bench -- history|fleet|long-run|compaction|growth|cancel|waiting|restarts|telemetry|console` the rest. */
import { parseArgs } from 'node:util';
import { cancelBench } from './cancel-bench';
import { consoleBench } from './console-bench';
import { compactionBench, longRunBench } from './context-bench';
import { fleetBench } from './fleet-bench';
import { growthBench } from './growth-bench';
import { historyBench } from './history-bench';
import { runProgram } from './program';
import { restartBench } from './restart-bench';
import { speedUsage } from './speed/arguments';
import { telemetryBench } from './telemetry-bench';
import { speedBench } from './speed/command-line';
import { waitingBench } from './waiting-bench';

const usage = [
  speedUsage,
  '       npm run bench -- history [--iterations N] [--json]',
  '       npm run bench -- fleet [--runs N] [--outage-minutes N] [--json]',
  '       npm run bench -- long-run|compaction [--iterations N] [--json]',
  '       npm run bench -- console [--iterations N] [--runs N] [--json]',
  '       npm run bench -- growth [--rounds N] [--json]',
  '       npm run bench -- cancel|waiting|restarts [--runs N] [--json]',
  '       npm run bench -- telemetry [--rounds N] [--json]',
].join('\n');

/** Default iterations, by bench; the long run's are the bar of docs/results.md. */
const usualIterations: Readonly<Record<string, number>> = {
  'long-run': 2_000,
  compaction: 200,
  console: 2_000,
};

const roundBenches: Readonly<Record<string, (rounds: number) => Promise<object>>> = {
  growth: growthBench,
  telemetry: telemetryBench,
};

/** Measures in rounds, if `given` is a whole number; the exit code. */
async function inRounds(
  bench: (rounds: number) => Promise<object>,
  given: string,
  asJson: boolean,
): Promise<number> {
  const rounds = wholeNumber(given, 1);
  if (rounds === undefined) {
    process.stderr.write(`${usage}\nrounds: a whole number of at least 1\n`);
    return 2;
  }
  print(await bench(rounds), asJson);
  return 0;
}

const contextBenches: Readonly<
  Record<string, (iterations: number) => Promise<{ readonly isRight: boolean }>>
> = { 'long-run': longRunBench, compaction: compactionBench };

const benchesOfRuns: Readonly<Record<string, (runs: number) => Promise<object>>> = {
  cancel: cancelBench,
  waiting: waitingBench,
  restarts: restartBench,
};

function print(result: object, asJson: boolean): void {
  process.stdout.write(`${JSON.stringify(result, null, asJson ? undefined : 2)}\n`);
}

/** A whole number of at least `least`, or undefined. */
function wholeNumber(text: string, least: number): number | undefined {
  const value = Number(text);
  return Number.isInteger(value) && value >= least ? value : undefined;
}

async function namedBench(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      iterations: { type: 'string' },
      runs: { type: 'string', default: '100' },
      rounds: { type: 'string', default: '3' },
      'outage-minutes': { type: 'string', default: '10' },
      json: { type: 'boolean', default: false },
    },
  });
  const [name = ''] = positionals;
  const runs = wholeNumber(values.runs, 2);
  const ofRuns = benchesOfRuns[name];
  if (ofRuns !== undefined && runs !== undefined) {
    print(await ofRuns(runs), values.json);
    return 0;
  }
  const bench = roundBenches[name];
  return bench === undefined ? measured(name, values) : inRounds(bench, values.rounds, values.json);
}

/** What every other bench is given. */
interface Given {
  readonly iterations?: string | undefined;
  readonly runs: string;
  readonly 'outage-minutes': string;
  readonly json: boolean;
}

function benchOf(
  name: string,
  iterations: number,
  runs: number,
  minutes: number,
): Promise<object> | undefined {
  if (name === 'history') return historyBench(iterations);
  if (name === 'console') return consoleBench(iterations, runs);
  if (name === 'fleet') return fleetBench(runs, minutes);
  return contextBenches[name]?.(iterations);
}

async function measured(name: string, values: Given): Promise<number> {
  const usual = usualIterations[name] ?? 1_000;
  const iterations = wholeNumber(values.iterations ?? String(usual), 100);
  const runs = wholeNumber(values.runs, 2);
  const minutes = wholeNumber(values['outage-minutes'], 1);
  if (iterations !== undefined && runs !== undefined && minutes !== undefined) {
    const result = await benchOf(name, iterations, runs, minutes);
    if (result !== undefined) {
      print(result, values.json);
      return 'isRight' in result && !result.isRight ? 1 : 0;
    }
  }
  process.stderr.write(
    `${usage}\niterations: a whole number of at least 100; runs: of at least 2; outage-minutes: of at least 1\n`,
  );
  return 2;
}

/** Speed is what is measured unless an argument names another benchmark. */
runProgram((args, output) => {
  const isNamed = ['history', 'fleet', 'console', ...Object.keys(contextBenches)].some((name) =>
    args.includes(name),
  );
  if (isNamed || args[0]?.startsWith('-') === false) return namedBench();
  return speedBench(args, output);
});
