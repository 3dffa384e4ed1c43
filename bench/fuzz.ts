/** `npm run fuzz`: what comes from outside, broken by chance: see `fuzz/command-line.ts`. */
import { fuzz } from './fuzz/command-line';

fuzz(process.argv.slice(2), {
  result: (line) => process.stdout.write(`${line}\n`),
  people: (text) => process.stderr.write(`${text}\n`),
}).then(
  (code) => {
    process.exitCode = code;
  },
  (error: unknown) => {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    process.exitCode = 1;
  },
);
