/** Runs whose output has a schema: enforced by the vendor where it can, corrected by the model, and without the vendor's help where it refuses. */
import { z } from 'zod';
import { defineTool } from '../../activities/tools/define-tool';
import { fault, reply } from '../../testing/emulator/script';
import type { AgentWorld } from '../support/agent-world';
import { startAgentWorld } from '../support/agent-world';

const look = defineTool({
  name: 'look',
  description: 'Looks at the shop.',
  input: z.object({}),
  effect: 'read',
  execute: () => 'three open orders',
});

const report = z.object({
  title: z.string().min(1),
  open: z.number().int().min(0),
  note: z.string().optional(),
});

const routes = [
  { provider: 'anthropic', model: 'claude-sonnet-5' },
  { provider: 'openai', model: 'gpt-5' },
  { provider: 'chat', model: 'gpt-4.1' },
  { provider: 'chat', model: 'llama-4', toolProtocol: 'text' },
] as const;

const nameOf = (route: (typeof routes)[number], completion: string): string =>
  `${completion}-${route.model.replaceAll('.', '-')}`;

let world: AgentWorld;
beforeAll(async () => {
  world = await startAgentWorld(
    routes.flatMap((route) =>
      (['text', 'tool'] as const).map((completion) => ({
        name: nameOf(route, completion),
        instructions: 'You report.',
        chain: [{ ...route, windowTokens: 200_000 }] as const,
        tools: [look],
        completion,
        output: report,
        limits: { streamRetryBaseMs: 1 },
      })),
    ),
  );
});
afterAll(() => world.dispose());
beforeEach(() => {
  world.emulator.clearScripts();
});

const asked = (from: number): readonly string[] =>
  world.emulator.requests.slice(from).map(({ body }) => JSON.stringify(body));

/** What asks a vendor to enforce a form. */
const form = /"type":"json_schema"|"strict":true/;

describe.each(routes)('on $provider/$model', (route) => {
  const isNative = !('toolProtocol' in route);
  const call = isNative
    ? reply.toolCalls([{ name: 'look', input: {} }])
    : reply.text('```json\n{"tool_name": "look", "arguments": {}}\n```');

  test('a text answer is the output, once it fits', async () => {
    const before = world.emulator.requests.length;
    world.emulator.script([
      call,
      reply.text('{"title": "", "open": "three"}'),
      reply.text('Three orders are open.'),
      reply.text('{"title": "Orders", "open": 3, "note": null}'),
    ]);
    const outcome = await world.run({ agent: nameOf(route, 'text'), goal: 'Report.' });
    expect(outcome).toMatchObject({
      status: 'completed',
      answer: '{"title": "Orders", "open": 3, "note": null}',
      report: { iterations: 4, healed: { invalid_answer: 1 } },
    });
    expect(outcome).toHaveProperty('output', { title: 'Orders', open: 3 });
    const requests = asked(before);
    expect(requests.map((body) => form.test(body))).toEqual(requests.map(() => isNative));
    // In words for every model, and the problem where it was.
    expect(requests[0]).toContain('answer with one JSON object');
    expect(requests[2]).toContain('Parameter open: expected integer');
    expect(requests[2]).toContain('Answer with one JSON object of the form');
    expect(world.emulator.refusals).toEqual([]);
    world.emulator.assertDrained();
  });

  test('complete_task is enforced, too, and a null stands for what is absent', async () => {
    const before = world.emulator.requests.length;
    const input = { summary: 'Done.', result: { title: 'Orders', open: 3, note: null } };
    world.emulator.script([
      isNative
        ? reply.toolCalls([{ name: 'complete_task', input }])
        : reply.text(
            `\`\`\`json\n${JSON.stringify({ tool_name: 'complete_task', arguments: input })}\n\`\`\``,
          ),
    ]);
    const outcome = await world.run({ agent: nameOf(route, 'tool'), goal: 'Report.' });
    expect(outcome).toMatchObject({ status: 'completed', answer: 'Done.' });
    expect(outcome).toHaveProperty('output', { title: 'Orders', open: 3 });
    expect(asked(before).map((body) => /"strict":true/.test(body))).toEqual([isNative]);
  });
});

test.each(routes.slice(0, 3))(
  'a form that $provider refuses is not asked for again in the run, and the answer is still checked',
  async (route) => {
    const before = world.emulator.requests.length;
    world.emulator.script([
      fault.http(400, { error: { message: 'Structured outputs are not enabled for this model.' } }),
      reply.toolCalls([{ name: 'look', input: {} }]),
      reply.text('{"title": "Orders"}'),
      reply.text('Here it is:\n```json\n{"title": "Orders", "open": 3}\n```'),
    ]);
    const outcome = await world.run({ agent: nameOf(route, 'text'), goal: 'Report.' });
    expect(outcome).toMatchObject({
      status: 'completed',
      output: { title: 'Orders', open: 3 },
      report: { iterations: 3, failovers: 0, healed: { format: 1, invalid_answer: 1 } },
    });
    expect(asked(before).map((body) => form.test(body))).toEqual([true, false, false, false]);
    world.emulator.assertDrained();
  },
);
