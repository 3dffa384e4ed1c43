/** The fault scorecard: `npm run scorecard -- [--only SECTION] [--json]`. */
import { runScorecard } from './scorecard/command-line';

runScorecard(process.argv.slice(2), {
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
