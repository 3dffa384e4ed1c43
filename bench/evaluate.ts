/** Command line of the evaluation with a real model: `npm run evaluate`. */
import { runEvaluation } from './evaluate/command-line';

void runEvaluation(process.argv.slice(2), {
  result: (line) => process.stdout.write(`${line}\n`),
  people: (line) => process.stderr.write(`${line}\n`),
}).then((code) => {
  process.exitCode = code;
});
