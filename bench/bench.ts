/** Command line of the benchmarks: `npm run bench -- history|fleet [--json]`. */
import { parseArgs } from 'node:util';
import { fleetBench } from './fleet-bench';
import { historyBench } from './history-bench';

const usage = [
  'usage: npm run bench -- history [--iterations N] [--json]',
  '       npm run bench -- fleet [--runs N] [--outage-minutes N] [--json]',
].join('\n');

function print(result: object, asJson: boolean): void {
  process.stdout.write(`${JSON.stringify(result, null, asJson ? undefined : 2)}\n`);
}

/** A whole number of at least `least`, or undefined. */
function wholeNumber(text: string, least: number): number | undefined {
  const value = Number(text);
  return Number.isInteger(value) && value >= least ? value : undefined;
}

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      iterations: { type: 'string', default: '1000' },
      runs: { type: 'string', default: '100' },
      'outage-minutes': { type: 'string', default: '10' },
      json: { type: 'boolean', default: false },
    },
  });
  const iterations = wholeNumber(values.iterations, 100);
  const runs = wholeNumber(values.runs, 2);
  const minutes = wholeNumber(values['outage-minutes'], 1);
  if (positionals[0] === 'history' && iterations !== undefined) {
    print(await historyBench(iterations), values.json);
    return 0;
  }
  if (positionals[0] === 'fleet' && runs !== undefined && minutes !== undefined) {
    print(await fleetBench(runs, minutes), values.json);
    return 0;
  }
  process.stderr.write(
    `${usage}\niterations: a whole number of at least 100; runs: of at least 2; outage-minutes: of at least 1\n`,
  );
  return 2;
}

main().then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  },
);
