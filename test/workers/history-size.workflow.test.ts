/** Bytes and events that one iteration adds to a run's history: what the product's own worker writes (ADR 0052). */
import { hostname } from 'node:os';
import { z } from 'zod';
import { defineTool } from '../../activities/tools/define-tool';
import { playBenchRun } from '../../bench/bench-run';
import { windowsOf } from '../../bench/history-sizes';
import { scriptedProvider } from '../../testing/scripted-provider';
import type { DevServer } from '../support/temporal';
import { startDevServer, uniqueName } from '../support/temporal';

let server: DevServer;
beforeAll(async () => {
  server = await startDevServer();
});
afterAll(() => server.close());

/** Bytes of an iteration with a keyed tool. Source: 1.35 times those of a hand-written loop of two activities (docs/results.md). */
const mostBytes = 2_200;
/** Events of two activities and two workflow tasks. */
const events = 12;
/** Places that name the worker in an iteration: ten events, two of them with its own queue too. */
const identities = 12;
/** Characters of the identity on the machine where the bar was measured. */
const measuredIdentity = 8;

it('adds at most 2,200 bytes and 12 events for an iteration with a keyed tool', async () => {
  const iterations = 30;
  const look = defineTool({
    name: 'look',
    description: 'Looks something up.',
    input: z.object({ n: z.number(), size: z.number() }),
    effect: 'keyed',
    execute: ({ n, size }) => `${n} `.padEnd(size, `entry ${n} `),
  });
  const { outcome, chain } = await playBenchRun({
    agent: {
      name: 'looker',
      instructions: 'You look things up.',
      chain: [{ provider: 'scripted', model: 'scripted', windowTokens: 10_000_000 }],
      tools: [look],
    },
    provider: scriptedProvider('scripted', (_request, index) =>
      index + 1 < iterations
        ? { toolCalls: [{ name: 'look', input: { n: index, size: 1_024 } }] }
        : { text: 'done' },
    ),
    goal: 'Look things up.',
    iterations,
    place: { address: server.address, taskQueue: uniqueName('queue') },
  });
  expect(outcome.status).toBe('completed');
  const windows = windowsOf(chain.sizes, iterations);
  const [host = ''] = hostname().split('.');
  const identity = `${process.pid}@${host.slice(-12)}`.length;
  const longer = Math.max(0, identity - measuredIdentity) * identities;
  expect(windows.eventsPerIteration.at(-1)).toBeLessThanOrEqual(events);
  expect(windows.bytesPerIteration.at(-1)).toBeLessThanOrEqual(mostBytes + longer);
  // It is really what an iteration takes, not an empty window.
  expect(windows.bytesPerIteration.at(-1)).toBeGreaterThan(1_000);
}, 60_000);
