/** Where incidents happen: Temporal, worker processes, SQLite stores, emulated vendors and an MCP server, all real. */
import type { ChildProcess } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { Client } from '@temporalio/client';
import Database from 'libsql';
import { AgentClient } from '../../../client/agent-client';
import { openConnection } from '../../../client/connect';
import { VendorEmulator } from '../../../testing/emulator/emulator';
import { startOwnServer } from '../../../test/support/temporal';
import { defined } from '../../../workflows/core/json';
import { kill, serveWith, standBy } from '../effects/worker-crew';
import type { Incident, IncidentWorld } from './incident';
import { sharedQueue } from './incident';
import type { IncidentWorkerSettings } from './incident-worker';
import { incidents } from './incidents';
import { startMcpShop } from './mcp-shop';

/** How the incidents are played. */
export interface IncidentOptions {
  /** What Node needs to run the worker's script, where it is not compiled. */
  readonly execArgv?: readonly string[];
}

/** A world, with what its command lines need. */
export interface WholeIncidentWorld extends IncidentWorld {
  readonly address: string;
  readonly namespace: string;
  readonly folder: string;
}

/** Milliseconds between two looks. */
const lookEveryMs = 200;
/** Milliseconds that the store of the incidents waits for a lock: a held one is soon a store that does not answer. */
const storeWaitMs = 500;

async function eventually<Value>(
  ask: () => Promise<Value>,
  isMet: (value: Value) => boolean,
): Promise<Value> {
  for (;;) {
    const value = await ask();
    if (isMet(value)) return value;
    await sleep(lookEveryMs);
  }
}

/** Address of each provider, also of incidents that are not chosen: workers have them all. Every incident has a vendor of its own. */
function scriptVendors(
  emulator: VendorEmulator,
  chosen: readonly Incident[],
): Readonly<Record<string, string>> {
  const urls: Record<string, string> = {};
  for (const { id, agent, model } of incidents) {
    for (const { provider } of agent?.chain ?? [{ provider: id }]) {
      urls[provider] = emulator.baseUrl(
        provider === 'openai' ? 'responses' : 'anthropic',
        provider,
      );
      if (model !== undefined && chosen.some((each) => each.id === id))
        emulator.script(model, { mount: provider });
    }
  }
  return urls;
}

/** Runs `work` in a world of its own; everything that it started has ended when this resolves. */
export async function inIncidentWorld<Result>(
  chosen: readonly Incident[],
  { execArgv = [] }: IncidentOptions,
  work: (world: WholeIncidentWorld) => Promise<Result>,
): Promise<Result> {
  const folder = await mkdtemp(path.join(tmpdir(), 'holdfast-why-'));
  const [emulator, shop] = [await VendorEmulator.start(), await startMcpShop()];
  const vendorUrls = scriptVendors(emulator, chosen);
  const server = await startOwnServer();
  const { address, namespace } = server;
  const connection = await openConnection({ address, namespace });
  const temporal = new Client({ connection, namespace });
  const script = path.join(__dirname, `incident-worker${path.extname(__filename)}`);
  const children: ChildProcess[] = [];
  const storeFile = (taskQueue: string): string => path.join(folder, `${taskQueue}.db`);
  const world: WholeIncidentWorld = {
    address,
    namespace,
    folder,
    client: new AgentClient(temporal, { taskQueue: sharedQueue, address }),
    temporal: (runId) => temporal.workflow.getHandle(runId),
    eventually,
    startWorker: async (taskQueue, code) => {
      const settings: IncidentWorkerSettings = {
        temporalAddress: address,
        namespace,
        taskQueue,
        store: `sqlite:${storeFile(taskQueue)}`,
        storeWaitMs,
        vendorUrls,
        mcpUrl: shop.url,
        ...defined({ code }),
      };
      const standing = standBy(execArgv, script);
      children.push(standing.child);
      const child = await serveWith(standing, settings);
      return { kill: () => kill(child) };
    },
    lockStore: async (taskQueue) => {
      const rival = new Database(storeFile(taskQueue));
      await eventually(
        () => Promise.resolve(isTaken(rival)),
        (taken) => taken,
      );
      return () => rival.close();
    },
    stopMcpServer: () => shop.stop(),
  };
  try {
    return await work(world);
  } finally {
    await Promise.all(children.map(kill));
    await connection.close();
    await server.close();
    await Promise.all([emulator.stop(), shop.stop()]);
    await rm(folder, { recursive: true, force: true });
  }
}

/** Takes the write lock, unless somebody writes at this moment. */
function isTaken(rival: InstanceType<typeof Database>): boolean {
  try {
    rival.exec('BEGIN IMMEDIATE');
    return true;
  } catch {
    return false;
  }
}
