/** One run of the demo: a crew of workers, the run itself, and its story as it happens. */
import type { ChildProcess } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { Client, Connection } from '@temporalio/client';
import type { RunResult } from '../../client/index';
import { AgentClient } from '../../client/index';
import { VendorEmulator } from '../../testing/index';
import type { Environment, TemporalServer } from '../../workers/index';
import { demoAgentName, demoGoal } from './demo-agent';
import { hasRealModel } from './demo-models';
import { scriptedModel } from './scripted-model';
import type { Story } from './story';
import { startCrew } from './worker-crew';

/** What a run needs. */
export interface DemoWorld {
  readonly environment: Environment;
  readonly temporal: TemporalServer;
  readonly workspace: string;
  readonly story: Story;
  /** From `forkWorker`: the first worker. */
  readonly worker: ChildProcess;
}

/** How the run ended, and what it left in Temporal. */
export interface FinishedRun {
  readonly runId: string;
  readonly result: RunResult;
  readonly workerKills: number;
  readonly historyBytes: number;
  readonly historyEvents: number;
}

async function startEmulator(environment: Environment): Promise<VendorEmulator | undefined> {
  if (hasRealModel(environment)) return undefined;
  const emulator = await VendorEmulator.start();
  emulator.script(scriptedModel());
  return emulator;
}

async function followRun(
  { temporal, story, workspace }: DemoWorld,
  runId: string,
): Promise<Omit<FinishedRun, 'workerKills'>> {
  const connection = await Connection.connect(temporal);
  try {
    const client = new Client({ connection, namespace: temporal.namespace });
    const run = await new AgentClient(client).start({
      agent: demoAgentName,
      goal: demoGoal,
      workspace,
      runId,
      taskQueue: runId,
    });
    for await (const entry of run.events({ follow: true })) story.entry(entry);
    const result = await run.result();
    const { historyLength, historySize = 0 } = await client.workflow.getHandle(runId).describe();
    return { runId, result, historyBytes: historySize, historyEvents: historyLength };
  } finally {
    await connection.close();
  }
}

/** Lets the agent repair the project in the workspace, and reports how. */
export async function repairProject(world: DemoWorld): Promise<FinishedRun> {
  const { environment, temporal, story } = world;
  const emulator = await startEmulator(environment);
  const scratch = await mkdtemp(path.join(tmpdir(), 'holdfast-demo-'));
  const runId = `demo-${randomUUID().slice(0, 8)}`;
  story.fact('run', `${runId} on Temporal at ${temporal.address}`);
  story.line();
  const crew = await startCrew(
    world.worker,
    {
      temporalAddress: temporal.address,
      taskQueue: runId,
      // An emulated outage must not cool down the routes of real runs, which share health through their store.
      store: emulator === undefined ? environment.store : `sqlite:${path.join(scratch, 'demo.db')}`,
      ...(emulator === undefined ? {} : { emulatorUrl: emulator.url }),
    },
    (line) => {
      story.demoAction(line);
    },
  );
  try {
    const run = await followRun(world, runId);
    return { ...run, workerKills: crew.kills() };
  } finally {
    await crew.dismiss();
    await emulator?.stop();
    await rm(scratch, { recursive: true, force: true });
  }
}
