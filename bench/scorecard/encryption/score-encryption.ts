/** Plants words wherever a run takes a text, with and without encryption, and searches every byte that is kept. */
import { setTimeout as delay } from 'node:timers/promises';
import { z } from 'zod';
import {
  createEncryption,
  defineTool,
  InfraException,
  type AgentDefinition,
  type Encryption,
} from '../../../activities/index';
import { ToolError } from '../../../activities/tools/tool-error';
import type { RunHandle } from '../../../client/index';
import { fault, reply } from '../../../testing/emulator/script';
import type { PendingItem } from '../../../workflows/core/view/pending';
import { anthropic } from '../provider/vendor-bodies';
import type { JudgedRow, SectionScore } from '../section';
import { inEncryptionWorld, type EncryptionWorld } from './encryption-world';

/** Where a word is planted. No word is in another one, nor in anything else. */
const words = {
  goal: 'planted-goal-quartz',
  instructions: 'planted-instructions-basalt',
  description: 'planted-description-granite',
  context: 'planted-context-marble',
  text: 'planted-text-obsidian',
  input: 'planted-input-feldspar',
  output: 'planted-output-gneiss',
  longOutput: 'planted-long-output-schist',
  toolError: 'planted-tool-error-dolomite',
  approved: 'planted-approved-input-mica',
  message: 'planted-message-tuff',
  vendorError: 'planted-vendor-error-chert',
  answer: 'planted-answer-slate',
  stopReason: 'planted-stop-reason-gypsum',
  failure: 'planted-failure-travertine',
} as const;

const keys = { one: '1a'.repeat(32), two: '2b'.repeat(32) };
/** Before the rotation and after it; the second is all that workers and clients need at the end for what is written then. */
const before = createEncryption({ keyId: 'one', keys });
const after = createEncryption({ keyId: 'two', keys });

const input = z.object({ note: z.string() });
const base = { description: words.description, input, effect: 'read' } as const;
const model = 'claude-sonnet-5';

const agents: readonly AgentDefinition[] = [
  {
    name: 'clerk',
    instructions: `You sign. ${words.instructions}`,
    context: z.object({ account: z.string() }),
    chain: [
      { provider: 'anthropic', model: 'claude-haiku-4-5' },
      { provider: 'anthropic', model },
    ],
    limits: { streamRetries: 0 },
    tools: [
      defineTool({ ...base, name: 'look', quick: true, execute: () => words.output }),
      defineTool({
        ...base,
        name: 'read',
        execute: () => `${'x'.repeat(300_000)} ${words.longOutput} ${'y'.repeat(300_000)}`,
      }),
      defineTool({
        ...base,
        name: 'err',
        execute: () => {
          throw new ToolError(words.toolError);
        },
      }),
      defineTool({ ...base, name: 'sign', approval: 'always', execute: ({ note }) => note }),
      defineTool({
        ...base,
        name: 'break',
        execute: () => {
          throw new InfraException({ code: 'tool_infrastructure', message: words.failure });
        },
      }),
    ],
  },
];

const start = { agent: 'clerk', context: { account: words.context } } as const;
const call = (name: string, note = 'n') => reply.toolCalls([{ name, input: { note } }]);

async function approvalOf(run: RunHandle<unknown>): Promise<string> {
  for (;;) {
    const items: readonly PendingItem[] = await run.pending();
    for (const item of items) if (item.type === 'approval') return item.approvalId;
    await delay(100);
  }
}

/** One run that uses everything and lives through a rotation, one that is stopped, and one that fails. */
async function play(
  world: EncryptionWorld,
  first: Encryption | undefined,
  second: Encryption | undefined,
): Promise<readonly string[]> {
  const { emulator, clientWith, working } = world;
  emulator.script([
    fault.http(500, { body: anthropic('api_error', words.vendorError) }),
    reply.toolCalls([{ name: 'look', input: { note: words.input } }], { text: words.text }),
    call('read'),
    call('err'),
    call('sign', words.approved),
    reply.text(words.answer),
    call('sign'),
    call('break'),
  ]);
  const goal = words.goal;
  const { runId } = await working(first, async () => {
    const run = await clientWith(first).start({ ...start, goal });
    await approvalOf(run);
    return run;
  });
  return working(second, async () => {
    const client = clientWith(second);
    const run = client.run(runId);
    await run.addMessage(words.message);
    await run.approve(await approvalOf(run));
    const ends = [await run.outcome()];
    const stopped = await client.start({ ...start, goal });
    await approvalOf(stopped);
    await stopped.stop(words.stopReason);
    ends.push(await stopped.outcome());
    const broken = await client.start({ ...start, goal });
    ends.push(await broken.outcome());
    return ends.map(({ status }) => status);
  });
}

/** The word as it is, and what base64 makes of its inner bytes, wherever it begins. */
function formsOf(word: string): readonly string[] {
  const encoded = [0, 1, 2].map((offset) =>
    Buffer.from(`${' '.repeat(offset)}${word}`)
      .toString('base64')
      .slice(4, -4),
  );
  return [word, ...encoded];
}

/** The places in which a word is found. */
function placesOf(word: string, bytes: Readonly<Record<string, Buffer>>): readonly string[] {
  return Object.entries(bytes)
    .filter(([, found]) => formsOf(word).some((form) => found.includes(form)))
    .map(([place]) => place);
}

const expectedEnds = 'completed, stopped, failed';

/**
 * Plays the section: the same runs in the clear, where each word must be found, and encrypted, with another key from the middle of
 * a run on, where none may be.
 */
export async function scoreEncryption(): Promise<SectionScore> {
  const search = (first?: Encryption, second?: Encryption) =>
    inEncryptionWorld(agents, async (world) => {
      const ends = await play(world, first, second);
      return { ends: ends.join(', '), bytes: await world.bytes() };
    });
  const clear = await search();
  const encrypted = await search(before, after);
  const landed = Object.entries(words).filter(([, word]) => placesOf(word, clear.bytes).length > 0);
  const found = Object.entries(words).flatMap(([name, word]) =>
    placesOf(word, encrypted.bytes).map((place) => `${name} in ${place}`),
  );
  const rows = Object.keys(words).map((name): JudgedRow => {
    const row = { id: name, expected: 'in the clear only' };
    const there = found.filter((each) => each.startsWith(`${name} in `)).join(', ');
    const isPlanted = landed.some(([each]) => each === name);
    if (isPlanted && there === '') return row;
    return { ...row, wrong: { ...row, got: isPlanted ? there : 'not planted' } };
  });
  const ends = { id: 'rotation in mid-run', expected: expectedEnds };
  const isWhole = clear.ends === expectedEnds && encrypted.ends === expectedEnds;
  return {
    rows: [...rows, isWhole ? ends : { ...ends, wrong: { ...ends, got: encrypted.ends } }],
    summary: { planted: landed.length, found: found.length },
  };
}
