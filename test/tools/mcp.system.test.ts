/** Tools of real MCP servers, over stdio and streamable HTTP, that fail, stall, crash and come back. */
import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { InfraException } from '../../activities/lifecycle/infra-exception';
import { connectMcp } from '../../activities/tools/mcp/connect-mcp';
import type { McpOptions, McpTools } from '../../activities/tools/mcp/connect-mcp';
import { mcpToolNames } from '../../activities/tools/mcp/mcp-tool-names';
import { toolsByName } from '../../activities/definitions/agent-tools';
import type { Tool, ToolContext } from '../../activities/tools/tool';
import { callTool, toolContext, toolErrorOf } from './tool-context';

const fixture = join(__dirname, 'fixtures/mcp-server.cjs');
const stdio = { type: 'stdio' as const, command: process.execPath, args: [fixture] };
const named = ({ tools }: McpTools, name: string): Tool => {
  const tool = tools.find((candidate) => candidate.name === name);
  if (tool === undefined) {
    throw new Error(`no tool ${name} among ${tools.map((candidate) => candidate.name).join()}`);
  }
  return tool;
};

let mcp: McpTools;
const call = (name: string, input: unknown = {}, context: ToolContext = toolContext()) =>
  callTool(named(mcp, name), input, context);

describe('over stdio', () => {
  beforeAll(async () => {
    process.env['HOLDFAST_TEST_TOKEN'] = 'worker-secret';
    mcp = await connectMcp({
      name: 'fix',
      transport: stdio,
      tools: { '*': { timeoutMs: 3_000 } },
      trustHints: true,
    });
  });
  afterAll(async () => {
    delete process.env['HOLDFAST_TEST_TOKEN'];
    await mcp.close();
  });

  test('reads all pages of tools, names them for vendors, takes effects from hints that are trusted', () => {
    const rows = mcp.tools.map(({ name, effect }) => `${name} ${effect}`);
    expect(rows).toEqual(
      expect.arrayContaining([
        'fix_add read',
        'fix_put keyed',
        'fix_fail irreversible',
        'fix_either irreversible',
      ]),
    );
    expect(rows.filter((row) => row.startsWith('fix_odd_name__'))).toHaveLength(2);
    expect(toolsByName(mcp.tools).registry.size).toBe(14);
    expect(named(mcp, 'fix_put').description).toBe('Tool put of the MCP server fix.');
  });

  test('believes no hint that is not trusted, and takes the author’s word before both', async () => {
    const effectsWith = async (options: Partial<McpOptions>): Promise<Record<string, string>> => {
      const other = await connectMcp({ name: 'fix', transport: stdio, ...options });
      await other.close();
      return Object.fromEntries(other.tools.map(({ name, effect }) => [name, effect]));
    };
    const unset = await effectsWith({});
    expect(new Set(Object.values(unset))).toEqual(new Set(['irreversible']));
    expect(await effectsWith({ tools: { put: { effect: 'read' } } })).toMatchObject({
      fix_put: 'read',
      fix_add: 'irreversible',
    });
    const trusted = await effectsWith({
      trustHints: true,
      tools: { add: { effect: 'irreversible' } },
    });
    expect(trusted).toMatchObject({
      fix_add: 'irreversible',
      fix_put: 'keyed',
      fix_fail: 'irreversible',
    });
  });

  test('calls, and passes the idempotency key', async () => {
    expect(await call('fix_add', { a: 1, b: 2 })).toBe('3');
    expect(await call('fix_put', {}, toolContext({ idempotencyKey: 'key-7' }))).toBe('key key-7');
  });

  test('checks input by the server’s schema, in words', () => {
    const tool = named(mcp, 'fix_add');
    expect(tool.parse({ a: 1 })).toEqual({
      ok: false,
      problems: ['Missing required parameter: b'],
      hint: "Required parameters: ['a', 'b']",
    });
    expect(tool.parse({ a: -1, b: 1 })).toMatchObject({
      ok: false,
      problems: [expect.stringContaining('>= 0')],
    });
    expect(tool.parse('x')).toMatchObject({ ok: false });
  });

  test('tells alternatives at the top level as one object, and still checks them', () => {
    const tool = named(mcp, 'fix_either');
    expect(tool.inputSchema).toEqual({
      type: 'object',
      properties: { id: { type: 'string' }, url: { type: 'string' } },
    });
    expect(tool.parse({ id: 'x' }).ok).toBe(true);
    expect(tool.parse({}).ok).toBe(false);
  });

  test('turns isError into a ToolError with the output', async () => {
    const error = await toolErrorOf(call('fix_fail'));
    expect(error).toMatchObject({
      code: 'tool_execution_failed',
      message: 'the disk said no',
      hint: undefined,
    });
  });

  test('tells content that is no text', async () => {
    expect(await call('fix_media')).toBe(
      'seen\n[image image/png, 3 bytes, not shown]\n[resource mem://a]\ninside\n[resource b: mem://b]',
    );
  });

  test('passes no secret of the worker to the server', async () => {
    expect(await call('fix_environment')).not.toContain('HOLDFAST_TEST_TOKEN');
  });

  test('ends a stalled call at its deadline; a write is then of unknown outcome', async () => {
    expect((await toolErrorOf(call('fix_stall'))).code).toBe('tool_timeout');
    expect((await toolErrorOf(call('fix_stall_write'))).code).toBe('outcome_unknown');
  });

  test('stops on cancel with the reason of the signal', async () => {
    const stopping = new AbortController();
    const stalled = call('fix_stall', {}, toolContext({ signal: stopping.signal }));
    stopping.abort(new Error('cancelled by a person'));
    await expect(stalled).rejects.toThrow('cancelled by a person');
  });

  test('starts a crashed server anew: an irreversible call is not repeated, the next one works', async () => {
    const before = await call('fix_pid');
    const error = await toolErrorOf(call('fix_crash'));
    expect(error.code).toBe('outcome_unknown');
    const after = await call('fix_pid');
    expect(after).not.toBe(before);
    expect((await toolErrorOf(call('fix_crash_read'))).code).toBe('tool_execution_failed');
    expect(await call('fix_add', { a: 2, b: 2 })).toBe('4');
  });
});

