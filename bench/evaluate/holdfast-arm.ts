/** The arms with Holdfast: one embedded server and one worker for all runs of a sitting. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { createActivities } from '../../activities/index';
import type { AgentDefinition } from '../../activities/definitions/agent';
import { openStore } from '../../activities/stores/open-store';
import { connect } from '../../client/connect';
import { readEnvironment } from '../../workers/env';
import { startEmbeddedServer } from '../../workers/temporal-server/embedded-server';
import { createWorker } from '../../workers/worker';
import { connectWorker } from '../../workers/worker-connection';
import type { RunHandle } from '../../client/run-handle';
import type { TimelineEntry } from '../../workflows/core/run/protocol';
import type { Arm, ArmRun, ModelUnderTest, Task } from './arm';
import { maxIterations, maxOutputTokens, maxRunMs, providerOf } from './arm';
import type { JobFamily, World } from './job';

/** The arms that are Holdfast. */
const holdfastArms = ['shipped', 'no-recovery'] as const;

type HoldfastArm = (typeof holdfastArms)[number];

/** A worker that plays them. */
export interface HoldfastWorld {
  readonly arm: (name: HoldfastArm, seed: number) => Arm;
  readonly close: () => Promise<void>;
}

/** The agent of a family in an arm. A route has its sampling seed, so each seed has its agent. */
function agentOf(
  family: JobFamily,
  arm: HoldfastArm,
  seed: number,
  model: ModelUnderTest,
  worlds: (runId: string) => World,
): AgentDefinition {
  const { protocol: toolProtocol, windowTokens, temperature } = model;
  return {
    name: nameOf(family, arm, seed),
    instructions: family.instructions,
    chain: [
      {
        provider: 'evaluate',
        model: model.name,
        ...{ toolProtocol, windowTokens, temperature, maxOutputTokens, extraBody: { seed } },
      },
    ],
    tools: family.tools(worlds),
    limits: { maxIterations, maxActiveMs: maxRunMs },
    // Each run alone: what an earlier one taught would count for this arm and not for the others.
    patterns: 'off',
    ...(arm === 'no-recovery' ? { recovery: { mode: 'off' } } : {}),
  };
}

function nameOf({ name }: JobFamily, arm: HoldfastArm, seed: number): string {
  return `${name}-${arm}-${seed}`;
}

function mistakeIn(entry: TimelineEntry): string | undefined {
  if (entry.type === 'NoToolCallEvent' || entry.type === 'ToolResultErrorEvent')
    return entry.error.code;
  return entry.type === 'ErrorEvent' && entry.failure.kind === 'agent'
    ? entry.failure.code
    : undefined;
}

/** The codes of the model's mistakes, call by call. */
function mistakesOf(entries: readonly TimelineEntry[]): readonly (readonly string[])[] {
  const turns: string[][] = [];
  for (const entry of entries) {
    if (entry.type === 'IterationStartedEvent') turns.push([]);
    const code = mistakeIn(entry);
    const turn = turns.at(-1);
    if (code !== undefined && turn?.includes(code) === false) turn.push(code);
  }
  return turns;
}

async function endOf(run: RunHandle): Promise<ArmRun> {
  const outcome = await run.outcome();
  const entries: TimelineEntry[] = [];
  for await (const entry of run.events()) entries.push(entry);
  const { usage } = outcome.report;
  return {
    status: outcome.status === 'failed' ? `failed: ${outcome.reason}` : outcome.status,
    answer: outcome.status === 'completed' ? outcome.answer : '',
    turns: mistakesOf(entries),
    inputTokens: usage.inputTokens + usage.cacheReadTokens,
    outputTokens: usage.outputTokens,
  };
}

/** Starts server, store and worker. */
export async function startHoldfast(
  model: ModelUnderTest,
  families: readonly JobFamily[],
  seeds: readonly number[],
): Promise<HoldfastWorld> {
  const directory = await mkdtemp(path.join(tmpdir(), 'holdfast-evaluate-'));
  const worlds = new Map<string, World>();
  const worldOf = (runId: string): World => {
    const world = worlds.get(runId);
    if (world === undefined) throw new Error(`No world belongs to the run ${runId}.`);
    return world;
  };
  const store = await openStore(`sqlite:${path.join(directory, 'store.db')}`);
  const server = await startEmbeddedServer({
    stateFile: path.join(directory, 'temporal.db'),
    untilExitOf: process.pid,
  });
  const { address } = server;
  const taskQueue = 'evaluate';
  const provider = providerOf(model);
  const agents = seeds.flatMap((seed) =>
    families.flatMap((family) =>
      holdfastArms.map((arm) => agentOf(family, arm, seed, model, worldOf)),
    ),
  );
  const connection = await connectWorker({ address });
  const worker = await createWorker({
    connection,
    taskQueue,
    cacheDirectory: readEnvironment().cacheDirectory,
    activities: createActivities({ store, providers: [provider], agents }),
  });
  const running = worker.run();
  const client = await connect({ address, taskQueue, store });
  const play = async (name: string, { world, runId, drawn }: Task): Promise<ArmRun> => {
    worlds.set(runId, world);
    const run = await client.start(name, { runId, goal: drawn.goal });
    const end = await endOf(run);
    worlds.delete(runId);
    return end;
  };
  return {
    arm: (arm, seed) => (task) => play(nameOf(task.family, arm, seed), task),
    close: async () => {
      worker.shutdown();
      await running;
      await client.close();
      await connection.close();
      await store.close();
      await server.stop();
      await rm(directory, { recursive: true, force: true });
    },
  };
}
