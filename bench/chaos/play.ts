/** Plays one chaos: many runs and many faults at once, then a world in which everything works, in which all of them must end. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import type { Received } from '../scorecard/gateway/event-client';
import { followRun } from '../scorecard/gateway/event-client';
import type { ChaosRecord } from './check';
import { control } from './cluster';
import type { ClusterControl } from './cluster';
import type { StartedJob } from './collect';
import { collect } from './collect';
import type { Job } from './jobs';
import { goalOf, planJobs } from './jobs';
import { makeModel } from './model';
import { servePeople, startThroughGateway } from './people';
import type { FaultKind } from './schedule';
import { faultText, planFaults, workerCount } from './schedule';
import { makeCurrent, strikeAll } from './strike';
import type { World } from './world';
import { builds, startWorld } from './world';

/** How one chaos is played. */
export interface ChaosOptions {
  readonly seed: number;
  readonly minutes: number;
  readonly runs: number;
  readonly only: readonly FaultKind[];
}

/** US dollars that each run may spend: so much that it never ends a run, and a budget makes every lost request known. */
const budget = { usd: 100 };
const lookEveryMs = 500;

/** Waits until every worker serves. */
async function allServe({ workers }: World): Promise<void> {
  const slots = Array.from({ length: workerCount }, (_, slot) => slot);
  while (slots.some((slot) => workers.serving(slot) === undefined)) await delay(lookEveryMs);
}

/** Starts the job's run when its time has come, and follows its events. */
async function startJob(
  { caller, taskQueue, isOver }: World,
  job: Job,
  index: number,
  readers: Map<string, Promise<Received>>,
): Promise<StartedJob> {
  await delay(job.atMs);
  const request = { agent: job.kind, goal: goalOf(job), budget };
  const runId = await startThroughGateway(caller, `${taskQueue}-${job.id}`, request, isOver);
  if (runId === undefined) return { job };
  const url = caller.urls[index % caller.urls.length] ?? '';
  const followed = { url, token: caller.token, runId, onEntry: () => undefined };
  readers.set(runId, followRun(followed));
  return { job, runId };
}

/** Everything works again. */
async function heal(world: World): Promise<void> {
  for (const link of world.links.values()) link.set('pass');
  const isThere = await world.temporal.connection.workflowService.getSystemInfo({}).then(
    () => true,
    () => false,
  );
  if (!isThere) await control(world.cluster.startTemporal);
  await allServe(world);
}

/** Plays the chaos in this folder. */
async function playIn(
  folder: string,
  cluster: ClusterControl,
  { seed, minutes, runs, only }: ChaosOptions,
  say: (line: string) => void,
): Promise<ChaosRecord> {
  const faults = planFaults(seed, minutes, only);
  say(`${faults.length} faults are planned for seed ${seed}:`);
  for (const fault of faults) say(`  ${faultText(fault)}`);
  const jobs = planJobs(seed, minutes, runs);
  const world = await startWorld(cluster, folder, `chaos-${seed}-${Date.now().toString(36)}`);
  try {
    const { rule, memory } = makeModel(jobs, seed);
    world.emulator.script(rule);
    await allServe(world);
    await makeCurrent(world, builds[0]);
    say(`everything serves; task queue ${world.taskQueue}, logs in ${folder}`);
    void servePeople(world.caller, world.bank.ledger, world.isOver);
    const readers = new Map<string, Promise<Received>>();
    const starting = Promise.all(jobs.map((job, index) => startJob(world, job, index, readers)));
    const { played, notMade } = await strikeAll(world, faults, say);
    say('no more faults');
    await heal(world);
    const seen = await collect(world, await starting, readers, memory, say);
    return { ...seen, faults: played, notMade };
  } finally {
    await world.end();
  }
}

/** Plays one chaos; the folder with its logs and its record stays where a caller has reason to look at it. */
export async function playChaos(
  cluster: ClusterControl,
  options: ChaosOptions,
  say: (line: string) => void,
): Promise<{
  readonly record: ChaosRecord;
  readonly folder: string;
  readonly forget: () => Promise<void>;
}> {
  const folder = await mkdtemp(path.join(tmpdir(), `holdfast-chaos-${options.seed}-`));
  const record = await playIn(folder, cluster, options, say);
  await writeFile(path.join(folder, 'record.json'), JSON.stringify(record, undefined, 1));
  return { record, folder, forget: () => rm(folder, { recursive: true, force: true }) };
}
