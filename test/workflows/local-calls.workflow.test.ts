/** Quick read tools run in the workflow's own worker: history, fold, replay and what people do meanwhile. */
import { setTimeout as sleep } from 'node:timers/promises';
import { historyFromJSON, historyToJSON } from '@temporalio/common/lib/proto-utils';
import { Worker } from '@temporalio/worker';
import { z } from 'zod';
import type { AgentDefinition } from '../../activities/definitions/agent';
import { defineTool } from '../../activities/tools/define-tool';
import type { Tool } from '../../activities/tools/tool';
import { ToolError } from '../../activities/tools/tool-error';
import { retainedReferences } from '../../client/history/retained-references';
import { foldToEnd } from '../../client/history/read-history';
import { reply } from '../../testing/emulator/script';
import type { agentRun } from '../../workflows/agent-run';
import { statusView } from '../../workflows/core/view/status';
import type { AgentWorld, RunHandle } from '../support/agent-world';
import {
  eventually,
  outcomeOf,
  startAgentWorld,
  statusOf,
  testModel,
} from '../support/agent-world';
import { storyOf } from '../support/folded-story';
import { startOwnServer, workflowBundle } from '../support/temporal';

/** What the tools did in this process, in order. */
let ledger: string[] = [];

function read(
  name: string,
  execute: Parameters<typeof defineTool>[0]['execute'],
  quick = true,
): Tool {
  const input = z.object({ place: z.string().default('here') });
  return defineTool({ name, description: 'Reads.', input, effect: 'read', quick, execute });
}

const look = read('look', (input) => `saw ${JSON.stringify(input)}`);
const peek = read('peek', () => 'peeked', false);
const stumble = read('stumble', () => {
  throw new ToolError('nothing is there', { hint: 'Look elsewhere.' });
});

/** Waits until it is stopped; then notes it. */
async function untilStopped(name: string, signal: AbortSignal): Promise<void> {
  ledger.push(`${name} begins`);
  await sleep(600_000, undefined, { signal }).catch(() => {
    ledger.push(`${name} is stopped`);
    throw signal.reason;
  });
}

const dawdle = read('dawdle', async (_input, { signal }) => {
  if (!ledger.includes('dawdle begins')) await untilStopped('dawdle', signal);
  ledger.push('dawdle returns');
  return 'at last';
});
/** Heeds no signal, and is done a little after it. */
const deaf = read('deaf', async (_input, { signal }) => {
  ledger.push('deaf begins');
  while (!signal.aborted) await sleep(50);
  return 'too late, but here';
});
const hang = read('hang', (_input, { signal }) => untilStopped('hang', signal));

const looker: AgentDefinition = {
  name: 'looker',
  instructions: 'You look.',
  chain: [{ provider: 'anthropic', model: testModel }],
  tools: [look, peek, stumble, dawdle, deaf, hang],
  limits: { maxIterations: 30 },
};

let world: AgentWorld;
beforeAll(async () => {
  // Without runs of other tests: what only a marker names is found in all histories that the server has.
  world = await startAgentWorld([looker], { server: await startOwnServer() });
});
afterAll(() => world.dispose());
beforeEach(() => {
  world.emulator.clearScripts();
  ledger = [];
});

const calls = (...names: readonly string[]): ReturnType<typeof reply.toolCalls> =>
  reply.toolCalls(names.map((name) => ({ name, input: { place: name } })));
const start = (): Promise<RunHandle> => world.start({ agent: 'looker', goal: 'Look.' });

type Events = NonNullable<Awaited<ReturnType<RunHandle['fetchHistory']>>['events']>;
const eventsOf = async (handle: RunHandle): Promise<Events> =>
  (await handle.fetchHistory()).events ?? [];
const markersIn = (events: Events): number =>
  events.filter((event) => event.markerRecordedEventAttributes != null).length;
const scheduledIn = (events: Events): readonly string[] =>
  events.flatMap(({ activityTaskScheduledEventAttributes: activity }) =>
    activity?.activityId == null ? [] : [activity.activityId],
  );

/** The run as history shows it is the run as it was, and history replays on this code. */
async function expectTrueHistory(handle: RunHandle, { server } = world): Promise<void> {
  const { state } = await foldToEnd(server.client, handle.workflowId);
  expect(state && statusView(state)).toEqual(await statusOf(handle));
  const history = historyFromJSON(JSON.parse(historyToJSON(await handle.fetchHistory())));
  const bundle = await workflowBundle();
  await Worker.runReplayHistory({ workflowBundle: bundle }, history, handle.workflowId);
}

test('calls of one reply run beside their workflow task, and history tells them as any other', async () => {
  world.emulator.script([calls('look', 'look', 'stumble'), calls('look'), reply.text('done')]);
  const handle = await start();
  expect(await outcomeOf(handle)).toMatchObject({
    status: 'completed',
    report: { toolCallsSucceeded: 3, toolCallsFailed: 1, iterations: 3 },
  });
  const events = await eventsOf(handle);
  expect(scheduledIn(events)).toEqual(['prepare', 'm1', 'm2', 'm3']);
  // The last records what the run learned of its error.
  expect(markersIn(events)).toBe(5);
  const story = await storyOf(world, handle);
  const typed = (type: string): number => story.filter((entry) => entry.type === type).length;
  expect(typed('ToolCallStartedEvent')).toBe(4);
  expect(typed('ToolCallSucceededEvent')).toBe(3);
  expect(typed('ToolResultErrorEvent')).toBe(1);
  const [first, , third] = world.emulator.requests.at(-2)?.lastToolResults ?? [];
  expect(first?.content).toContain('saw {"place":"look"}');
  expect(third?.content).toContain('nothing is there');
  expect(third?.content).toContain('Look elsewhere.');
  await expectTrueHistory(handle);
  world.emulator.assertDrained();
});

