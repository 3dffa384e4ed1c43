/** The same drawn faults on Holdfast and its peers, through the same emulator: `npm run scorecard -- --peers`. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { Client, WorkflowFailedError } from '@temporalio/client';
import { openConnection } from '../../../client/connect';
import { VendorEmulator } from '../../../testing/emulator/emulator';
import { startEmbeddedServer } from '../../../workers/temporal-server/embedded-server';
import { installPeers, peerFile } from '../../speed/peers';
import { drawFaults } from '../conversation/draw-faults';
import type { DrawnFault } from '../conversation/drawn-fault';
import { playDrawn } from '../conversation/score-conversation';
import type { StagedDrawn } from '../conversation/stage-drawn';
import { stageDrawn } from '../conversation/stage-drawn';
import { forEachOf } from '../provider/score-provider-faults';
import { counterpartOf } from './counterparts';
import type { JudgedPeer, PeerEnd } from './judge-peer';
import { judgePeer } from './judge-peer';
import type { PeerProcess } from './peer-process';
import { peerNode, startPeer } from './peer-process';
import { startRelay } from './relay';
import { startToolService } from './tool-service';

/** Engines by name, each in a file of a folder of `bench/peers`. */
const peers = {
  'openai-agents': ['openai-agents', 'faults.mjs'],
  'ai-sdk': ['ai-sdk', 'faults.mjs'],
  'plain loop': ['openai-agents', 'plain-loop.mjs'],
} as const;

type PeerEngine = keyof typeof peers;

/** All of them, in the order of the table. */
const peerEngines = Object.keys(peers) as readonly PeerEngine[];

/** What every engine made of the faults. */
export interface PeersScore {
  readonly seed: number;
  readonly faults: readonly DrawnFault[];
  /** By engine, in the order of the faults; absent: the engine has no counterpart. */
  readonly byEngine: Readonly<Record<string, readonly (JudgedPeer | undefined)[]>>;
}

const runsAtOnce = 12;

/** Milliseconds after which a run counts as one that goes on: ten times what the slowest recovery takes. */
const deadlineMs = 60_000;

const taskQueue = 'peer';

/** Draws faults that all engines can meet: one wire that all speak, and a chain that may rest in the place of one that may not. */
function facedByAll(count: number, seed: number): readonly DrawnFault[] {
  return drawFaults(count, seed).map((drawn) => ({
    ...drawn,
    wire: 'responses',
    travel: 'whole events',
    chain: drawn.chain === 'one route' ? 'one route that rests' : drawn.chain,
  }));
}

function messageOf(thrown: unknown): string {
  const cause = thrown instanceof WorkflowFailedError ? thrown.cause : thrown;
  const inner = cause instanceof Error && cause.cause instanceof Error ? cause.cause : cause;
  return inner instanceof Error ? inner.message : String(inner);
}

async function endOf(client: Client, peer: PeerProcess, run: string): Promise<PeerEnd> {
  const late = delay(deadlineMs, { status: 'went on' } as const, { ref: false });
  const begun = await Promise.race([peer.start(run), late]);
  if ('status' in begun) return begun;
  const handle = client.workflow.getHandle(`${taskQueue}-${run}`);
  const ended = handle.result().then(
    (answer): PeerEnd => ({ status: 'completed', answer: String(answer) }),
    (thrown: unknown): PeerEnd => ({ status: 'failed', message: messageOf(thrown) }),
  );
  const end = await Promise.race([ended, late]);
  if (end.status === 'went on') await handle.terminate('the scorecard waited long enough');
  return end;
}

/** Plays the faults on one peer, in a world of its own. */
async function playPeer(
  engine: PeerEngine,
  faults: readonly DrawnFault[],
): Promise<readonly (JudgedPeer | undefined)[]> {
  const folder = await mkdtemp(path.join(tmpdir(), 'holdfast-peers-'));
  const emulator = await VendorEmulator.start();
  const relay = await startRelay(emulator.url);
  const staged = faults.map((each, index) => stageDrawn(each, index, { emulator, closedPort: 0 }));
  const service = await startToolService(staged);
  const server = await startEmbeddedServer({
    logFile: path.join(folder, 'temporal.log'),
    untilExitOf: process.pid,
  });
  const { address } = server;
  const connection = await openConnection({ address, namespace: 'default' });
  const client = new Client({ connection });
  const settings = { address, taskQueue, baseUrl: relay.url, serviceUrl: service.url };
  const [of, file] = peers[engine];
  const peer = await startPeer(await peerNode(), peerFile(of, file), settings);
  const callsOf = ({ mounts }: StagedDrawn): number =>
    emulator.requests.filter(({ mount }) => mount === mounts[0]).length;
  try {
    return await forEachOf(staged, runsAtOnce, async (each) => {
      if (!counterpartOf(each.fault)) return undefined;
      const [mount] = each.mounts;
      emulator.script(each.model, { mount });
      const end = await endOf(client, peer, mount);
      return judgePeer(each, end, callsOf(each));
    });
  } finally {
    await peer.stop();
    await connection.close();
    await server.stop();
    await service.stop();
    await relay.stop();
    await emulator.stop();
    await rm(folder, { recursive: true, force: true });
  }
}

async function playHoldfast(faults: readonly DrawnFault[]): Promise<readonly JudgedPeer[]> {
  const played = await playDrawn(faults);
  return played.map(([staged, { outcome, requests }]) => {
    const end: PeerEnd =
      outcome === undefined
        ? { status: 'went on' }
        : outcome.status === 'completed'
          ? { status: 'completed', answer: outcome.answer }
          : { status: 'failed', message: 'message' in outcome ? outcome.message : outcome.reason };
    return judgePeer(staged, end, requests.length);
  });
}

/** Plays so many faults on every engine, one engine after the other. Errors: a peer could not be installed or started. */
export async function scorePeers(
  count: number,
  seed: number,
  engines: readonly PeerEngine[] = peerEngines,
): Promise<PeersScore> {
  await installPeers();
  const faults = facedByAll(count, seed);
  const byEngine: Record<string, readonly (JudgedPeer | undefined)[]> = {
    holdfast: await playHoldfast(faults),
  };
  for (const engine of engines) byEngine[engine] = await playPeer(engine, faults);
  return { seed, faults, byEngine };
}
