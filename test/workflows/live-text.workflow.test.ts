/** People see the model's words while they arrive: whole runs, whose replies stream over HTTP, slowly, cut, or from another provider. */
import { Client } from '@temporalio/client';
import { z } from 'zod';
import type { AgentDefinition } from '../../activities/definitions/agent';
import { openStore } from '../../activities/stores/open-store';
import type { Store } from '../../activities/stores/store';
import { defineTool } from '../../activities/tools/define-tool';
import { AgentClient } from '../../client/agent-client';
import type { RunEntry } from '../../client/history/fold';
import type { RunHandle } from '../../client/run-handle';
import type { ReplyOptions } from '../../testing/emulator/script';
import { fault, reply } from '../../testing/emulator/script';
import type { TextDelta } from '../../workflows/core/model-call/live-text';
import { liveTextKey } from '../../workflows/core/model-call/live-text';
import type { AgentWorld } from '../support/agent-world';
import { otherModel, startAgentWorld, testModel } from '../support/agent-world';

const look = defineTool({
  name: 'look',
  description: 'Looks.',
  input: z.object({}),
  effect: 'read',
  execute: () => 'seen',
});
const writer: AgentDefinition = {
  name: 'writer',
  instructions: 'You write.',
  chain: [
    { provider: 'anthropic', model: testModel },
    { provider: 'openai', model: otherModel },
  ],
  tools: [look],
  limits: { streamRetries: 1, streamRetryBaseMs: 1 },
};
const plain: AgentDefinition = {
  ...writer,
  name: 'plain',
  chain: [{ provider: 'anthropic', model: testModel, toolProtocol: 'text' }],
};

let world: AgentWorld;
/** The same store, opened as another process opens it. */
let store: Store;
let client: AgentClient;
beforeAll(async () => {
  world = await startAgentWorld([writer, plain]);
  store = await openStore(world.stored.url);
  const { connection, namespace, address } = world.server;
  const temporal = new Client({ connection, namespace });
  client = new AgentClient(temporal, { taskQueue: world.taskQueue, address, store });
});
afterAll(async () => {
  await store.close();
  await world.dispose();
});
beforeEach(() => {
  world.emulator.clearScripts();
});

/** Slow enough that a text of some sentences takes seconds. */
const slow: ReplyOptions = { charactersPerDelta: 8, delivery: { writeEveryMs: 25 } };
const sentences = (topic: string): string =>
  Array.from({ length: 12 }, (_, n) => `Sentence ${n} is about ${topic}.`).join(' ');

type Told = RunEntry | TextDelta;

async function tell(run: RunHandle): Promise<readonly Told[]> {
  const told: Told[] = [];
  for await (const entry of run.events({ text: true })) told.push(entry);
  return told;
}

const isText = (entry: Told): entry is TextDelta => entry.type === 'TextDelta';

/** What a person has read after each piece, by the rule of `offset`. */
function shown(deltas: readonly TextDelta[]): readonly string[] {
  let text = '';
  return deltas.map((delta) => (text = text.slice(0, delta.offset) + delta.text));
}

/** Types of the entries, with each row of texts as one. */
function story(told: readonly Told[]): readonly string[] {
  const types = told.map(({ type }) => type);
  return types.filter((type, at) => type !== 'TextDelta' || types[at - 1] !== 'TextDelta');
}

test('a slow reply is read word by word, between the start of its iteration and its entry', async () => {
  const answer = sentences('rivers');
  world.emulator.script([
    reply.toolCalls([{ name: 'look', input: {} }], { ...slow, text: sentences('maps') }),
    reply.text(answer, { ...slow, reasoning: 'Nobody may read this thought.' }),
  ]);
  const run = await client.start({ agent: 'writer', goal: 'Write about rivers.' });
  const told = await tell(run);
  expect(story(told)).toEqual([
    'RunStartedEvent',
    ...['IterationStartedEvent', 'TextDelta', 'ModelRepliedEvent'],
    ...['ToolCallStartedEvent', 'ToolCallSucceededEvent'],
    ...['IterationStartedEvent', 'TextDelta', 'ModelRepliedEvent'],
    'RunEndedEvent',
  ]);
  const deltas = told.filter(isText);
  const [first, second] = [1, 2].map((n) => deltas.filter(({ iteration }) => iteration === n));
  expect(shown(first ?? []).at(-1)).toBe(sentences('maps'));
  expect(shown(second ?? []).at(-1)).toBe(answer);
  // Each reply takes more than a second.
  for (const part of [first, second]) expect(part?.length).toBeGreaterThan(3);
  expect(deltas.at(-1)).toMatchObject({
    runId: run.runId,
    iteration: 2,
    attempt: 1,
    route: `anthropic/${testModel}`,
  });
  expect(JSON.stringify(deltas)).not.toContain('thought');
});