test('an iteration has seven events, and garbage collection finds what only a marker names', async () => {
  world.emulator.script([calls('look'), calls('look'), calls('look'), reply.text('done')]);
  const handle = await start();
  await outcomeOf(handle);
  const events = await eventsOf(handle);
  const ids = events.flatMap((event, index) =>
    event.activityTaskScheduledEventAttributes?.activityId?.startsWith('m') === true ? [index] : [],
  );
  const [, second = 0, third = 0] = ids;
  expect(third - second).toBe(7);
  const marker = events.find((event) => event.markerRecordedEventAttributes != null);
  const [payload] = marker?.markerRecordedEventAttributes?.details?.['result']?.payloads ?? [];
  const { result } = JSON.parse(Buffer.from(payload?.data ?? []).toString()) as { result: string };
  const { hashes } = (await retainedReferences(world.server.client)).others;
  expect(hashes).toContain(result);
});

test('beside a call that is not quick, all are ordinary activities: none waits for another', async () => {
  world.emulator.script([calls('look', 'peek'), reply.text('done')]);
  const handle = await start();
  expect(await outcomeOf(handle)).toMatchObject({ report: { toolCallsSucceeded: 2 } });
  const events = await eventsOf(handle);
  expect(scheduledIn(events)).toEqual(['prepare', 'm1', 't1.0', 't1.1', 'm2']);
  expect(markersIn(events)).toBe(0);
});

test('a call that takes too long is stopped and starts again as an ordinary activity; it counts once', async () => {
  world.emulator.script([calls('dawdle', 'look'), reply.text('done')]);
  const handle = await start();
  expect(await outcomeOf(handle)).toMatchObject({
    status: 'completed',
    report: { toolCallsSucceeded: 2, toolCallsFailed: 0, healed: {}, didNotWork: [] },
  });
  expect(ledger).toEqual(['dawdle begins', 'dawdle is stopped', 'dawdle returns']);
  expect(scheduledIn(await eventsOf(handle))).toEqual(['prepare', 'm1', 't1.0', 'm2']);
  const [first, second] = world.emulator.requests.at(-1)?.lastToolResults ?? [];
  expect(first?.content).toContain('at last');
  expect(second?.content).toContain('saw');
  await expectTrueHistory(handle);
  world.emulator.assertDrained();
});

test('a call that ends soon after it was stopped is not made a second time', async () => {
  world.emulator.script([calls('deaf'), reply.text('done')]);
  const handle = await start();
  expect(await outcomeOf(handle)).toMatchObject({ report: { toolCallsSucceeded: 1 } });
  expect(ledger).toEqual(['deaf begins']);
  expect(world.emulator.requests.at(-1)?.lastToolResults[0]?.content).toContain('too late');
});

test('a stop and a cancel reach a call that would never end', async () => {
  for (const end of ['stop', 'cancel'] as const) {
    world.emulator.script([calls('hang')]);
    const handle = await start();
    await eventually(
      () => Promise.resolve(ledger),
      (lines) => lines.includes('hang begins'),
    );
    if (end === 'stop') await world.client.run(handle.workflowId).stop('enough');
    else await handle.cancel();
    const status = end === 'stop' ? 'stopped' : 'cancelled';
    const { state } = await eventually(
      () => foldToEnd(world.server.client, handle.workflowId),
      ({ end: over }) => over !== undefined,
    );
    expect(state?.phase).toMatchObject({ type: 'ended', outcome: { status } });
    expect(ledger.at(-1)).toBe('hang is stopped');
    expect(ledger.length).toBeLessThanOrEqual(4);
    await expectTrueHistory(handle);
    ledger = [];
  }
});

test('a worker that keeps no run in memory makes them ordinary activities', async () => {
  const forgetful = await startAgentWorld([looker], { maxCachedWorkflows: 0 });
  forgetful.emulator.script([calls('look', 'look'), calls('look'), reply.text('done')]);
  const handle = await forgetful.start({ agent: 'looker', goal: 'Look.' });
  expect(await outcomeOf(handle)).toMatchObject({
    status: 'completed',
    report: { toolCallsSucceeded: 3, toolCallsFailed: 0, healed: {}, didNotWork: [] },
  });
  const events = await eventsOf(handle);
  expect(scheduledIn(events)).toEqual(['prepare', 'm1', 't1.0', 't1.1', 'm2', 't2.0', 'm3']);
  expect(markersIn(events)).toBe(3);
  await expectTrueHistory(handle, forgetful);
  await forgetful.dispose();
});

test('a run rolls over between local calls, and each segment numbers its own', async () => {
  const server = await startOwnServer({ rollsOverAfter: 24 });
  const rolling = await startAgentWorld([looker], { server });
  const places = Array.from({ length: 12 }, (_, n) => ({ place: `room ${n}` }));
  rolling.emulator.script([
    ...places.map((input) => reply.toolCalls([{ name: 'look', input }])),
    reply.text('done'),
  ]);
  const handle = await rolling.start({ agent: 'looker', goal: 'Look.' });
  expect(await outcomeOf(handle)).toMatchObject({
    status: 'completed',
    report: { toolCallsSucceeded: 12, toolCallsFailed: 0 },
  });
  const status = await statusOf(handle);
  expect(status.segments).toBeGreaterThan(2);
  const newest = rolling.server.client.getHandle<typeof agentRun>(handle.workflowId);
  expect(scheduledIn(await eventsOf(newest)).some((id) => id.startsWith('t'))).toBe(false);
  await expectTrueHistory(newest, rolling);
  await rolling.dispose();
});
