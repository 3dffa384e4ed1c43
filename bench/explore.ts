/** Command line of the explorer of the core: `npm run explore`. */
import { runExplorer } from './explore/command-line';

process.exitCode = runExplorer(process.argv.slice(2), {
  result: (line) => process.stdout.write(`${line}\n`),
  people: (line) => process.stderr.write(`${line}\n`),
});
