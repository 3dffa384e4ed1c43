/** Forks and continued runs on a real server: what the first run did later is not silently repeated. */
import { z } from 'zod';
import { defineSubagent } from '../../activities/subagents/define-subagent';
import { defineTool } from '../../activities/tools/define-tool';
import type { AgentClient } from '../../client/agent-client';
import type { RunHandle } from '../../client/run-handle';
import type { Step } from '../../testing/emulator/script';
import { reply } from '../../testing/emulator/script';
import type { AgentWorld } from '../support/agent-world';
import { eventually, startAgentWorld, testModel } from '../support/agent-world';

/** What was paid, in order. */
let paid: number[] = [];
const input = z.object({ cents: z.number() });
const pay = ({ cents }: z.output<typeof input>): string => {
  paid.push(cents);
  return `receipt ${paid.length}`;
};
const base = { description: 'Pays.', input, execute: pay } as const;
const hang = defineTool({
  ...base,
  name: 'hang',
  execute: async (given, { signal }) => {
    pay(given);
    await new Promise((resolve) => {
      signal.addEventListener('abort', resolve);
    });
    throw new Error('stopped in the middle');
  },
});
const tools = [
  defineTool({ ...base, name: 'pay', effect: 'keyed' }),
  defineTool({ ...base, name: 'cash' }),
  defineTool({ ...base, name: 'ask', onUnknown: 'ask-person' }),
  defineTool({ ...base, name: 'signed', effect: 'keyed', approval: 'always' }),
  hang,
  defineSubagent({ name: 'delegate', description: 'Delegates.', agent: 'payer' }),
];

let world: AgentWorld;
let client: AgentClient;
beforeAll(async () => {
  const chain = [{ provider: 'anthropic', model: testModel }] as const;
  const limits = { heartbeatTimeoutMs: 10_000 };
  world = await startAgentWorld([
    { name: 'payer', instructions: 'You pay.', chain, limits, tools: tools.slice(0, -1) },
    { name: 'lead', instructions: 'You lead.', chain, limits, tools },
  ]);
  ({ client } = world);
});
afterAll(() => world.dispose());
beforeEach(() => {
  world.emulator.clearScripts();
  paid = [];
});

const call = (name: string, cents: number): Step => reply.toolCalls([{ name, input: { cents } }]);
const done = reply.text('done');
/** The newest call again: the model is asked once whether it means it, and makes it once more (R-TOOL-14). */
const again = (name: string, cents: number): Step[] => [call(name, cents), call(name, cents)];

async function ended(run: RunHandle): Promise<RunHandle> {
  expect(await run.result()).toMatchObject({ status: 'completed' });
  return run;
}

async function first(...steps: Step[]): Promise<RunHandle> {
  world.emulator.script([...steps, done]);
  return ended(await client.start({ agent: 'lead', goal: 'Pay.' }));
}

async function forked(
  of: RunHandle,
  at: number,
  steps: Step[],
  options: Parameters<AgentClient['fork']>[2] = {},
): Promise<RunHandle> {
  world.emulator.script([...steps, done]);
  return client.fork(of.runId, at, options);
}

const lastRequest = (): string => JSON.stringify(world.emulator.requests.at(-1)?.body);

test('a fork is told what the first run did after its point, as often as it did it', async () => {
  const run = await first(call('pay', 1), call('pay', 2), ...again('pay', 2), call('cash', 3));
  const steps = [
    call('pay', 1),
    call('pay', 2),
    call('cash', 3),
    call('pay', 2),
    ...again('pay', 2),
  ];
  const fork = await ended(await forked(run, 1, steps));
  // The first call is before the point, so it runs; so does the last, a third payment where the first run made two.
  expect(paid).toEqual([1, 2, 2, 3, 1, 2]);
  expect(lastRequest()).toContain(run.runId);
  expect(lastRequest()).toContain('not done again');

  // A fork of the fork, after its second call: the answers from the first run continue there.
  await ended(await forked(fork, 2, [...again('pay', 2), call('cash', 3), call('pay', 2)]));
  expect(paid).toEqual([1, 2, 2, 3, 1, 2]);
  const repeated = { repeatEffects: ['pay', 'cash'] };
  await ended(await forked(fork, 2, [...again('pay', 2), call('cash', 3)], repeated));
  expect(paid).toEqual([1, 2, 2, 3, 1, 2, 2, 3]);
});

