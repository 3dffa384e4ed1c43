/** Kills workers while calls stand at their planned points. */
import type { Bank } from './bank';
import type { RunReported, World } from './effects-world';
import { clientOf, endOfRun, startRuns, waitFor } from './effects-world';
import type { PlannedCall } from './kill-plan';
import type { WorkerCrew } from './worker-crew';
import { startCrew } from './worker-crew';

const taskQueue = 'effects';
/** Milliseconds until every call of a batch is held. */
const holdTimeoutMs = 60_000;

/** Calls with a point that is still to come. */
function pendingKills(bank: Bank, calls: readonly PlannedCall[]): number {
  return calls.filter(({ id, points }) => bank.hitsOf(id).length < points.length).length;
}

type Runs = ReadonlyMap<string, readonly PlannedCall[]>;

/** Starts runs batch by batch, and kills the worker each time that all calls stand where they are to be killed. */
async function killThrough(
  { bank, client }: Pick<World, 'bank' | 'client'>,
  crew: WorkerCrew,
  batches: readonly Runs[],
): Promise<void> {
  const begun: PlannedCall[] = [];
  for (let batch = 0; batch < batches.length || pendingKills(bank, begun) > 0; batch++) {
    const runs = batches[batch] ?? new Map<string, readonly PlannedCall[]>();
    begun.push(...[...runs.values()].flat());
    await startRuns(client, runs);
    const waiting = pendingKills(bank, begun);
    // Before the look, since a call that begins between look and kill is killed where nobody planned it.
    await crew.standsBy();
    await waitFor(() => bank.held().length >= waiting && bank.isQuiet(), holdTimeoutMs);
    // What is not held by now never will be: it is judged as not killed.
    if (bank.held().length === 0) return;
    await crew.killAndReplace(
      () => {
        bank.strike();
      },
      () => bank.killed(),
    );
  }
}

function batchesOf(runs: Runs, size: number): readonly Runs[] {
  const entries = [...runs];
  const count = Math.ceil(entries.length / size);
  return Array.from(
    { length: count },
    (_, index) => new Map(entries.slice(index * size, (index + 1) * size)),
  );
}

/** Plays the planned kills; returns what the runs reported, and how many processes were killed. */
export async function playKills(
  world: World,
  runs: Runs,
  runsAtOnce: number,
): Promise<{ readonly reported: ReadonlyMap<string, RunReported>; readonly processes: number }> {
  const crew = await startCrew({ ...world.settings, taskQueue, serves: 'all' }, world.execArgv);
  const client = await clientOf(world, taskQueue);
  try {
    const here = { ...world, client };
    await killThrough(here, crew, batchesOf(runs, runsAtOnce));
    const reported = await Promise.all(
      [...runs].map(async ([runId, calls]) => [runId, await endOfRun(here, runId, calls)] as const),
    );
    return { reported: new Map(reported), processes: crew.kills() };
  } finally {
    await client.close();
    await crew.dismiss();
  }
}
