/** Command line of the chaos: `npm run chaos`. */
import { runChaos } from './chaos/command-line';

// What it has started ends with it.
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    process.exit(2);
  });

void runChaos(process.argv.slice(2), process.env, {
  result: (line) => process.stdout.write(`${line}\n`),
  people: (line) => process.stderr.write(`${line}\n`),
}).then((code) => {
  // Readers of streams that never ended would keep the process.
  process.exit(code);
});
