/** Whole runs while their server's list changes: a run keeps its tools, later runs get the new ones, and rules hold for both. */
import type { ServerResponse } from 'node:http';
import { connectMcp } from '../../../activities/tools/mcp/connect-mcp';
import type { McpTools } from '../../../activities/tools/mcp/connect-mcp';
import { reply } from '../../../testing/emulator/script';
import type { AgentWorld } from '../../support/agent-world';
import { eventually, firstPending, startAgentWorld, testModel } from '../../support/agent-world';
import type { RawServer } from './raw-server';
import { anyTool, rawServer, sendResult } from './raw-server';

let world: AgentWorld;
let server: RawServer;
let live: McpTools;
let listening: ServerResponse | undefined;

beforeAll(async () => {
  server = await rawServer(async (request, response) => {
    if (request.method === 'resources/read')
      return sendResult(response, request, { contents: [{ uri: 'a://rules', text: 'Be fair.' }] });
    if (request.method !== 'tools/call') return false;
    if (request.params?.name === 'charge') {
      // The list changes while the run has a call of its old one.
      server.tools = [{ ...anyTool, name: 'refund' }];
      listening?.write('data: {"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n\n');
      await eventually(
        () => Promise.resolve(live.tools.map(({ name }) => name)),
        (names) => names.includes('live_refund'),
      );
    }
    return sendResult(response, request, { content: `${request.params?.name} done` });
  });
  server.initialized = {
    ...server.initialized,
    capabilities: { tools: { listChanged: true }, resources: {} },
  };
  server.stream = (response) => {
    listening = response.writeHead(200, { 'content-type': 'text/event-stream' });
    listening.flushHeaders();
  };
  live = await connectMcp({
    name: 'live',
    transport: { type: 'http', url: server.url },
    resources: true,
    tools: { refund: { effect: 'keyed', approval: ({ euros }) => Number(euros) > 50 } },
  });
  world = await startAgentWorld([
    {
      name: 'payer',
      instructions: 'You pay.',
      chain: [{ provider: 'anthropic', model: testModel }],
      tools: [live],
      recovery: { mode: 'off' },
    },
  ]);
});
afterAll(async () => {
  await world.dispose();
  await live.close();
  await server.close();
});

const toolNames = (index: number): readonly string[] => {
  const { tools } = world.emulator.requests.at(index)?.body as { tools: { name: string }[] };
  return tools.map(({ name }) => name);
};
const lastResult = (): string => world.emulator.requests.at(-1)?.lastToolResults[0]?.content ?? '';

test('a run keeps its tools, the next one has the new ones, with their rules', async () => {
  world.emulator.script([
    reply.toolCalls([{ name: 'live_charge', input: {} }]),
    reply.toolCalls([{ name: 'live_charge', input: {} }]),
    // The model was asked whether it means the repetition (R-TOOL-14).
    reply.toolCalls([{ name: 'live_charge', input: {} }]),
    reply.text('done'),
  ]);
  const first = await world.start({ agent: 'payer', goal: 'Charge twice.' });
  expect(await first.result()).toMatchObject({ status: 'completed', answer: 'done' });
  expect(toolNames(0)).toContain('live_charge');
  expect(toolNames(-1)).toEqual(toolNames(0));
  expect(lastResult()).toContain('MCP server \\"live\\" does not list it any more');
  expect(lastResult()).toContain('Go on without it');
  expect(server.calls).toEqual(['charge']);

  world.emulator.script([
    reply.toolCalls([{ name: 'live_read_resource', input: { uri: 'a://rules' } }]),
    reply.toolCalls([{ name: 'live_refund', input: { euros: 20 } }]),
    reply.toolCalls([{ name: 'live_refund', input: { euros: 80 } }]),
    reply.text('refunded'),
  ]);
  const second = await world.start({ agent: 'payer', goal: 'Refund.' });
  const asked = await firstPending(second);
  expect(asked).toMatchObject({ type: 'approval', tool: 'live_refund' });
  expect(server.calls).toEqual(['charge', 'refund']);
  expect(toolNames(-1)).toContain('live_refund');
  expect(toolNames(-1)).not.toContain('live_charge');
  if (asked.type !== 'approval') throw new Error('no approval');
  const { approvalId, digest } = asked;
  await second.executeUpdate('resolveApproval', {
    args: [{ approvalId, digest, decision: 'approve', by: 'Ada' }],
  });
  expect(await second.result()).toMatchObject({ status: 'completed', answer: 'refunded' });
  expect(server.calls).toEqual(['charge', 'refund', 'refund']);
  expect(JSON.stringify(world.emulator.requests.at(-1)?.body)).toContain('Be fair.');
});
