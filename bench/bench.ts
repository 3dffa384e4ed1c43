/** Command line of the benchmarks: `npm run bench -- history [--iterations 1000] [--json]`. */
import { parseArgs } from 'node:util';
import { historyBench } from './history-bench';

const usage = 'usage: npm run bench -- history [--iterations N] [--json]';

async function main(): Promise<number> {
  const { values, positionals } = parseArgs({
    allowPositionals: true,
    options: {
      iterations: { type: 'string', default: '1000' },
      json: { type: 'boolean', default: false },
    },
  });
  const iterations = Number(values.iterations);
  if (positionals[0] !== 'history' || !Number.isInteger(iterations) || iterations < 100) {
    process.stderr.write(`${usage}\niterations: a whole number of at least 100\n`);
    return 2;
  }
  const result = await historyBench(iterations);
  if (values.json) {
    process.stdout.write(`${JSON.stringify(result)}\n`);
    return 0;
  }
  for (const [index, n] of result.n.entries())
    process.stdout.write(
      `up to iteration ${n}: ${result.bytesPerIteration[index]} bytes, ${result.eventsPerIteration[index]} events per iteration\n`,
    );
  process.stdout.write(
    `continued as new ${result.continuedAsNew} times; largest run ${result.largestRunBytes} bytes; highest window ${result.spread} x the lowest; ${result.seconds} s\n`,
  );
  return 0;
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