test('a fork of a run that still runs knows what that run did meanwhile', async () => {
  world.emulator.script([call('pay', 1), call('signed', 2), call('cash', 4), done]);
  const run = await client.start({ agent: 'lead', goal: 'Pay.' });
  const [approval] = await eventually(
    () => run.pending(),
    (items) => items.length > 0,
  );
  world.emulator.clearScripts();
  const fork = await forked(run, 0, [call('pay', 1), call('signed', 3)]);
  const [later] = await eventually(
    () => fork.pending(),
    (items) => items.length > 0,
  );
  expect(paid).toEqual([1]);
  world.emulator.clearScripts();
  world.emulator.script([call('cash', 4), done]);
  if (approval?.type !== 'approval' || later?.type !== 'approval') throw new Error('no approval');
  await run.approve(approval.approvalId);
  await ended(run);
  expect(paid).toEqual([1, 2, 4]);
  world.emulator.script([call('cash', 4), done]);
  await fork.approve(later.approvalId);
  await ended(fork);
  expect(paid).toEqual([1, 2, 4, 3]);
});

test('arguments that an approver edited count as edited', async () => {
  world.emulator.script([call('signed', 100), done]);
  const run = await client.start({ agent: 'lead', goal: 'Pay.' });
  const [item] = await eventually(
    () => run.pending(),
    (items) => items.length > 0,
  );
  if (item?.type !== 'approval') throw new Error('no approval');
  await run.approve(item.approvalId, { input: { cents: 50 } });
  await ended(run);
  expect(paid).toEqual([50]);

  const fork = await forked(run, 0, [call('signed', 100)]);
  const [again] = await eventually(
    () => fork.pending(),
    (items) => items.length > 0,
  );
  if (again?.type !== 'approval') throw new Error('no approval');
  await fork.approve(again.approvalId, { input: { cents: 50 } });
  await ended(fork);
  expect(paid).toEqual([50]);
  expect(lastRequest()).toContain('not done again');
});

test('what a subagent did is told to the subagent of the fork', async () => {
  const delegate = reply.toolCalls([{ name: 'delegate', input: { task: 'Pay 7.' } }]);
  const run = await first(delegate, call('cash', 7), reply.text('paid'));
  expect(paid).toEqual([7]);
  await ended(await forked(run, 0, [delegate, call('cash', 7), reply.text('paid')]));
  expect(paid).toEqual([7]);
  await ended(await forked(run, 0, [call('cash', 7)]));
  expect(paid).toEqual([7]);
  // A fork of the subagent's own run.
  const below = client.run(`${run.runId}/t1.0`);
  await ended(await forked(below, 0, [call('cash', 7), call('cash', 8)]));
  expect(paid).toEqual([7, 8]);
});

test("a person is asked about the first run's irreversible call, if the tool's author wants to ask", async () => {
  const run = await first(call('ask', 9));
  const fork = await forked(run, 0, [call('ask', 9)]);
  const [item] = await eventually(
    () => fork.pending(),
    (items) => items.length > 0,
  );
  if (item?.type !== 'question') throw new Error('no question');
  expect(item.question).toContain('reported: receipt 1');
  await fork.answer(item.questionId, 'It was paid.');
  await ended(fork);
  expect(paid).toEqual([9]);
  expect(lastRequest()).toContain('It was paid.');
});

test('a run that continues one that was stopped in a call does not repeat that call; it may repeat one whose result it has read', async () => {
  const both = reply.toolCalls([
    { name: 'hang', input: { cents: 5 } },
    { name: 'cash', input: { cents: 6 } },
  ]);
  world.emulator.script([both, done]);
  const run = await client.start({ agent: 'lead', goal: 'Pay.' });
  await eventually(
    () => Promise.resolve(paid.length),
    (count) => count === 2,
  );
  await eventually(
    () => run.status(),
    ({ toolCallsSucceeded }) => toolCallsSucceeded === 1,
  );
  await run.stop('enough');
  await run.result();
  world.emulator.clearScripts();
  world.emulator.script([both, done]);
  const next = await client.start({ agent: 'lead', goal: 'Go on.', continueFrom: run.runId });
  await ended(next);
  expect(paid.filter((cents) => cents === 5)).toHaveLength(1);
  expect(paid.filter((cents) => cents === 6)).toHaveLength(2);
  expect(lastRequest()).toContain('began the same call');
});

test('repeatEffects is checked before anything is spent', async () => {
  await expect(
    client.start({ agent: 'lead', goal: 'Pay.', repeatEffects: ['pay'] }),
  ).rejects.toThrow(/is only for a fork/);
  const run = await first(call('pay', 1));
  const fork = await client.fork(run.runId, 0, { repeatEffects: ['wire'] });
  expect(await fork.result()).toMatchObject({
    status: 'failed',
    failure: { code: 'config_invalid' },
  });
});
