/** Plays provider faults, several at once, and counts what came of them. */
import type { SectionScore } from '../section';
import type { StagedFault } from './fault-stage';
import { playedServers, stageFault } from './fault-stage';
import { judgeFault } from './judge-fault';
import { playFault, seenFault } from './play-fault';
import type { ProviderFault } from './provider-fault';
import { inProviderWorld } from './provider-world';

/** Rows that run at the same time: most of them wait for timers. */
const rowsAtOnce = 12;

/** Does `work` for each item, some at a time, and gives the results in the items' order. */
export async function forEachOf<Item, Result>(
  items: readonly Item[],
  atOnce: number,
  work: (item: Item) => Promise<Result>,
): Promise<readonly Result[]> {
  const results = new Map<number, Result>();
  const rest = items.entries();
  const lane = async (): Promise<void> => {
    for (const [index, item] of rest) results.set(index, await work(item));
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  return [...results.entries()].sort(([left], [right]) => left - right).map(([, result]) => result);
}

function checkIds(faults: readonly ProviderFault[]): void {
  const ids = new Set<string>();
  for (const { id } of faults) {
    if (ids.has(id)) throw new Error(`Two rows of the scorecard are called "${id}".`);
    ids.add(id);
  }
}

/**
 * Plays the rows in a world of their own.
 *
 * Contract: `summary` has exactly the fields of docs/results.md. Errors: rejects on a duplicate id.
 */
export async function scoreProviderFaults(faults: readonly ProviderFault[]): Promise<SectionScore> {
  checkIds(faults);
  const staged: StagedFault[] = [];
  const [played, requests] = await inProviderWorld(
    (vendors) => {
      staged.push(...faults.map((fault, index) => stageFault(fault, index, vendors)));
      return {
        agents: staged.map(({ agent }) => agent),
        providers: staged.flatMap(({ providers }) => providers),
      };
    },
    async (world) => [
      await forEachOf(
        staged,
        rowsAtOnce,
        async (row) => [row, await playFault(world, row)] as const,
      ),
      world.emulator.requests,
    ],
    undefined,
    { servers: playedServers(faults) },
  );
  const verdicts = played.map(([row, result]) =>
    judgeFault(row.fault, seenFault(requests, row, result)),
  );
  const rows = verdicts.map(({ row }) => row);
  const rightRows = (type: ProviderFault['right']['type']): number =>
    faults.filter((fault, index) => fault.right.type === type && rows[index]?.wrong === undefined)
      .length;
  return {
    rows,
    summary: {
      faults: faults.length,
      recovered: rightRows('recovers'),
      stoppedReadably: rightRows('stops'),
      wrong: rows.flatMap(({ wrong }) => (wrong === undefined ? [] : [{ ...wrong }])),
      extraCalls: verdicts.reduce((sum, { extraCalls }) => sum + extraCalls, 0),
    },
  };
}
