/** Models without native tool calls, end to end: every mistake of the text tool protocol is healed, and the run completes. */
import { z } from 'zod';
import { defineTool } from '../../activities/tools/define-tool';
import type { RecordedRequest } from '../../testing/emulator/recorded-request';
import type { ReplyStep } from '../../testing/emulator/script';
import { reply } from '../../testing/emulator/script';
import type { JsonObject } from '../../workflows/core/json';
import type { AgentWorld } from '../support/agent-world';
import { startAgentWorld } from '../support/agent-world';
import { wireRoutes } from '../faults/wires';

let added: number[] = [];
const add = defineTool({
  name: 'add',
  description: 'Adds two numbers.',
  input: z.object({ a: z.number(), b: z.number() }),
  effect: 'keyed',
  execute: ({ a, b }) => {
    added.push(a + b);
    return String(a + b);
  },
});

let world: AgentWorld;
beforeAll(async () => {
  world = await startAgentWorld(
    wireRoutes.map(({ wire, provider, model }) => ({
      name: wire,
      instructions: 'You add numbers.',
      chain: [{ provider, model, toolProtocol: 'text' }],
      tools: [add],
      completion: 'tool',
    })),
  );
});
afterAll(() => world.dispose());
beforeEach(() => {
  world.emulator.clearScripts();
  added = [];
});

const block = (json: string): ReplyStep => reply.text(`I use a tool.\n\`\`\`json\n${json}\n\`\`\``);
const call = (name: string, input: JsonObject): ReplyStep =>
  block(JSON.stringify({ tool_name: name, arguments: input }));

async function run(wire: string, steps: readonly ReplyStep[]): Promise<readonly RecordedRequest[]> {
  const before = world.emulator.requests.length;
  world.emulator.script(steps);
  const outcome = await world.run({ agent: wire, goal: 'What is 2 and 3?' });
  expect(outcome).toMatchObject({ status: 'completed', answer: 'It is 5.' });
  expect(world.emulator.refusals).toEqual([]);
  world.emulator.assertDrained();
  return world.emulator.requests.slice(before);
}

const good = [call('add', { a: 2, b: 3 }), call('complete_task', { summary: 'It is 5.' })] as const;
const frame = 'The previous iteration failed with the following error:';

test.each(wireRoutes.map(({ wire }) => wire))(
  'calls tools over the wire %s without a single native tool',
  async (wire) => {
    const [first, second] = await run(wire, good);
    expect(added).toEqual([5]);
    expect(first?.toolNames).toEqual([]);
    expect(first?.systemText).toContain('"tool_name"');
    expect(first?.systemText).toContain('- add({"a": number, "b": number}): Adds two numbers.');
    expect(second?.toolCalls).toEqual([]);
    expect(second?.lastUserText).toContain('Result of tool add:');
    expect(second?.lastUserText).toContain('\n5\n');
  },
);

test.each<readonly [code: string, bad: ReplyStep, advice: string]>([
  ['no_tool_call', reply.text('It is 5.'), 'You must provide a tool call in your response.'],
  [
    'invalid_json',
    block('{"tool_name": "add", "arguments": {"a": 2, '),
    'Ensure your tool call JSON is properly formatted.',
  ],
  [
    'missing_tool_name',
    block('{"name": "add", "arguments": {"a": 2, "b": 3}}'),
    'Use one of the available tools: [add, complete_task, ask_user]',
  ],
  ['invalid_tool', call('subtract', { a: 2, b: 3 }), 'Use one of the available tools: [add'],
  ['invalid_params', call('add', { a: 'two', b: 3 }), 'Correct the parameters'],
])('heals %s, and says how, in the next request only', async (code, bad, advice) => {
  const before = world.emulator.requests.length;
  world.emulator.script([bad, ...good]);
  const outcome = await world.run({ agent: 'chat', goal: 'What is 2 and 3?' });
  expect(outcome).toMatchObject({
    status: 'completed',
    answer: 'It is 5.',
    report: { healed: { [code]: 1 }, iterations: 3, toolCallsSucceeded: 1 },
  });
  expect(added).toEqual([5]);
  const [, second, third] = world.emulator.requests.slice(before);
  expect(second?.lastUserText).toContain(frame);
  expect(second?.lastUserText).toContain(advice);
  expect(JSON.stringify(third?.body)).not.toContain(frame);
  expect(world.emulator.refusals).toEqual([]);
  world.emulator.assertDrained();
});
