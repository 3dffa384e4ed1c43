/** Everything that takes part in a chaos, started on loopback: each process reaches the others by links that can break. */
import { mkdir } from 'node:fs/promises';
import path from 'node:path';
import { Client } from '@temporalio/client';
import { openConnection } from '../../client/connect';
import { AgentClient } from '../../client/index';
import { makeToken } from '../../server/http/access-tokens';
import type { TestPostgres } from '../../test/support/postgres';
import { startPostgres } from '../../test/support/postgres';
import { VendorEmulator } from '../../testing/emulator/emulator';
import { findFreePorts } from '../../workers/temporal-server/embedded-server';
import type { Bank } from '../scorecard/effects/bank';
import { startBank } from '../scorecard/effects/bank';
import type { GatewayProcess, GatewaySettings } from '../scorecard/gateway/gateway-process';
import { startGateway } from '../scorecard/gateway/gateway-process';
import type { ClusterControl } from './cluster';
import { runProgram } from './command';
import type { Caller } from './people';
import { gatewayCount, links as linkNames, workerCount } from './schedule';
import type { LinkTarget } from './tcp-proxy';
import { TcpLink } from './tcp-proxy';
import { Workers } from './workers';

/** Builds of the workers: all runs begin on the first one. */
export const builds = ['build-a', 'build-b'] as const;

/** One gateway, which is started again on the same port. */
export interface GatewaySlot {
  readonly settings: GatewaySettings;
  process?: GatewayProcess;
}

/** The world of one chaos. */
export interface World {
  readonly cluster: ClusterControl;
  readonly folder: string;
  /** Also the name of the deployment. */
  readonly taskQueue: string;
  /** Build to which new runs go. */
  readonly versions: { current: (typeof builds)[number] };
  readonly emulator: VendorEmulator;
  readonly bank: Bank;
  readonly store: TestPostgres;
  readonly links: ReadonlyMap<string, TcpLink>;
  readonly workers: Workers;
  readonly gateways: readonly GatewaySlot[];
  /** How people and readers of events reach the gateways. */
  readonly caller: Caller;
  /** To Temporal itself, by no link. */
  readonly temporal: Client;
  readonly client: AgentClient;
  /** Of commands of `holdfast` that look at the world without a link. */
  readonly environment: Readonly<Record<string, string>>;
  /** Processes that ended by themselves. */
  readonly exits: { readonly text: string; readonly atMs: number }[];
  readonly isOver: () => boolean;
  readonly end: () => Promise<void>;
}

function targetOf(url: string): LinkTarget {
  const { hostname, port } = new URL(url.includes('://') ? url : `tcp://${url}`);
  return { host: hostname, port: Number(port) };
}

function throughLink(url: string, link: TcpLink | undefined): string {
  const changed = new URL(url);
  changed.hostname = '127.0.0.1';
  changed.port = String(link?.port ?? 0);
  return changed.href.replace(/\/$/, '');
}

interface Servers {
  readonly cluster: ClusterControl;
  readonly store: TestPostgres;
  readonly emulator: VendorEmulator;
  readonly bank: Bank;
  readonly gatewayPorts: readonly number[];
}

async function openLinks(servers: Servers): Promise<ReadonlyMap<string, TcpLink>> {
  const { cluster, store, emulator, bank, gatewayPorts } = servers;
  const targets: Readonly<Record<string, string>> = {
    temporal: cluster.address,
    store: store.url,
    vendors: emulator.url,
    bank: bank.url,
    ...Object.fromEntries(
      gatewayPorts.map((port, index) => [`gateway ${index}`, `127.0.0.1:${port}`]),
    ),
  };
  const opened = new Map<string, TcpLink>();
  for (const name of linkNames) {
    const server = name.split(' to ')[1] ?? '';
    opened.set(name, await TcpLink.listen(targetOf(targets[server] ?? '')));
  }
  return opened;
}

/** Variables of every process of Holdfast. */
function commonVariables(folder: string, taskQueue: string): Readonly<Record<string, string>> {
  return {
    PATH: process.env['PATH'] ?? '/usr/bin:/bin',
    HOME: folder,
    HOLDFAST_STATE_DIR: path.join(folder, 'state'),
    HOLDFAST_CACHE_DIR: path.join(folder, 'cache'),
    HOLDFAST_TASK_QUEUE: taskQueue,
    HOLDFAST_LOG_LEVEL: 'warn',
  };
}

