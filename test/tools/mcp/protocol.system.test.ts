/** Versions of the protocol, what a server may ask of its client, streams that break, and lists that change. */
import { writeFileSync, mkdtempSync, rmSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { McpTools } from '../../../activities/tools/mcp/connect-mcp';
import { connectMcp } from '../../../activities/tools/mcp/connect-mcp';
import { eventually } from '../../support/agent-world';
import { callTool, toolContext } from '../tool-context';
import type { Answer, RawServer, RpcRequest } from './raw-server';
import { anyTool, connectTo, rawServer, sendResult, toolOf } from './raw-server';

const done = { content: [{ type: 'text', text: 'charged' }] };
const stream = { 'content-type': 'text/event-stream' };
const charge = (tools: McpTools) => callTool(toolOf(tools, 'pay_charge'), {}, toolContext());
const answerOf = ({ id }: RpcRequest, result: unknown) =>
  `data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}\n\n`;

let server: RawServer;
let mcp: McpTools | undefined;
async function listening(answer: Answer): Promise<RawServer> {
  server = await rawServer(answer);
  return server;
}
afterEach(async () => {
  await mcp?.close();
  await server.close();
});

describe('the version of the protocol', () => {
  test.each(['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25'])(
    '%s of the server is taken, and named in every request after it',
    async (protocolVersion) => {
      const asked: unknown[] = [];
      const named = new Set<unknown>();
      await listening((request, response, { headers }) => {
        if (request.method === 'initialize') asked.push(request.params);
        else named.add(headers['mcp-protocol-version']);
        return request.method === 'tools/call' ? sendResult(response, request, done) : false;
      });
      server.initialized = { ...server.initialized, protocolVersion };
      mcp = await connectTo(server, { required: true });
      expect(await charge(mcp)).toBe('charged');
      expect(asked).toEqual([
        expect.objectContaining({ protocolVersion: '2025-11-25', capabilities: {} }),
      ]);
      expect([...named]).toEqual([protocolVersion]);
    },
  );

  test('one that is not known is refused with its name', async () => {
    await listening(() => false);
    server.initialized = { ...server.initialized, protocolVersion: '2031-01-01' };
    await expect(connectTo(server, { required: true })).rejects.toThrow(
      /MCP server "pay" cannot be reached: .*protocol version is not supported: 2031-01-01/,
    );
  });
});

test('a tool that runs only as a task is left out with the reason; others are called as ever', async () => {
  const warned = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  await listening((request, response) =>
    request.method === 'tools/call' ? sendResult(response, request, done) : false,
  );
  server.tools = [
    { ...anyTool, execution: { taskSupport: 'optional' } },
    { ...anyTool, name: 'train', execution: { taskSupport: 'required' } },
  ];
  mcp = await connectTo(server);
  expect(mcp.tools.map(({ name }) => name)).toEqual(['pay_charge']);
  expect(mcp.dropped).toEqual([
    'MCP server "pay": tool "train" is left out: it runs only as a task, which is not supported.',
  ]);
  expect(await charge(mcp)).toBe('charged');
  warned.mockRestore();
});

test('a server that offers no tools gives its resources; what it does not offer is said', async () => {
  const warned = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
  await listening((request, response) => {
    if (request.method === 'resources/list')
      return sendResult(response, request, { resources: [{ uri: 'a://b', name: 'b' }] });
    if (!request.method.startsWith('tools/') && !request.method.startsWith('resources/'))
      return false;
    response.writeHead(200, { 'content-type': 'application/json' });
    const error = { code: -32_601, message: 'Method not found' };
    response.end(JSON.stringify({ jsonrpc: '2.0', id: request.id, error }));
    return true;
  });
  server.initialized = { ...server.initialized, capabilities: { resources: {} } };
  mcp = await connectTo(server, { required: true, resources: true, prompts: true });
  expect(mcp.tools.map(({ name }) => name)).toEqual(['pay_list_resources', 'pay_read_resource']);
  expect(mcp.dropped).toEqual([
    'MCP server "pay" offers no prompts, which its option prompts asks for; leave it out.',
  ]);
  const listed = await callTool(toolOf(mcp, 'pay_list_resources'), {}, toolContext());
  expect(listed).toBe('Resources:\n{"uri":"a://b","name":"b"}');
  warned.mockRestore();
});

test.each(['elicitation/create', 'sampling/createMessage', 'roots/list', 'tasks/list'])(
  '%s is refused in words, and the call goes on',
  async (method) => {
    let open: { readonly request: RpcRequest; readonly response: ServerResponse } | undefined;
    await listening((request, response) => {
      if (request.method === 'tools/call') {
        const asked = { jsonrpc: '2.0', id: 'ask-1', method, params: {} };
        response.writeHead(200, stream).write(`data: ${JSON.stringify(asked)}\n\n`);
        open = { request, response };
        return true;
      }
      if (!('error' in request) || open === undefined) return false;
      response.writeHead(202).end();
      const content = [{ type: 'text', text: JSON.stringify(request) }];
      open.response.end(answerOf(open.request, { content }));
      return true;
    });
    mcp = await connectTo(server);
    expect(JSON.parse(await charge(mcp))).toEqual({
      jsonrpc: '2.0',
      id: 'ask-1',
      error: {
        code: -32_601,
        message: expect.stringContaining(`${method} is not supported`) as string,
      },
    });
  },
);

describe('a stream with ids that ends before the answer is read on from its last id', () => {
  test.each([
    ['the connection breaks', 'id: 7\ndata: \n\n', true],
    ['the server ends it and gives a time', 'id: 7\nretry: 1\ndata: \n\n', false],
  ])('%s', async (_what, first, isBroken) => {
    const resumed: unknown[] = [];
    let called: RpcRequest | undefined;
    await listening((request, response) => {
      if (request.method !== 'tools/call') return false;
      called = request;
      response.writeHead(200, stream).write(first, () => {
        if (isBroken) response.destroy();
        else response.end();
      });
      return true;
    });
    server.stream = (response, { headers }) => {
      const lastId = headers['last-event-id'];
      if (lastId === undefined || called === undefined) {
        response.writeHead(405).end();
        return;
      }
      resumed.push(lastId);
      // Once, the server is not ready: the stream is asked for again.
      if (resumed.length === 1) response.writeHead(503).end();
      else response.writeHead(200, stream).end(`id: 8\n${answerOf(called, done)}`);
    };
    mcp = await connectTo(server);
    expect(await charge(mcp)).toBe('charged');
    expect(resumed).toEqual(['7', '7']);
    expect(server.calls).toEqual(['charge']);
  });
});

test('a change during the pause after a reading is read, too', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'mcp-changes-'));
  const file = join(folder, 'tools.json');
  const list = (...names: readonly string[]): void => {
    writeFileSync(file, JSON.stringify(names.map((name) => ({ name, inputSchema: {} }))));
  };
  list('a', 'change');
  await listening(() => false);
  const program = join(__dirname, '../fixtures/bad-mcp-server.cjs');
  mcp = await connectMcp({
    name: 'x',
    transport: { type: 'stdio', command: process.execPath, args: [program, 'listed', file] },
  });
  const listed = (): Promise<string> =>
    Promise.resolve(mcp?.tools.map(({ name }) => name).join() ?? '');
  const change = () => callTool(mcp?.toolNamed('x_change') ?? never(), {}, toolContext());
  list('b', 'change');
  await change();
  await eventually(listed, (names) => names === 'x_b,x_change');
  list('c', 'change');
  await change();
  await eventually(listed, (names) => names === 'x_c,x_change');
  rmSync(folder, { recursive: true });
});

function never(): never {
  throw new Error('not connected');
}
