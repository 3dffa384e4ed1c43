/** Attacks a real worker in every way that the section knows, and lists what got through. */
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import type { AgentDefinition } from '../../../activities/definitions/agent';
import { anthropicProvider } from '../../../activities/providers/anthropic/anthropic-provider';
import type { Provider } from '../../../activities/providers/provider';
import type { VendorEmulator } from '../../../testing/emulator/emulator';
import type { Step } from '../../../testing/emulator/script';
import { reply } from '../../../testing/emulator/script';
import type { PendingItem } from '../../../workflows/core/view/pending';
import type { ProviderWorld, WorkerParts } from '../provider/provider-world';
import { inProviderWorld } from '../provider/provider-world';
import type { JudgedRow, SectionScore } from '../section';
import type { Attack, AttackGround, RunAttack } from './attack';
import { commandAttacks } from './command-attacks';
import { fileAttacks } from './file-attacks';
import { injectionAttacks } from './injection-attacks';
import { knowledgeAttacks } from './knowledge-attacks';
import { watchLoop } from './loop-watch';
import { mcpAttacks } from './mcp-attacks';
import { messageAttacks } from './message-attacks';
import { replyAttacks } from './reply-attacks';
import { secretAttacks, vendorKey } from './secret-attacks';
import { storeAttacks } from './store-attacks';

/** All attacks. */
export const attacks: readonly Attack[] = [
  ...fileAttacks,
  ...commandAttacks,
  ...secretAttacks,
  ...injectionAttacks,
  ...knowledgeAttacks,
  ...mcpAttacks,
  ...messageAttacks,
  ...storeAttacks,
  ...replyAttacks,
];

/** Attacks at the same time. */
const atOnce = 4;
/** Milliseconds after which a run that was attacked counts as stopped. */
const deadlineMs = 90_000;
/**
 * Milliseconds of processor time for which no text may hold the worker's event loop. The texts that did held it for a minute
 * (ADR 0039); a slow machine needs up to half a second without such a text.
 */
const mostHeldMs = 1_000;

const model = 'claude-sonnet-5';

/** What is under attack, with everything that it needs. */
interface Stage {
  readonly attack: Attack;
  readonly name: string;
  readonly ground: AttackGround;
}

const isRun = (attack: Attack): attack is RunAttack => 'harm' in attack;

async function stageOf(attack: Attack, index: number, root: string): Promise<Stage> {
  const folder = path.join(root, `attack-${index}`);
  const name = `attack-${index}`;
  const ground = { name, folder, workspace: path.join(folder, 'workspace') };
  await mkdir(ground.workspace, { recursive: true });
  if (isRun(attack)) await attack.prepare?.(ground);
  return { attack, name, ground };
}

async function agentOf({ attack, name, ground }: Stage): Promise<readonly AgentDefinition[]> {
  if (!isRun(attack)) return attack.agents?.(ground) ?? [];
  const hostile = { provider: name, model };
  const healthy = { provider: 'healthy', model };
  return [
    {
      name,
      instructions: 'Do what is asked.',
      tools: [],
      chain: attack.vendor === undefined ? [hostile] : [hostile, healthy],
      limits: { maxIterations: 12, maxActiveMs: 60_000 },
      recovery: { mode: 'off' },
      ...(await attack.agent?.(ground)),
    },
  ];
}

