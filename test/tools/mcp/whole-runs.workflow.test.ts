/** Whole runs with the tools of real MCP servers: answers, changed definitions, and servers that are not there. */
import type { AgentDefinition } from '../../../activities/definitions/agent';
import { connectMcp } from '../../../activities/tools/mcp/connect-mcp';
import type { McpTools } from '../../../activities/tools/mcp/connect-mcp';
import { reply } from '../../../testing/emulator/script';
import type { PendingItem } from '../../../workflows/core/view/pending';
import type { AgentWorld, RunHandle } from '../../support/agent-world';
import { eventually, firstPending, startAgentWorld, testModel } from '../../support/agent-world';
import { caseInput, rawServer, sendResult } from './raw-server';
import type { RawServer } from './raw-server';

type Approval = Extract<PendingItem, { type: 'approval' }>;

const agent = (name: string, tools: AgentDefinition['tools']): AgentDefinition => ({
  name,
  instructions: 'You pay.',
  chain: [{ provider: 'anthropic', model: testModel }],
  tools,
  recovery: { mode: 'off' },
});

const { tools: listed, tool_result: result } = caseInput('t2-mcp_result-01') as {
  tools: readonly object[];
  tool_result: object;
};

let world: AgentWorld;
let server: RawServer;
let late: RawServer;
let servers: readonly McpTools[];

beforeAll(async () => {
  server = await rawServer((request, response) =>
    request.method === 'tools/call' ? sendResult(response, request, result) : false,
  );
  server.tools = listed;
  late = await rawServer(() => false);
  await late.close();
  const at = ({ url }: RawServer) => ({ type: 'http' as const, url });
  jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  servers = await Promise.all([
    connectMcp({ name: 'pay', transport: at(server), tools: { '*': { onUnknown: 'ask-person' } } }),
    connectMcp({ name: 'asks', transport: at(server), tools: { '*': { approval: 'always' } } }),
    connectMcp({ name: 'late', transport: at(late) }),
  ]);
  const [pay, asks, absent] = servers;
  if (pay === undefined || asks === undefined || absent === undefined) throw new Error('no server');
  world = await startAgentWorld([
    agent('payer', [pay]),
    agent('asker', [asks]),
    agent('waiter', [pay, absent]),
  ]);
});
afterAll(async () => {
  await world.dispose();
  await Promise.all(servers.map((each) => each.close()));
  await server.close();
  await late.close().catch(() => undefined);
});
beforeEach(() => {
  world.emulator.clearScripts();
  server.calls.length = 0;
  server.tools = listed;
});

const read = (): string => world.emulator.requests.at(-1)?.lastToolResults[0]?.content ?? '';
async function approval(handle: RunHandle): Promise<Approval> {
  const item = await firstPending(handle);
  if (item.type !== 'approval') throw new Error(`an approval was expected, got ${item.type}`);
  return item;
}
const approve = (handle: RunHandle, { approvalId, digest }: Approval): Promise<unknown> =>
  handle.executeUpdate('resolveApproval', {
    args: [{ approvalId, digest, decision: 'approve', by: 'Ada' }],
  });

test('case t2-mcp_result-01: one effect, nobody is asked, and the model reads what came', async () => {
  world.emulator.script([
    reply.toolCalls([{ name: 'pay_charge', input: { n: 1 } }]),
    reply.text('done'),
  ]);
  const handle = await world.start({ agent: 'payer', goal: 'Charge one.' });
  expect(await handle.result()).toMatchObject({ status: 'completed', answer: 'done' });
  expect(server.calls).toEqual(['charge']);
  expect(read()).toContain('charged, id 17');
  expect(read()).not.toMatch(/"error":true|check your parameters/);
});

test('a call that was approved under another definition does not run, and is asked again', async () => {
  world.emulator.script([
    reply.toolCalls([{ name: 'asks_charge', input: { n: 1 } }]),
    reply.toolCalls([{ name: 'asks_charge', input: { n: 1 } }]),
    reply.text('done'),
  ]);
  const before = world.emulator.requests.length;
  const handle = await world.start({ agent: 'asker', goal: 'Charge one.' });
  const first = await approval(handle);
  server.tools = [{ ...listed[0], description: 'Charges the card of everybody.' }];
  await approve(handle, first);
  await eventually(
    () => Promise.resolve(world.emulator.requests.length),
    (count) => count >= before + 2,
  );
  expect(server.calls).toEqual([]);
  expect(read()).toContain('its definition has changed since the call was approved');
  const second = await approval(handle);
  expect(second.digest).not.toBe(first.digest);
  await approve(handle, second);
  expect(await handle.result()).toMatchObject({ status: 'completed' });
  expect(server.calls).toEqual(['charge']);
});

test('a server that is not there is said to be missing, and its tools come when it is back', async () => {
  world.emulator.script([reply.text('done')]);
  const before = await world.start({ agent: 'waiter', goal: 'Work.' });
  expect(await before.result()).toMatchObject({ status: 'completed' });
  const first = JSON.stringify(world.emulator.requests.at(-1)?.body);
  expect(first).toContain('Tools that are not available now: those of late.');
  expect(first).not.toContain('late_charge');
  expect(first).toContain('pay_charge');

  late = await rawServer(
    (request, response) =>
      request.method === 'tools/call' &&
      sendResult(response, request, { content: 'late, but there' }),
    Number(new URL(late.url).port),
  );
  await eventually(
    () => Promise.resolve(servers[2]?.problem),
    (problem) => problem === undefined,
  );
  world.emulator.script([
    reply.toolCalls([{ name: 'late_charge', input: {} }]),
    reply.text('done'),
  ]);
  const after = await world.start({ agent: 'waiter', goal: 'Work.' });
  expect(await after.result()).toMatchObject({ status: 'completed' });
  expect(read()).toContain('late, but there');
  expect(JSON.stringify(world.emulator.requests.at(-1)?.body)).not.toContain('not available now');
});
