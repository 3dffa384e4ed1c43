/** Where the gateway is tried: Temporal, a worker, a store, the vendor emulator, and the gateway as a process, all real. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client } from '@temporalio/client';
import { z } from 'zod';
import type { AgentDefinition } from '../../../activities/definitions/agent';
import { createActivities } from '../../../activities/index';
import { anthropicProvider } from '../../../activities/providers/anthropic/anthropic-provider';
import { openStore } from '../../../activities/stores/open-store';
import { defineTool } from '../../../activities/tools/define-tool';
import { openConnection } from '../../../client/connect';
import { AgentClient } from '../../../client/index';
import type { AccessToken } from '../../../server/http/access-tokens';
import { makeToken } from '../../../server/http/access-tokens';
import { VendorEmulator } from '../../../testing/emulator/emulator';
import { readEnvironment } from '../../../workers/env';
import { createLogger, installRuntime } from '../../../workers/logging';
import {
  findFreePorts,
  startEmbeddedServer,
} from '../../../workers/temporal-server/embedded-server';
import { createWorker } from '../../../workers/worker';
import { connectWorker } from '../../../workers/worker-connection';
import type { GatewaySettings } from './gateway-process';

/** Names of the tokens. `acme` and `globex` operate their tenants, `reader` views acme, `admin` operates all. */
type TokenName = 'acme' | 'globex' | 'reader' | 'admin';

/** The world while its worker runs. */
export interface GatewayGround {
  readonly client: AgentClient;
  readonly temporal: Client;
  readonly emulator: VendorEmulator;
  readonly settings: GatewaySettings;
  readonly tokens: Readonly<Record<TokenName, string>>;
}

const entries: readonly (Omit<AccessToken, 'sha256'> & { readonly name: TokenName })[] = [
  { name: 'acme', role: 'operate', tenant: 'acme' },
  { name: 'globex', role: 'operate', tenant: 'globex' },
  { name: 'reader', role: 'view', tenant: 'acme' },
  { name: 'admin', role: 'operate' },
];

/** Milliseconds that the tool works: a run is then live long enough to lose gateways. */
const workMs = 400;
/** Events after which the server suggests a new segment, so that each run has several. */
const suggestAfterEvents = 60;

const work = defineTool({
  name: 'work',
  description: 'Works on a part.',
  input: z.object({ part: z.string() }),
  effect: 'read',
  execute: async ({ part }) => {
    await delay(workMs);
    return `worked on ${part}`;
  },
});

const pay = defineTool({
  name: 'pay',
  description: 'Pays a bill.',
  input: z.object({ bill: z.string() }),
  effect: 'keyed',
  approval: 'always',
  execute: ({ bill }) => `paid ${bill}`,
});

const chain = [{ provider: 'anthropic', model: 'claude-sonnet-5' }] as const;
const agents: readonly AgentDefinition[] = [
  {
    ...{ name: 'worker', instructions: 'You work in parts.', chain, tools: [work] },
    limits: { maxIterations: 100, maxActiveMs: 3_600_000 },
    recovery: { mode: 'off' },
  },
  {
    ...{ name: 'clerk', instructions: 'You pay bills.', chain, tools: [pay, work] },
    recovery: { mode: 'off' },
  },
  {
    ...{ name: 'asker', instructions: 'You ask.', chain, tools: [], completion: 'tool' },
    recovery: { mode: 'off' },
  },
];

const taskQueue = 'gateway';

/** Agents beside the usual ones, and the events after which the server suggests a new segment. */
interface GroundOptions {
  readonly agents?: readonly AgentDefinition[];
  readonly segmentEvents?: number;
}

/** Runs `work` in a world of its own; everything that it started has ended when this resolves. */
export async function onGatewayGround<Result>(
  act: (ground: GatewayGround) => Promise<Result>,
  { agents: more = [], segmentEvents = suggestAfterEvents }: GroundOptions = {},
): Promise<Result> {
  installRuntime(createLogger('error'));
  const folder = await mkdtemp(path.join(tmpdir(), 'holdfast-gateway-'));
  const emulator = await VendorEmulator.start({ recordedBodyBytes: 0 });
  const server = await startEmbeddedServer({
    logFile: path.join(folder, 'temporal.log'),
    untilExitOf: process.pid,
    dynamicConfig: { 'limit.historyCount.suggestContinueAsNew': segmentEvents },
  });
  const { address } = server;
  const connection = await connectWorker({ address });
  const clientConnection = await openConnection({ address, namespace: 'default' });
  const storeFile = path.join(folder, 'store.db');
  const store = await openStore(`sqlite:${storeFile}`);
  try {
    const temporal = new Client({ connection: clientConnection });
    const provider = anthropicProvider({ apiKey: 'key', baseUrl: emulator.baseUrl('anthropic') });
    const worker = await createWorker({
      ...{ connection, taskQueue },
      activities: createActivities({ store, providers: [provider], agents: [...agents, ...more] }),
      cacheDirectory: readEnvironment().cacheDirectory,
      maxConcurrentActivities: 100,
    });
    const made = entries.map((entry) => makeToken(entry));
    const [port = 0] = await findFreePorts(1);
    const tokens = Object.fromEntries(
      made.map(({ token, entry }) => [entry.name, token]),
    ) as GatewayGround['tokens'];
    const ground: GatewayGround = {
      ...{ temporal, emulator, tokens },
      client: new AgentClient(temporal, { taskQueue, store }),
      settings: {
        ...{ folder, port, taskQueue, temporalAddress: address, store: storeFile },
        tokens: JSON.stringify(made.map(({ entry }) => entry)),
      },
    };
    return await worker.runUntil(() => act(ground));
  } finally {
    await store.close();
    await clientConnection.close();
    await connection.close();
    await server.stop();
    await emulator.stop();
    await rm(folder, { recursive: true, force: true });
  }
}
