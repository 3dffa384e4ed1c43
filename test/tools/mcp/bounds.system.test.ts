/** What a server may not do: send without end, hang, die, or leave processes behind. Memory and time stay bounded, and people read why. */
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { connectMcp } from '../../../activities/tools/mcp/connect-mcp';
import type { McpTools } from '../../../activities/tools/mcp/connect-mcp';
import { callTool, toolContext, toolErrorOf } from '../tool-context';
import { connectTo, rawServer, sendResult, toolOf } from './raw-server';
import type { RawServer, RpcRequest } from './raw-server';
import type { ServerResponse } from 'node:http';

const program = join(__dirname, '../fixtures/bad-mcp-server.cjs');
const bad = (kind: string) => ({
  type: 'stdio' as const,
  command: process.execPath,
  args: [program, kind],
});
const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};
async function hasEnded(pid: number): Promise<boolean> {
  for (let left = 200; left > 0 && isAlive(pid); left--) await delay(50);
  return !isAlive(pid);
}

/** A result, and by how many bytes the process grew meanwhile. */
async function watched<Result>(
  work: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly grownBytes: number }> {
  const before = process.memoryUsage().rss;
  let most = before;
  const timer = setInterval(() => {
    most = Math.max(most, process.memoryUsage().rss);
  }, 10);
  const result = await work();
  clearInterval(timer);
  return { result, grownBytes: most - before };
}
const mib = 1024 * 1024;
/** Garbage of a flood that Node may not have collected on a busy machine; without a bound, many times as much arrives. */
const allowedBytes = 1_000 * mib;

describe('over stdio', () => {
  let mcp: McpTools;
  const call = (name: string) => callTool(toolOf(mcp, `bad_${name}`), {}, toolContext());
  beforeEach(async () => {
    mcp = await connectMcp({
      name: 'bad',
      transport: bad('answers'),
      tools: { logs: { effect: 'read' }, 'one-long-line': { effect: 'read' } },
    });
  });
  afterEach(() => mcp.close());

  test.each([
    ['one-long-line', 'sent a message of more than 10485760 bytes', 'tool_execution_failed'],
    ['long-answer', 'sent a message of more than 10485760 bytes', 'outcome_unknown'],
    ['logs', 'sent 5001 messages', 'tool_execution_failed'],
    ['list-changed', 'sent 5001 messages', 'outcome_unknown'],
    ['noise', 'sent 5001 messages', 'outcome_unknown'],
    ['pings', 'sent 5001 messages', 'outcome_unknown'],
    ['answers', 'sent 5001 messages', 'outcome_unknown'],
  ])('%s: the server is ended, once, and the next call gets a new one', async (name, why, code) => {
    const { result, grownBytes } = await watched(() => toolErrorOf(call(name)));
    expect(result.code).toBe(code);
    expect(result.message).toContain(why);
    expect(grownBytes).toBeLessThan(allowedBytes);
    expect(await call('some-logs')).toBe('done');
  });

  test('what a server writes to stderr is bounded, and its end is in the error of its death', async () => {
    const { result, grownBytes } = await watched(() => call('stderr'));
    expect(result).toBe('done');
    expect(grownBytes).toBeLessThan(allowedBytes);
    const error = await toolErrorOf(call('dies'));
    expect(error.message).toMatch(/exit code 4; the end of its stderr: .*fatal: out of disk/s);
    expect(error.message.length).toBeLessThan(1_000);
  });

  test('a server that does not read the end of its input ends, and so do its children', async () => {
    const child = Number(await call('leaves-a-child'));
    const own = Number(await call('ignores-the-end'));
    await mcp.close();
    expect(await hasEnded(own)).toBe(true);
    expect(await hasEnded(child)).toBe(true);
  });
});

describe('at the start', () => {
  test.each([
    ['dies', /exit code 3; the end of its stderr: Error: PAY_TOKEN is not set/],
    ['floods-at-once', /sent a message of more than 10485760 bytes/],
    ['hangs', /did not list its tools within 1000 ms/],
  ])('a server that %s stops no worker, and the reason is told', async (kind, why) => {
    const warned = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
    const mcp = await connectMcp({ name: 'bad', transport: bad(kind), startTimeoutMs: 1_000 });
    expect(mcp.tools).toEqual([]);
    expect(mcp.problem).toMatch(why);
    expect(warned).toHaveBeenCalledWith(expect.stringMatching(why), 'HoldfastWarning');
    warned.mockRestore();
    await mcp.close();
    const required = connectMcp({
      name: 'bad',
      required: true,
      transport: bad(kind),
      startTimeoutMs: 1_000,
    });
    await expect(required).rejects.toMatchObject({ failure: { code: 'tool_infrastructure' } });
    await expect(required).rejects.toThrow(why);
  });
});

