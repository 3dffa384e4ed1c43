/** An answer with a schema, read while it arrives: on each wire, and over the death of the worker that receives it. */
import { Client } from '@temporalio/client';
import { z } from 'zod';
import { openStore } from '../../activities/stores/open-store';
import type { Store } from '../../activities/stores/store';
import { AgentClient } from '../../client/agent-client';
import type { RunHandle } from '../../client/run-handle';
import type { TextDelta, TimelineEntry } from '../../client/index';
import type { ReplyOptions, Step } from '../../testing/emulator/script';
import { reply } from '../../testing/emulator/script';
import { wireRoutes } from '../faults/wires';
import type { AgentWorld } from '../support/agent-world';
import { startAgentWorld } from '../support/agent-world';
import type { PhaseWorld } from '../support/phase-world';
import { startPhaseWorld } from '../support/phase-world';

const output = z.object({ title: z.string(), lines: z.array(z.string()) });
const slow: ReplyOptions = { charactersPerDelta: 8, delivery: { writeEveryMs: 25 } };
const report = (topic: string): z.output<typeof output> => ({
  title: `About ${topic}`,
  lines: Array.from({ length: 12 }, (_, n) => `Line ${n} is about ${topic}.`),
});
const streamed = (topic: string): Step => reply.text(JSON.stringify(report(topic)), slow);

interface Told {
  readonly entries: readonly TimelineEntry[];
  readonly deltas: readonly TextDelta[];
}

async function tell(
  run: RunHandle<unknown>,
  meanwhile: (deltas: readonly TextDelta[]) => Promise<void> = () => Promise.resolve(),
): Promise<Told> {
  const [entries, deltas]: [TimelineEntry[], TextDelta[]] = [[], []];
  for await (const entry of run.events({ text: true })) {
    if (entry.type !== 'TextDelta') entries.push(entry);
    else {
      deltas.push(entry);
      await meanwhile(deltas);
    }
  }
  return { entries, deltas };
}

/** What a person has read after each piece, by the rule of `offset`. */
function shown(deltas: readonly TextDelta[]): readonly string[] {
  let text = '';
  return deltas.map((delta) => (text = text.slice(0, delta.offset) + delta.text));
}

describe('on each wire', () => {
  let world: AgentWorld;
  let store: Store;
  let client: AgentClient;
  beforeAll(async () => {
    world = await startAgentWorld(
      wireRoutes.map(({ wire, ...route }) => ({
        name: wire,
        instructions: 'You report.',
        chain: [route],
        tools: [],
        output,
      })),
    );
    store = await openStore(world.stored.url);
    const { connection, namespace } = world.server;
    client = new AgentClient(new Client({ connection, namespace }), {
      taskQueue: world.taskQueue,
      store,
    });
  });
  afterAll(async () => {
    await store.close();
    await world.dispose();
  });

  test.each(wireRoutes)(
    'the JSON comes word by word ($wire)',
    async ({ wire, provider, model }) => {
      world.emulator.script([streamed('rivers')], { wire });
      const run = await client.start({ agent: wire, goal: 'Report.', output });
      const { deltas } = await tell(run);
      const whole = JSON.stringify(report('rivers'));
      const read = shown(deltas);
      expect(read.length).toBeGreaterThan(3);
      for (const text of read) expect(whole.startsWith(text)).toBe(true);
      expect(read.at(-1)).toBe(whole);
      expect(new Set(deltas.map(({ route }) => route))).toEqual(new Set([`${provider}/${model}`]));
      expect(await run.result()).toMatchObject({ status: 'completed', output: report('rivers') });
      world.emulator.assertDrained();
      expect(world.emulator.refusals).toEqual([]);
    },
  );
});

describe('over a killed worker', () => {
  let world: PhaseWorld;
  let store: Store;
  beforeAll(async () => {
    world = await startPhaseWorld('streamed');
    store = await openStore(world.storeUrl);
  });
  afterAll(async () => {
    await store.close();
    await world.dispose();
  });

  test('what was shown is given up, the retry is another attempt, and nothing of the first is a fact', async () => {
    world.emulator.script([streamed('rain'), streamed('sun')]);
    const { connection, namespace } = world.server;
    const { taskQueue } = world;
    const client = new AgentClient(new Client({ connection, namespace }), { taskQueue, store });
    const run = await client.start({ agent: 'reporter', goal: 'Report.', output });
    let isKilled = false;
    const { entries, deltas } = await tell(run, async (soFar) => {
      if (isKilled || !(shown(soFar).at(-1) ?? '').includes('Line 2')) return;
      isKilled = true;
      await world.killAndReplace();
    });
    expect(isKilled).toBe(true);

    // The text of a call is identified by its iteration, attempt and route; a new one takes back all that was shown.
    const attempts = [...new Set(deltas.map(({ attempt }) => attempt))];
    expect(attempts).toEqual([1, 2]);
    const second = deltas.filter(({ attempt }) => attempt === 2);
    expect(second[0]).toMatchObject({ iteration: 1, offset: 0, runId: run.runId });
    const read = shown(deltas);
    for (const text of read) expect(new Set(text.match(/rain|sun/g)).size).toBeLessThan(2);
    expect(read.some((text) => text.includes('rain'))).toBe(true);
    expect(read.at(-1)).toBe(JSON.stringify(report('sun')));

    expect(await run.result()).toMatchObject({ status: 'completed', output: report('sun') });
    expect(JSON.stringify(entries)).not.toContain('rain');
    expect(entries.filter(({ type }) => type === 'ModelRepliedEvent')).toHaveLength(1);
    expect(world.emulator.requests).toHaveLength(2);
    world.emulator.assertDrained();
  });
});
