/** Forks and continued runs: a transcript that begins where another stood, valid on every wire, and the old run as it was. */
import { z } from 'zod';
import { defineTool } from '../../activities/tools/define-tool';
import type { AgentClient } from '../../client/agent-client';
import { transcriptLines } from '../../workers/cli/display/transcript-lines';
import { reply } from '../../testing/emulator/script';
import type { AgentWorld } from '../support/agent-world';
import { eventually, otherModel, startAgentWorld, testModel } from '../support/agent-world';
import { uniqueName } from '../support/temporal';

const note = defineTool({
  name: 'note',
  description: 'Notes a text.',
  input: z.object({ text: z.string() }),
  effect: 'read',
  execute: ({ text }) => `noted ${text}`,
});
const slow = defineTool({
  name: 'slow',
  description: 'Ends only when it is stopped.',
  input: z.object({}),
  effect: 'read',
  execute: (_input, { signal }) =>
    new Promise((_resolve, reject) => {
      signal.addEventListener('abort', () => {
        reject(new Error('stopped'));
      });
    }),
});

let world: AgentWorld;
let client: AgentClient;
beforeAll(async () => {
  const common = { instructions: 'You note.', tools: [note, slow] } as const;
  const limits = { heartbeatTimeoutMs: 2_000 };
  world = await startAgentWorld([
    { ...common, limits, name: 'noter', chain: [{ provider: 'anthropic', model: testModel }] },
    { ...common, limits, name: 'other', chain: [{ provider: 'openai', model: otherModel }] },
  ]);
  ({ client } = world);
});
afterAll(() => world.dispose());
beforeEach(() => {
  world.emulator.clearScripts();
});

const noting = (...texts: string[]) =>
  reply.toolCalls(texts.map((text) => ({ name: 'note', input: { text } })));
const lastTexts = (): string => JSON.stringify(world.emulator.requests.at(-1)?.body);

test('a fork begins where the other run stood, with other words, and leaves it as it is', async () => {
  world.emulator.script([noting('one', 'two'), noting('three'), reply.text('the end')]);
  const first = await client.start({ agent: 'noter', goal: 'Note.', runId: uniqueName('run') });
  expect(await first.result()).toMatchObject({ status: 'completed' });
  const before = await first.transcriptHead();

  world.emulator.script([reply.text('forked')]);
  const fork = await client.fork(first.runId, 1, { message: 'Now stop.' });
  expect(await fork.result()).toMatchObject({ status: 'completed', answer: 'forked' });
  expect(lastTexts()).toContain('noted two');
  expect(lastTexts()).toContain('Now stop.');
  expect(lastTexts()).not.toContain('three');

  world.emulator.script([reply.text('from the start')]);
  const start = await client.fork(first.runId, 0, { agent: 'other' });
  expect(await start.result()).toMatchObject({ status: 'completed' });
  expect(lastTexts()).not.toContain('noted');

  world.emulator.script([reply.text('went on')]);
  const silent = await client.fork(first.runId, 3);
  expect(await silent.result()).toMatchObject({ status: 'completed' });
  expect(lastTexts()).toContain('asks you to continue');

  expect(await first.transcriptHead()).toEqual(before);
  await expect(client.fork(first.runId, 7)).rejects.toThrow(/has come to iteration 3/);
});

test('a run continues a finished one, whatever it was in the middle of, on either wire', async () => {
  world.emulator.script([
    noting('one'),
    reply.toolCalls([
      { name: 'note', input: { text: 'two' } },
      { name: 'slow', input: {} },
    ]),
  ]);
  const stopped = await client.start({ agent: 'noter', goal: 'Note.', runId: uniqueName('run') });
  await eventually(
    () => stopped.status(),
    ({ doing, toolCallsSucceeded }) => doing.includes('slow') && toolCallsSucceeded === 2,
  );
  await expect(
    client.start({ agent: 'noter', goal: 'Go on.', continueFrom: stopped.runId }),
  ).rejects.toThrow(/has not ended/);
  await stopped.stop('enough');
  await stopped.result();
  for (const agent of ['noter', 'other']) {
    world.emulator.script([reply.text('done')]);
    const next = await client.start({ agent, goal: 'Go on.', continueFrom: stopped.runId });
    expect(await next.result()).toMatchObject({ status: 'completed', answer: 'done' });
    expect(lastTexts()).toContain('noted one');
    // No model call of the stopped run had read it.
    expect(lastTexts()).toContain('noted two');
    expect(lastTexts()).toContain('Go on.');
  }
  const { head } = await stopped.transcriptHead();
  const lines = transcriptLines(await world.stored.store.loadTranscript(head));
  expect(lines.map(({ text }) => text).join('\n')).toContain('call       note {"text":"one"}');
});

test('a run that continues one that ran out of iterations reads the results that the other could not', async () => {
  world.emulator.script([noting('the last thing')]);
  const limits = { maxIterations: 1 };
  const spent = await client.start({ agent: 'noter', goal: 'Note.', limits });
  expect(await spent.result()).toMatchObject({ reason: 'max_iterations' });
  world.emulator.script([reply.text('done')]);
  const next = await client.start({ agent: 'noter', goal: 'Go on.', continueFrom: spent.runId });
  expect(await next.result()).toMatchObject({ status: 'completed' });
  expect(lastTexts()).toContain('noted the last thing');
  world.emulator.script([reply.text('forked')]);
  const fork = await client.fork(next.runId, 0, { message: 'Once more.' });
  expect(await fork.result()).toMatchObject({ status: 'completed' });
  expect(lastTexts().split('noted the last thing')).toHaveLength(2);
});