describe('over streamable HTTP', () => {
  let server: ChildProcess;
  const start = async (port = '0'): Promise<string> => {
    server = spawn(process.execPath, [fixture, 'http', port], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    if (server.stdout === null) {
      throw new Error('no output');
    }
    const lines = createInterface(server.stdout);
    return new Promise((resolve) => {
      lines.once('line', resolve);
    });
  };
  const stop = async (): Promise<void> => {
    const exit = once(server, 'exit');
    server.kill('SIGKILL');
    await exit;
  };

  test('calls, and reaches a restarted server with a new session, writes included', async () => {
    const port = await start();
    mcp = await connectMcp({
      name: 'web',
      transport: { type: 'http', url: `http://127.0.0.1:${port}/mcp` },
    });
    try {
      expect(await call('web_add', { a: 1, b: 2 })).toBe('3');
      await stop();
      await start(port);
      expect(await call('web_either', { id: 'x' })).toBe('id');
      await stop();
      const error = await toolErrorOf(call('web_add', { a: 1, b: 2 }));
      expect(error.message).toMatch(
        /add was not called: MCP server "web" cannot be reached: .*ECONNREFUSED/,
      );
    } finally {
      await mcp.close();
      server.kill('SIGKILL');
    }
  });

  test('says at once, and without the secret, that a server cannot be reached', async () => {
    const port = await start();
    const url = `http://127.0.0.1:${port}/mcp?api_key=supersecret1`;
    const refused = connectMcp({
      name: 'web',
      required: true,
      transport: { type: 'http', url, headers: { authorization: 'Bearer wrong' } },
    });
    await expect(refused).rejects.toBeInstanceOf(InfraException);
    await stop();
    const gone = connectMcp({ name: 'web', required: true, transport: { type: 'http', url } });
    await expect(gone).rejects.toThrow(/MCP server "web"/);
    await expect(gone).rejects.not.toThrow(/supersecret1/);
  });
});

describe('bad definitions', () => {
  test('names a program that does not exist', async () => {
    const options = {
      name: 'a',
      required: true,
      transport: { type: 'stdio' as const, command: 'no-such-program' },
    };
    await expect(connectMcp(options)).rejects.toMatchObject({
      failure: { code: 'tool_infrastructure' },
    });
  });

  test('names do not depend on the order of the tools, differ, and fit', () => {
    const tools = ['a.b', 'a b', 'c', 'x'.repeat(100), `${'x'.repeat(100)}y`];
    const names = mcpToolNames('srv', tools);
    expect(new Set(names).size).toBe(5);
    expect(names.every((name) => /^[a-zA-Z0-9_-]{1,64}$/.test(name))).toBe(true);
    expect([...mcpToolNames('srv', [...tools].reverse())].reverse()).toEqual(names);
  });
});