test('a cut stream is begun again by its retry, and again by another provider', async () => {
  const cut = (topic: string): ReturnType<typeof fault.cutStream> =>
    fault.cutStream({ during: reply.text(sentences(topic), slow), afterCharacters: 300 });
  world.emulator.script([cut('rain'), cut('snow')], { wire: 'anthropic' });
  world.emulator.script([reply.text(sentences('sun'), slow)], { wire: 'responses' });
  const run = await client.start({ agent: 'writer', goal: 'Write about weather.' });
  const told = await tell(run);
  const deltas = told.filter(isText);
  const texts = new Map<string, TextDelta[]>();
  for (const delta of deltas) {
    const place = `${delta.route} ${delta.attempt}`;
    texts.set(place, [...(texts.get(place) ?? []), delta]);
  }
  const [anthropic, openai] = [`anthropic/${testModel}`, `openai/${otherModel}`];
  expect([...texts.keys()]).toEqual([`${anthropic} 1`, `${anthropic} 2`, `${openai} 1`]);
  // A display that knows nothing but the rule of `offset` never mixes two attempts.
  const read = shown(deltas);
  for (const text of read) expect(new Set(text.match(/rain|snow|sun/g)).size).toBeLessThan(2);
  expect(read.some((text) => text.includes('rain'))).toBe(true);
  expect(read.some((text) => text.includes('snow'))).toBe(true);
  expect(read.at(-1)).toBe(sentences('sun'));
  expect(story(told)).toEqual([
    ...['RunStartedEvent', 'IterationStartedEvent', 'TextDelta', 'ErrorEvent'],
    ...['FailoverEvent', 'IterationStartedEvent', 'TextDelta'],
    ...['HealedEvent', 'ModelRepliedEvent', 'RunEndedEvent'],
  ]);
});

test('a secret is never shown, not even its beginning, and a call in the text is none of it', async () => {
  const secret = `ghp_${'A1b2C3d4E5f6G7h8I9'.repeat(2)}`;
  world.emulator.script([
    reply.text(`The token is ${secret}, says the file. ${sentences('tokens')}`, slow),
  ]);
  const run = await client.start({ agent: 'writer', goal: 'Write about tokens.' });
  const read = shown((await tell(run)).filter(isText));
  expect(read.length).toBeGreaterThan(3);
  for (const text of read) expect(text).not.toContain('ghp');
  expect(read.at(-1)).toContain('The token is [redacted], says');

  const call = '```json\n{"tool_name": "look", "arguments": {}}\n```';
  world.emulator.script([
    reply.text(`${sentences('looks')}\n\n${call}`, slow),
    reply.text('Done.', slow),
  ]);
  const other = await client.start({ agent: 'plain', goal: 'Look.' });
  const looked = (await tell(other)).filter(isText).filter(({ iteration }) => iteration === 1);
  for (const text of shown(looked)) expect(text).not.toMatch(/tool_name|json/);
  expect(shown(looked).at(-1)).toBe(sentences('looks'));
});

test('who comes later reads the whole text, leaving ends at once, and nobody is shown what nobody watches', async () => {
  const answer = sentences('late readers');
  const steps = [reply.text(answer, { ...slow, delivery: { writeEveryMs: 60 } })];
  world.emulator.script(steps);
  const run = await client.start({ agent: 'writer', goal: 'Write.' });
  let seen = '';
  for await (const entry of run.events({ text: true }))
    if (isText(entry) && (seen += entry.text).length > 60) break;
  expect(answer.startsWith(seen)).toBe(true);
  const [one, two] = await Promise.all([tell(run), tell(run)]);
  for (const told of [one, two]) expect(shown(told.filter(isText)).at(-1)).toBe(answer);
  // Both get the same facts; the pieces may be cut differently.
  const ids = (told: readonly Told[]) => told.flatMap(({ id }) => id ?? []);
  expect(ids(one)).toEqual(ids(two));

  world.emulator.script(steps);
  const quiet = await client.start({ agent: 'writer', goal: 'Write.' });
  await quiet.result();
  const key = liveTextKey(world.server.namespace, quiet.runId);
  expect(await store.liveTexts.watch(key, undefined)).toEqual([]);
});
