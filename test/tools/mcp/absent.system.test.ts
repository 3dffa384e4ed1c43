/** A run that has a tool meets a worker whose server is not there, or does not list the tool any more. */
import { writeFileSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectMcp } from '../../../activities/tools/mcp/connect-mcp';
import { createAgentCatalog } from '../../../activities/definitions/agent-catalog';
import { anthropicProvider } from '../../../activities/providers/anthropic/anthropic-provider';
import { callTool, toolContext, toolErrorOf } from '../tool-context';
import { anyTool, rawServer, sendResult } from './raw-server';

beforeAll(() => {
  jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
});

test('a call asks a server that was down, and fails readably until it is back', async () => {
  const first = await rawServer(() => false);
  await first.close();
  const pay = await connectMcp({
    name: 'pay',
    transport: { type: 'http', url: first.url },
    tools: { charge: { approval: 'always' }, '*.admin': { approval: () => false } },
  });
  const { agents } = createAgentCatalog(
    [
      {
        name: 'payer',
        instructions: 'You pay.',
        chain: [{ provider: 'anthropic', model: 'claude-sonnet-5' }],
        tools: [pay],
      },
    ],
    [anthropicProvider({ apiKey: 'none' })],
  );
  const payer = agents.get('payer');
  expect(payer?.absentTool('other_tool')).toBeUndefined();
  const tool = payer?.absentTool('pay_charge') ?? pay.toolNamed('pay_charge');
  expect(tool).toMatchObject({ effect: 'irreversible', approval: 'always' });
  const error = await toolErrorOf(callTool(tool, {}, toolContext()));
  expect(error.message).toMatch(/pay_charge was not called: MCP server "pay" cannot be reached/);
  expect(error.hint).toContain('your parameters are not the cause');

  const back = await rawServer(
    (request, response) =>
      request.method === 'tools/call' && sendResult(response, request, { content: 'charged' }),
    Number(new URL(first.url).port),
  );
  back.tools = [{ ...anyTool, inputSchema: { type: 'object', required: ['n'] } }];
  expect((await toolErrorOf(callTool(tool, {}, toolContext()))).code).toBe('invalid_params');
  expect(await callTool(tool, { n: 1 }, toolContext())).toBe('charged');
  expect([...(payer?.registry.keys() ?? [])]).toEqual(['pay_charge', 'read_output']);
  expect(
    ['pay_refund', 'pay_user_admin', 'pay_charge_0123abcd'].map(
      (name) => pay.toolNamed(name).approval,
    ),
  ).toEqual(['never', 'always', 'always']);
  const gone = payer?.absentTool('pay_refund') ?? tool;
  expect((await toolErrorOf(callTool(gone, {}, toolContext()))).message).toContain(
    'does not list it any more',
  );
  await pay.close();
  await back.close();
});

test('a list that changes is read again; a tool that left it is not called, and the error says why', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-list-'));
  const file = join(folder, 'tools.json');
  const list = (...names: readonly string[]): void => {
    writeFileSync(file, JSON.stringify(names.map((name) => ({ name, inputSchema: {} }))));
  };
  list('a', 'b');
  const program = join(__dirname, '../fixtures/bad-mcp-server.cjs');
  const mcp = await connectMcp({
    name: 'x',
    transport: { type: 'stdio', command: process.execPath, args: [program, 'listed', file] },
  });
  const before = mcp.toolNamed('x_a');
  const digest = before.definitionDigest?.();
  list('b', 'c');
  await before.readDefinition?.();
  expect(mcp.tools.map(({ name }) => name)).toEqual(['x_b', 'x_c']);
  expect(before.definitionDigest?.()).not.toBe(digest);
  const left = await toolErrorOf(callTool(mcp.toolNamed('x_a'), {}, toolContext()));
  expect(left.message).toBe('x_a was not called: MCP server "x" does not list it any more');
  expect(left.hint).toContain('Go on without it');
  list('a');
  expect(await callTool(mcp.toolNamed('x_a'), {}, toolContext())).toBe('a ran');
  await mcp.close();
  rmSync(folder, { recursive: true });
});
