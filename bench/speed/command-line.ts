/** `npm run bench`: reads the arguments, runs, prints, keeps. */
import { readFile, writeFile } from 'node:fs/promises';
import type { Row } from './cells';
import { readSpeedArguments, speedUsage } from './arguments';
import { installPeers } from './peers';
import type { SpeedResult } from './result';
import { resultLine, resultOf } from './result';
import type { SpeedSurroundings } from './run-speed';
import { runSpeed } from './run-speed';
import { tablesOf } from './tables';
import type { ProgramOutput } from '../program';

function lineOf({ round, engine, cell, measured, failed, load }: Row): string {
  const numbers = Object.entries(measured).map(
    ([name, value]) => `${name} ${value < 100 ? value.toFixed(2) : Math.round(value)}`,
  );
  return `round ${round}, load ${load}: ${engine}, ${cell}: ${failed ?? numbers.join(', ')}`;
}

/**
 * Carries out the command; resolves with its exit code: 0, or 2 for wrong arguments, before anything has started.
 *
 * Contract: with `--json` the last line of `result` is the one line of `resultLine`.
 */
export async function speedBench(
  args: readonly string[],
  output: ProgramOutput,
  surroundings: Pick<SpeedSurroundings, 'execArgv'> = {},
): Promise<number> {
  const request = readSpeedArguments(args);
  switch (request.type) {
    case 'problem':
      output.people(`${request.problem}\n${speedUsage}`);
      return 2;
    case 'install-peers':
      await installPeers();
      return 0;
    case 'tables':
      output.result(tablesOf(JSON.parse(await readFile(request.file, 'utf8')) as SpeedResult));
      return 0;
    case 'run': {
      if (request.peers) await installPeers();
      const onRow = (row: Row): void => {
        output.people(lineOf(row));
      };
      const result = resultOf(await runSpeed(request.plan, { ...surroundings, onRow }));
      if (request.out !== undefined)
        await writeFile(request.out, `${JSON.stringify(result, null, 1)}\n`);
      output.result(request.json ? resultLine(result) : tablesOf(result));
      return 0;
    }
  }
}