/** Says no to everything that a person is asked. */
async function refuseAll(
  run: ReturnType<ProviderWorld['client']['run']>,
  ended: () => boolean,
  asked: PendingItem[],
): Promise<void> {
  while (!ended()) {
    for (const item of await run.pending().catch(() => [])) {
      const isNew = !asked.some((known) => JSON.stringify(known) === JSON.stringify(item));
      if (!isNew) continue;
      asked.push(item);
      await (
        item.type === 'approval'
          ? run.reject(item.approvalId, 'No.', { digest: item.digest })
          : run.stop('Nobody answers.')
      ).catch(() => undefined);
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
}

async function playRun(world: ProviderWorld, stage: Stage, attack: RunAttack) {
  const { name, ground } = stage;
  const { emulator, client } = world;
  const calls = [...(attack.calls?.(ground) ?? [])];
  emulator.script(
    attack.model ??
      ((): Step => {
        const made = calls.splice(0);
        return made.length > 0 ? reply.toolCalls(made) : reply.text('done');
      }),
    { mount: name },
  );
  const run = await client.start({
    agent: name,
    goal: attack.goal ?? 'Tidy up.',
    workspace: ground.workspace,
    runId: name,
  });
  let hasEnded = false;
  const asked: PendingItem[] = [];
  let people = Promise.resolve();
  try {
    await attack.meanwhile?.(run, world);
    people = refuseAll(run, () => hasEnded, asked);
    const late = new Promise<undefined>((resolve) => {
      setTimeout(() => {
        resolve(undefined);
      }, deadlineMs).unref();
    });
    const outcome = await Promise.race([run.outcome(), late]);
    if (outcome === undefined) {
      await run.cancel();
      return `the run did not end within ${deadlineMs / 1000} s`;
    }
    const requests = emulator.requests.filter(({ mount }) => mount === name);
    return await attack.harm({
      ...ground,
      world,
      run,
      outcome,
      asked,
      prompts: requests.map(({ body }) => JSON.stringify(body)).join('\n'),
      results: requests.at(-1)?.toolResults.map(({ content }) => content) ?? [],
    });
  } finally {
    hasEnded = true;
    await people;
  }
}

async function play(world: ProviderWorld, stage: Stage): Promise<string | undefined> {
  const { attack } = stage;
  try {
    return isRun(attack)
      ? await playRun(world, stage, attack)
      : await attack.attempt(world, stage.ground);
  } catch (thrown) {
    return `the attack itself failed: ${String(thrown)}`;
  }
}

/** A server that plays each hostile vendor under its own path. */
async function hostileVendors(stages: readonly Stage[]): Promise<Server> {
  const server = createServer({ maxHeaderSize: 1 << 20 }, (request, response) => {
    const [, name] = (request.url ?? '').split('/');
    const attack = stages.find((stage) => stage.name === name)?.attack;
    response.on('error', () => undefined);
    if (attack !== undefined && isRun(attack)) attack.vendor?.(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return server;
}

function rowOf({ attack: { area, id, tries } }: Stage, got: string | undefined): JudgedRow {
  const row = { id: `${area}: ${id}`, expected: `no harm where it tries ${tries}` };
  return got === undefined ? row : { ...row, wrong: { ...row, got } };
}

/** The worker's side: an agent and a vendor for each run, and one agent that nobody attacks by its own words. */
async function partsOf(
  stages: readonly Stage[],
  hostileUrl: string,
  emulator: VendorEmulator,
): Promise<WorkerParts> {
  emulator.script(() => reply.text('done'), { mount: 'healthy' });
  const provider = (name: string, baseUrl: string): Provider =>
    anthropicProvider({ name, apiKey: vendorKey, baseUrl });
  const target: AgentDefinition = {
    name: 'target',
    instructions: 'Do what is asked.',
    chain: [{ provider: 'healthy', model }],
    recovery: { mode: 'off' },
    tools: [],
  };
  return {
    agents: [...(await Promise.all(stages.map(agentOf))).flat(), target],
    providers: [
      provider('healthy', emulator.baseUrl('anthropic', 'healthy')),
      ...stages.map(({ attack, name }) =>
        isRun(attack) && attack.vendor !== undefined
          ? provider(name, `${hostileUrl}/${name}`)
          : provider(name, emulator.baseUrl('anthropic', name)),
      ),
    ],
  };
}

/** Plays all, and measures the loop. */
async function playAll(
  world: ProviderWorld,
  stages: readonly Stage[],
): Promise<{ readonly rows: readonly JudgedRow[]; readonly slowestMs: number }> {
  const watch = watchLoop();
  const rest = [...stages];
  const rows: JudgedRow[] = [];
  const lane = async (): Promise<void> => {
    for (let stage = rest.shift(); stage !== undefined; stage = rest.shift())
      rows.push(rowOf(stage, await play(world, stage)));
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  return { rows, slowestMs: watch.stop() };
}

function loopRow(slowestMs: number): JudgedRow {
  const row = { id: 'event loop', expected: `never held above ${mostHeldMs} ms` };
  return slowestMs > mostHeldMs
    ? { ...row, wrong: { ...row, got: `held for ${slowestMs} ms` } }
    : row;
}

/**
 * Plays the section.
 *
 * Contract: `gotThrough` names the attacks that did harm; `slowestMs` is the longest time that the worker's event loop was held
 * by work of this process.
 */
export async function scoreAttacks(chosen: readonly Attack[] = attacks): Promise<SectionScore> {
  const root = await mkdtemp(path.join(tmpdir(), 'holdfast-attacks-'));
  const stages = await Promise.all(chosen.map((attack, index) => stageOf(attack, index, root)));
  const vendors = await hostileVendors(stages);
  const hostileUrl = `http://127.0.0.1:${(vendors.address() as AddressInfo).port}`;
  try {
    const { rows, slowestMs } = await inProviderWorld(
      ({ emulator }) => partsOf(stages, hostileUrl, emulator),
      (world) => playAll(world, stages),
    );
    const gotThrough = rows.flatMap(({ id, wrong }) => (wrong === undefined ? [] : [id]));
    return {
      rows: [...rows, loopRow(slowestMs)],
      summary: { attacks: rows.length, gotThrough, slowestMs },
    };
  } finally {
    for (const { attack } of stages) if (isRun(attack)) await attack.cleanUp?.();
    vendors.closeAllConnections();
    vendors.close();
    await rm(root, { recursive: true, force: true });
  }
}
