/** Arguments of tool calls, through the checks between a reply and its tools: what runs is what was sent, or nothing runs. */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { z } from 'zod';
import { createAgentCatalog } from '../../../activities/definitions/agent-catalog';
import type { TakenCall } from '../../../activities/model-call/tool-call-intake';
import { takeToolCalls } from '../../../activities/model-call/tool-call-intake';
import { openStore } from '../../../activities/stores/open-store';
import type { Store } from '../../../activities/stores/store';
import type { ToolsOfRun } from '../../../activities/tool-call/tool-of-run';
import { defineTool } from '../../../activities/tools/define-tool';
import { scriptedProvider } from '../../../testing/scripted-provider';
import type { Finding, FuzzArea, OpenFuzzArea } from '../fuzz-area';
import { crashOf, hanging, settled } from '../fuzz-area';
import { byteMutations, changeJson, drawMutations, mutated } from '../mutations';

const order = z.object({
  item: z.string(),
  amount: z.number().int().min(1),
  to: z.object({ name: z.string(), tags: z.array(z.string()).optional() }).optional(),
  meta: z.record(z.string(), z.json()).optional(),
});

const bases: readonly string[] = [
  { item: 'bolt', amount: 12 },
  { item: 'a "quoted" \\ item\n', amount: 1, to: { name: 'Ωmega', tags: ['x', 'y'] } },
  { item: '世界', amount: 7, meta: { deep: { deeper: [1, null, { a: 'b' }] }, on: true } },
].map((value) => JSON.stringify(value));

function tools(): ToolsOfRun {
  const tool = defineTool({
    name: 'order',
    description: 'Orders.',
    input: order,
    execute: () => 'ordered',
  });
  const chain = [{ provider: 'scripted', model: 'm', windowTokens: 100_000 }] as const;
  const catalog = createAgentCatalog(
    [{ name: 'fuzz', instructions: 'You order.', chain, tools: [tool] }],
    [scriptedProvider('scripted', [])],
  );
  const agent = catalog.agents.get('fuzz');
  if (agent === undefined) throw new Error('The agent is not in its catalog.');
  return { agent, config: agent, runId: 'fuzz' };
}

/** The input that would reach the tool. */
async function inputOf(store: Store, { proposed }: TakenCall): Promise<unknown> {
  return proposed.inputBlob === undefined
    ? proposed.input
    : JSON.parse((await store.getBlob(proposed.inputBlob)).toString());
}

/** What a plain reader makes of the text: the values of the schema, or nothing. */
function sentIn(text: string): unknown {
  try {
    const value: unknown = text.trim() === '' ? {} : JSON.parse(text);
    return order.safeParse(value ?? {}).success ? value : undefined;
  } catch {
    return undefined;
  }
}

async function judge(store: Store, text: string, taken: TakenCall): Promise<Finding | undefined> {
  if (taken.proposed.error !== undefined) return undefined;
  const [input, sent] = [await inputOf(store, taken), sentIn(text)];
  if (sent === undefined)
    return {
      kind: 'false success',
      what: `runs without valid arguments: ${JSON.stringify(input)}`,
    };
  const [given, wanted] = [JSON.stringify(input), JSON.stringify(sent)];
  return isDeepStrictEqual(JSON.parse(given), JSON.parse(wanted))
    ? undefined
    : { kind: 'false success', what: `runs with ${given} instead of ${wanted}` };
}

async function open(): Promise<OpenFuzzArea> {
  const folder = await mkdtemp(path.join(tmpdir(), 'holdfast-fuzz-arguments-'));
  const store = await openStore(`sqlite:${path.join(folder, 'store.db')}`);
  const definition = tools();
  return {
    draw: (random) => ({
      base: Math.floor(random() * bases.length),
      mutations: drawMutations([...byteMutations, changeJson, changeJson], random),
    }),
    attempt: async ({ base, mutations }) => {
      const text = mutated(Buffer.from(bases[base] ?? ''), mutations).toString();
      const calls = [{ vendorId: 'x', name: 'order', argumentsText: text }];
      const ids = { idPrefix: 'fuzz', iteration: 1 };
      const ended = await settled(takeToolCalls(store, definition, calls, ids));
      if (ended === 'hang') return hanging;
      if ('thrown' in ended) return crashOf(ended.thrown);
      const [taken] = ended.value;
      return taken === undefined ? undefined : judge(store, text, taken);
    },
    close: async () => {
      await store.close();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The area. */
export const argumentsArea: FuzzArea = {
  name: 'arguments',
  about: 'arguments of tool calls, before any tool runs',
  open,
};
