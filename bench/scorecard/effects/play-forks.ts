/** Forks of runs that made the same calls, and runs that continue others that were ended in the middle, with killed workers. */
import { Client, Connection } from '@temporalio/client';
import type { AgentClient } from '../../../client/agent-client';
import type { RunReported, World } from './effects-world';
import { clientOf, endOfRun, goalOf, startRuns, waitFor } from './effects-world';
import type { PlannedCall, PlannedFork } from './kill-plan';
import type { WorkerCrew } from './worker-crew';
import { effectsAgent, startCrew } from './worker-crew';

const taskQueue = 'effects-forks';
/** Milliseconds until every call of a batch is held. */
const holdTimeoutMs = 60_000;

/** The calls of the first run. */
function firstCalls({ firstId, calls }: PlannedFork): readonly PlannedCall[] {
  return calls.map((call) => ({ ...call, id: call.effectId ?? call.id, runId: firstId }));
}

/** Kills the worker once this many calls are held; `before` runs between the two. */
async function killHeld(
  { bank }: World,
  crew: WorkerCrew,
  calls: number,
  before: () => Promise<unknown>,
): Promise<void> {
  await crew.standsBy();
  await waitFor(() => bank.held().length >= calls && bank.isQuiet(), holdTimeoutMs);
  await before();
  await crew.killAndReplace(
    () => {
      bank.strike();
    },
    () => bank.killed(),
  );
}

const callsOf = (planned: readonly PlannedFork[]): readonly PlannedCall[] =>
  planned.flatMap(({ calls }) => calls);

/** Runs that complete, then forks of them at a point before their calls, in which the worker is killed. */
async function playForksOf(
  world: World,
  crew: WorkerCrew,
  forks: readonly PlannedFork[],
): Promise<void> {
  const { client, bank } = world;
  await startRuns(client, new Map(forks.map((fork) => [fork.firstId, firstCalls(fork)])));
  for (const fork of forks) await endOfRun(world, fork.firstId, firstCalls(fork));
  bank.plan(callsOf(forks));
  for (const { firstId, runId } of forks) await client.fork(firstId, 0, { runId });
  await killHeld(world, crew, callsOf(forks).length, () => Promise.resolve());
}

/** Runs that are ended, and their worker killed, in the middle of their calls; then runs that continue them. */
async function playContinued(
  world: World,
  crew: WorkerCrew,
  continued: readonly PlannedFork[],
  end: (runId: string) => Promise<unknown>,
): Promise<void> {
  const { client, bank } = world;
  bank.plan(callsOf(continued));
  await startRuns(client, new Map(continued.map((each) => [each.firstId, firstCalls(each)])));
  await killHeld(world, crew, callsOf(continued).length, () =>
    Promise.all(continued.map(({ firstId }) => end(firstId))),
  );
  for (const { firstId, runId, calls } of continued) await goOn(client, firstId, runId, calls);
}

async function goOn(
  client: AgentClient,
  continueFrom: string,
  runId: string,
  calls: readonly PlannedCall[],
): Promise<void> {
  await client.start({ agent: effectsAgent, goal: goalOf(calls), continueFrom, runId });
}

/** Plays the planned forks and continued runs; returns what their models were told, and how many processes were killed. */
export async function playForks(
  world: World,
  planned: readonly PlannedFork[],
): Promise<{ readonly reported: ReadonlyMap<string, RunReported>; readonly processes: number }> {
  const crew = await startCrew({ ...world.settings, taskQueue, serves: 'all' }, world.execArgv);
  const client = await clientOf(world, taskQueue);
  const { temporalAddress: address, namespace } = world.settings;
  const connection = await Connection.connect({ address });
  const { workflow } = new Client({ connection, namespace });
  try {
    const here = { ...world, client };
    const of = (how: PlannedFork['how']): readonly PlannedFork[] =>
      planned.filter((each) => each.how === how);
    await playForksOf(here, crew, of('fork'));
    await playContinued(here, crew, of('continue'), (runId) =>
      workflow.getHandle(runId).terminate('the scorecard ends it'),
    );
    const reported = await Promise.all(
      planned.map(async ({ runId, calls }) => [runId, await endOfRun(here, runId, calls)] as const),
    );
    return { reported: new Map(reported), processes: crew.kills() };
  } finally {
    await connection.close();
    await client.close();
    await crew.dismiss();
  }
}
