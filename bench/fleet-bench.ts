/** Measures a fleet in real time with the real cooldowns: a primary that limits for 30 s, then no vendor at all for minutes. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import type { AgentDefinition } from '../activities/definitions/agent';
import { createActivities } from '../activities/index';
import { anthropicProvider } from '../activities/providers/anthropic/anthropic-provider';
import { openaiProvider } from '../activities/providers/openai/openai-provider';
import { openStore } from '../activities/stores/open-store';
import { defineTool } from '../activities/tools/define-tool';
import type { AgentClient } from '../client/agent-client';
import { connect } from '../client/connect';
import { VendorEmulator } from '../testing/emulator/emulator';
import { fault, reply } from '../testing/emulator/script';
import { readEnvironment } from '../workers/env';
import { connectWorker } from '../workers/worker-connection';
import { startEmbeddedServer } from '../workers/temporal-server/embedded-server';
import { createWorker } from '../workers/worker';

/** What the fleet did in one kind of outage. */
interface FleetOutage {
  readonly runs: number;
  readonly completed: number;
  /** Calls on the failing routes between the first cooldown and the end of the outage: each is a probe. */
  readonly probes: number;
  /** Shortest time between two probes of one route, in seconds; null where there were fewer than two. */
  readonly shortestGapSeconds: number | null;
  /** Calls on the primary after the outage: the fleet has returned to it. */
  readonly callsAfter: number;
  readonly seconds: number;
}

/** What the benchmark found. */
export interface FleetBenchResult {
  readonly limited: FleetOutage;
  readonly down: FleetOutage;
}

/** Seconds for which the primary answers 429 (docs/results.md). */
const limitedSeconds = 30;
const stepsPerRun = 20;
const stepMs = 4_000;

const work = defineTool({
  name: 'work',
  description: 'Works for a while.',
  input: z.object({ step: z.number() }),
  effect: 'read',
  execute: async ({ step }) => {
    await sleep(stepMs);
    return `worked on ${step}`;
  },
});

const agents: readonly AgentDefinition[] = [
  {
    name: 'stepper',
    instructions: 'You work in steps.',
    chain: [
      { provider: 'anthropic', model: 'claude-sonnet-5' },
      { provider: 'openai', model: 'gpt-5' },
    ],
    tools: [work],
    limits: { maxIterations: stepsPerRun + 1, maxActiveMs: 3_600_000 },
  },
];

interface Fleet {
  readonly client: AgentClient;
  readonly emulator: VendorEmulator;
}

interface OutagePlan {
  readonly runs: number;
  readonly outageMs: number;
  readonly steps: number;
  /** Which wires fail, and how. */
  readonly failing: readonly string[];
  readonly status: number;
}

/** Shortest gap between two calls of one wire. */
function shortestGapMs(
  emulator: VendorEmulator,
  plan: OutagePlan,
  fromMs: number,
  toMs: number,
): number {
  const gaps = plan.failing.flatMap((wire) => {
    const times = probesOf(emulator, [wire], fromMs, toMs);
    return times.slice(1).map((atMs, index) => atMs - (times[index] ?? 0));
  });
  return Math.min(...gaps);
}

function probesOf(
  emulator: VendorEmulator,
  wires: readonly string[],
  fromMs: number,
  toMs: number,
): readonly number[] {
  return emulator.requests
    .filter(({ wire, atMs }) => wires.includes(wire) && atMs > fromMs && atMs < toMs)
    .map(({ atMs }) => atMs);
}

/** One run learns of the outage first; whatever reaches a failing route after that is a probe. */
async function measure({ client, emulator }: Fleet, plan: OutagePlan): Promise<FleetOutage> {
  const beganAtMs = Date.now();
  const endsAtMs = beganAtMs + plan.outageMs;
  emulator.clearScripts();
  emulator.script((request) => {
    const fails = plan.failing.includes(request.wire) && Date.now() < endsAtMs;
    if (fails) return fault.http(plan.status);
    const step = (request.messagesCount - 1) / 2 + 1;
    return step > plan.steps
      ? reply.text('done')
      : reply.toolCalls([{ name: 'work', input: { step } }]);
  });
  const start = async (): Promise<string> => {
    const handle = await client.start({ agent: 'stepper', goal: 'Work.' });
    return (await handle.outcome()).status;
  };
  const first = start();
  await emulator.waitFor(({ requests }) =>
    plan.failing.every(
      (wire) => requests.filter((r) => r.wire === wire && r.atMs > beganAtMs).length >= 3,
    ),
  );
  await sleep(1_000);
  const learntAtMs = Date.now();
  const others = Array.from({ length: plan.runs - 1 }, start);
  const statuses = await Promise.all([first, ...others]);
  const probes = probesOf(emulator, plan.failing, learntAtMs, endsAtMs);
  const gapMs = shortestGapMs(emulator, plan, learntAtMs, endsAtMs);
  return {
    runs: plan.runs,
    completed: statuses.filter((status) => status === 'completed').length,
    probes: probes.length,
    shortestGapSeconds: Number.isFinite(gapMs) ? Math.round(gapMs / 100) / 10 : null,
    callsAfter: probesOf(emulator, ['anthropic'], endsAtMs, Date.now()).length,
    seconds: Math.round((Date.now() - beganAtMs) / 1000),
  };
}

async function runFleet(
  runs: number,
  outageMinutes: number,
  directory: string,
): Promise<FleetBenchResult> {
  const server = await startEmbeddedServer({ untilExitOf: process.pid });
  const emulator = await VendorEmulator.start({ recordedBodyBytes: 0 });
  const store = await openStore(`sqlite:${path.join(directory, 'store.db')}`);
  const apiKey = 'bench-key';
  const connection = await connectWorker({ address: server.address });
  const worker = await createWorker({
    connection,
    cacheDirectory: readEnvironment().cacheDirectory,
    maxConcurrentActivities: 2 * runs,
    activities: createActivities({
      store,
      agents,
      providers: [
        anthropicProvider({ apiKey, baseUrl: emulator.baseUrl('anthropic') }),
        openaiProvider({ api: 'responses', apiKey, baseUrl: emulator.baseUrl('responses') }),
      ],
    }),
  });
  const client = await connect({ address: server.address });
  const fleet: Fleet = { client, emulator };
  const result = await worker.runUntil(async () => ({
    limited: await measure(fleet, {
      runs,
      outageMs: limitedSeconds * 1000,
      steps: stepsPerRun,
      failing: ['anthropic'],
      status: 429,
    }),
    down: await measure(fleet, {
      runs,
      outageMs: outageMinutes * 60_000,
      steps: 1,
      failing: ['anthropic', 'responses'],
      status: 529,
    }),
  }));
  await client.close();
  await connection.close();
  await store.close();
  await emulator.stop();
  await server.stop();
  return result;
}

/** Runs the fleet twice: against a limiting primary, and without any vendor for `outageMinutes`. */
export async function fleetBench(runs: number, outageMinutes: number): Promise<FleetBenchResult> {
  const directory = await mkdtemp(path.join(tmpdir(), 'holdfast-fleet-'));
  try {
    return await runFleet(runs, outageMinutes, directory);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