function workerVariables(
  slot: number,
  { store, emulator, bank }: Servers,
  links: ReadonlyMap<string, TcpLink>,
): Readonly<Record<string, string>> {
  const link = (server: string): TcpLink | undefined => links.get(`worker ${slot} to ${server}`);
  const vendors = throughLink(emulator.url, link('vendors'));
  return {
    TEMPORAL_ADDRESS: `127.0.0.1:${link('temporal')?.port ?? 0}`,
    HOLDFAST_STORE: throughLink(store.url, link('store')),
    ANTHROPIC_API_KEY: 'chaos-key',
    OPENAI_API_KEY: 'chaos-key',
    ANTHROPIC_BASE_URL: vendors,
    OPENAI_BASE_URL: `${vendors}/v1`,
    CHAOS_BANK_URL: throughLink(bank.url, link('bank')),
  };
}

/** Starts a gateway in its slot; one that ends by itself is noted, and started again. */
export async function openGateway(
  slot: GatewaySlot,
  world: Pick<World, 'exits' | 'isOver'>,
): Promise<void> {
  const started = await startGateway(slot.settings);
  slot.process = started;
  started.child.once('exit', (code, signal) => {
    if (world.isOver() || slot.process !== started) return;
    const text = `a gateway ended with ${signal ?? `code ${code ?? 0}`}: ${started.log()}`;
    world.exits.push({ text, atMs: Date.now() });
    void openGateway(slot, world).catch(() => undefined);
  });
}

async function openGateways(
  { gatewayPorts, store }: Servers,
  links: ReadonlyMap<string, TcpLink>,
  world: Pick<World, 'exits' | 'isOver' | 'folder' | 'taskQueue'>,
  tokens: string,
): Promise<readonly GatewaySlot[]> {
  const { folder, taskQueue } = world;
  return Promise.all(
    gatewayPorts.map(async (port, index): Promise<GatewaySlot> => {
      const own = path.join(folder, `gateway-${index}`);
      await mkdir(own, { recursive: true });
      const settings: GatewaySettings = {
        ...{ folder: own, port, taskQueue, tokens },
        temporalAddress: `127.0.0.1:${links.get(`gateway ${index} to temporal`)?.port ?? 0}`,
        store: throughLink(store.url, links.get(`gateway ${index} to store`)),
      };
      const slot: GatewaySlot = { settings };
      await openGateway(slot, world);
      return slot;
    }),
  );
}

/** Starts the world; `name` is that of its task queue. Errors: what does not start. */
export async function startWorld(
  cluster: ClusterControl,
  folder: string,
  name: string,
): Promise<World> {
  const [emulator, bank, store] = await Promise.all([
    VendorEmulator.start({ recordedBodyBytes: 1_000_000, seed: name }),
    startBank(),
    startPostgres(),
  ]);
  const gatewayPorts = await findFreePorts(gatewayCount);
  const servers: Servers = { cluster, store, emulator, bank, gatewayPorts };
  const links = await openLinks(servers);
  const common = commonVariables(folder, name);
  const environment = { ...common, TEMPORAL_ADDRESS: cluster.address, HOLDFAST_STORE: store.url };
  await runProgram(['setup'], environment, folder);
  const exits: World['exits'] = [];
  const over = { isOver: false };
  const isOver = (): boolean => over.isOver;
  const workers = new Workers(folder, (text) => exits.push({ text, atMs: Date.now() }));
  for (let slot = 0; slot < workerCount; slot += 1) {
    const variables = { ...common, ...workerVariables(slot, servers, links) };
    workers.start(slot, {
      environment: { ...variables, HOLDFAST_DEPLOYMENT: name },
      buildId: builds[0],
    });
  }
  const { token, entry } = makeToken({ name: 'chaos', role: 'operate' });
  const place = { exits, isOver, folder, taskQueue: name };
  const gateways = await openGateways(servers, links, place, JSON.stringify([entry]));
  process.once('exit', () => {
    for (const { process: gateway } of gateways) gateway?.child.kill('SIGKILL');
  });
  const connection = await openConnection({ address: cluster.address, namespace: 'default' });
  const temporal = new Client({ connection });
  const urls = gateways.map(
    (_, index) => `http://127.0.0.1:${links.get(`clients to gateway ${index}`)?.port ?? 0}`,
  );
  return {
    ...{ ...place, cluster, emulator, bank, store, links, workers, gateways, temporal },
    ...{ environment, versions: { current: builds[0] }, caller: { urls, token } },
    client: new AgentClient(temporal, { taskQueue: name }),
    end: async () => {
      over.isOver = true;
      workers.end();
      for (const slot of gateways) await slot.process?.kill();
      for (const link of links.values()) link.close();
      await connection.close();
      await emulator.stop();
      await bank.stop();
      await store.stop();
    },
  };
}
