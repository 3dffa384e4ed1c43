/** Clients of event streams while the gateway is killed: does each see every event once, in order? */
import { reply } from '../../../testing/emulator/script';
import type { JudgedRow } from '../section';
import type { Received } from './event-client';
import { followRun } from './event-client';
import type { GatewayGround } from './gateway-ground';
import { startGateway } from './gateway-process';

/** How much of it. */
export interface StreamTrial {
  readonly clients: number;
  readonly runs: number;
  readonly kills: number;
  /** Iterations of each run. */
  readonly iterations: number;
}

/** What came of it. */
export interface StreamScore {
  readonly clients: number;
  readonly events: number;
  readonly lost: number;
  readonly doubled: number;
  readonly outOfOrder: number;
  readonly rows: readonly JudgedRow[];
}

type Place = readonly number[];

function isBefore(left: Place, right: Place): boolean {
  const at = left.findIndex((part, index) => part !== right[index]);
  return at >= 0 && (left[at] ?? 0) < (right[at] ?? 0);
}

/** Compares what a client saw with what history has. */
export function judgeIds(
  seen: readonly string[],
  all: readonly string[],
): Pick<StreamScore, 'lost' | 'doubled' | 'outOfOrder'> {
  const places = seen.map((id): Place => id.split('.').map(Number));
  const known = new Set(seen);
  return {
    lost: all.filter((id) => !known.has(id)).length,
    doubled: seen.length - known.size,
    outOfOrder: places.filter((place, index) => {
      const before = places[index - 1];
      return before !== undefined && isBefore(place, before);
    }).length,
  };
}

/** Plays the trial. Each kill comes when the clients have seen a further share of all events. */
export async function scoreStreams(
  { client, emulator, settings, tokens }: GatewayGround,
  trial: StreamTrial,
): Promise<StreamScore> {
  emulator.script((request) => {
    const iteration = (request.messagesCount + 1) / 2;
    return iteration >= trial.iterations
      ? reply.text('All parts are done, and this is what they came to.', { charactersPerDelta: 6 })
      : reply.toolCalls([{ name: 'work', input: { part: `part ${iteration}` } }]);
  });
  let gateway = await startGateway(settings);
  const started = await Promise.all(
    Array.from({ length: trial.runs }, (_, index) =>
      client.start({ agent: 'worker', goal: `Work on lot ${index}.`, tenant: 'acme' }),
    ),
  );
  let events = 0;
  // Started, iteration, reply, call and result of each, and the end: enough to space the kills.
  const expected = trial.clients * (4 * trial.iterations);
  let reached = (): void => undefined;
  const follow = started.flatMap(({ runId }, index) =>
    Array.from({ length: clientsOf(index, trial) }, () =>
      followRun({
        ...{ url: gateway.url, token: tokens.reader, runId },
        onEntry: () => {
          events += 1;
          reached();
        },
      }),
    ),
  );
  const all = Promise.all(follow);
  const killing = (async () => {
    for (let kill = 1; kill <= trial.kills; kill += 1) {
      const wanted = (expected * kill) / (trial.kills + 2);
      await new Promise<void>((resolve) => {
        reached = () => {
          if (events >= wanted) resolve();
        };
        reached();
      });
      await gateway.kill();
      gateway = await startGateway(settings);
    }
  })();
  const [received] = await Promise.all([all, killing]);
  const truths = new Map<string, readonly string[]>();
  for (const run of started) {
    const ids: string[] = [];
    for await (const { id } of run.events()) ids.push(id);
    truths.set(run.runId, ids);
  }
  await gateway.kill();
  return sumOf(received, truths);
}

function clientsOf(index: number, { clients, runs }: StreamTrial): number {
  return Math.floor((clients * (index + 1)) / runs) - Math.floor((clients * index) / runs);
}

function sumOf(
  received: readonly Received[],
  truths: ReadonlyMap<string, readonly string[]>,
): StreamScore {
  const sum = { events: 0, lost: 0, doubled: 0, outOfOrder: 0 };
  const rows = received.map(({ runId, ids, connections, status }, index): JudgedRow => {
    const { lost, doubled, outOfOrder } = judgeIds(ids, truths.get(runId) ?? []);
    sum.events += ids.length;
    sum.lost += lost;
    sum.doubled += doubled;
    sum.outOfOrder += outOfOrder;
    const id = `client ${index + 1} of ${runId.slice(0, 15)}`;
    const expected = 'every event once, in order';
    const isRight = lost + doubled + outOfOrder === 0 && ids.length > 0 && status === 'completed';
    const fault = { right: 'recovers' } as const;
    if (isRight) return { id, expected: `${expected} (${connections} connections)`, fault };
    const got = `${lost} lost, ${doubled} doubled, ${outOfOrder} out of order, ended as ${status ?? 'unknown'}`;
    return { id, expected, fault, wrong: { id, expected, got } };
  });
  return { clients: received.length, ...sum, rows };
}