describe('over HTTP', () => {
  let server: RawServer;
  let mcp: McpTools;
  afterEach(async () => {
    await mcp.close();
    await server.close();
  });

  /** Writes without end, as fast as it is read. */
  const flood = (response: ServerResponse, next: string | Buffer): true => {
    const write = (): void => {
      while (!response.destroyed && response.write(next));
    };
    response.on('drain', write);
    write();
    return true;
  };
  const stream = { 'content-type': 'text/event-stream' };
  const json = { 'content-type': 'application/json' };
  const log = 'data: {"jsonrpc":"2.0","method":"notifications/message","params":{}}\n\n';
  const bomb = gzipSync(Buffer.alloc(300 * mib, 'a'));

  test.each<[string, (response: ServerResponse, request: RpcRequest) => unknown, string]>([
    [
      'a body without end',
      (response) => flood(response.writeHead(200, json), 'x'.repeat(65_536)),
      '10485760 bytes',
    ],
    [
      'an event without end',
      (response) => flood(response.writeHead(200, stream), `data: ${'x'.repeat(65_536)}\n`),
      '10485760 bytes',
    ],
    [
      'a line without end',
      (response) => flood(response.writeHead(200, stream), 'x'.repeat(65_536)),
      '10485760 bytes',
    ],
    [
      'a small body that unpacks to a large one',
      (response) => response.writeHead(200, { ...json, 'content-encoding': 'gzip' }).end(bomb),
      '10485760 bytes',
    ],
    [
      'events without end',
      (response) => flood(response.writeHead(200, stream), log.repeat(100)),
      '5001 messages',
    ],
    [
      'comments without end',
      (response) => flood(response.writeHead(200, stream), ': ping\n\n'.repeat(1_000)),
      '5001 messages',
    ],
  ])('%s', async (_what, answer, why) => {
    server = await rawServer((request, response) => {
      if (request.method !== 'tools/call') return false;
      if (server.calls.length > 1) return sendResult(response, request, { content: 'done' });
      answer(response, request);
      return true;
    });
    mcp = await connectTo(server);
    const charge = () => callTool(toolOf(mcp, 'pay_charge'), {}, toolContext());
    const { result, grownBytes } = await watched(() => toolErrorOf(charge()));
    expect(result.code).toBe('outcome_unknown');
    expect(result.message).toContain(why);
    expect(grownBytes).toBeLessThan(allowedBytes);
    expect(await charge()).toBe('done');
  });

  test('a refusal without end is read at its beginning', async () => {
    server = await rawServer((request, response) => {
      if (request.method !== 'tools/call') return false;
      return flood(response.writeHead(422), 'no, '.repeat(10_000));
    });
    mcp = await connectTo(server);
    const error = await toolErrorOf(callTool(toolOf(mcp, 'pay_charge'), {}, toolContext()));
    expect(error.code).toBe('tool_execution_failed');
    expect(error.message.length).toBeLessThan(1_000);
  });

  test('a stream that asks to be read again at once is read again after a second', async () => {
    let reads = 0;
    server = await rawServer(() => false);
    server.stream = (response) => {
      reads += 1;
      response.writeHead(200, stream).end('retry: 0\ndata: \n\n');
    };
    mcp = await connectTo(server);
    await delay(1_500);
    expect(reads).toBeGreaterThan(0);
    expect(reads).toBeLessThan(4);
  });

  test('a schema that is nested without end costs its own tool only', async () => {
    const deep = `${'{"items":'.repeat(60_000)}{}${'}'.repeat(60_000)}`;
    const tools = `[{"name":"good","inputSchema":{}},{"name":"deep","inputSchema":${deep}}]`;
    server = await rawServer((request, response) => {
      if (request.method !== 'tools/list') return false;
      const text = `{"jsonrpc":"2.0","id":${request.id},"result":{"tools":${tools}}}`;
      response.writeHead(200, json).end(text);
      return true;
    });
    mcp = await connectTo(server);
    expect(mcp.tools.map(({ name }) => name)).toEqual(['pay_good']);
    expect(mcp.dropped[0]).toContain('nested too deeply');
  });
});
