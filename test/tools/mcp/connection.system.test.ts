/**
 * What a server says about a request that it did not look at: cases t2-mcp_connection-01 and -03, and sentences from public reports,
 * each named with its source.
 */
import { setTimeout as delay } from 'node:timers/promises';
import { callTool, toolContext, toolErrorOf } from '../tool-context';
import type { McpOptions, McpTools } from '../../../activities/tools/mcp/connect-mcp';
import type { HttpServer } from '../../../activities/tools/mcp/mcp-options';
import { withoutSecrets } from '../../../activities/untrusted/known-secrets';
import {
  anyTool,
  caseInput,
  connectTo,
  rawServer,
  sendJson,
  sendResult,
  toolOf,
} from './raw-server';
import type { Answer, RawServer } from './raw-server';

let server: RawServer;
let mcp: McpTools | undefined;

async function connected(
  answer: Answer,
  { headers, ...options }: Partial<McpOptions> & Pick<HttpServer, 'headers'> = {},
): Promise<McpTools> {
  server = await rawServer(answer);
  const transport: HttpServer = { type: 'http', url: server.url, ...(headers && { headers }) };
  mcp = await connectTo(server, { ...options, transport });
  return mcp;
}
const charge = (tools: McpTools, context = toolContext()) =>
  callTool(toolOf(tools, 'pay_charge'), {}, context);
const done = { content: [{ type: 'text', text: 'charged' }] };

afterEach(async () => {
  await mcp?.close();
  await server.close();
});

/** A server that takes only this token; every other one gets what case t2-mcp_connection-01 says. */
function guarded(valid: () => string, status = 401): Answer {
  return (request, response, { headers }) => {
    if (headers.authorization !== `Bearer ${valid()}`) {
      response.writeHead(status, { 'www-authenticate': 'Bearer error="invalid_token"' });
      response.end();
      return true;
    }
    return request.method === 'tools/call' ? sendResult(response, request, done) : false;
  };
}

describe('tokens that expire (t2-mcp_connection-01)', () => {
  test.each([401, 403])('a function for headers is asked again after %i', async (status) => {
    let [valid, asked] = ['token-of-the-first-hour', 0];
    const headers = async () => {
      await delay(1);
      asked += 1;
      return { authorization: `Bearer ${valid}` };
    };
    const tools = await connected(
      guarded(() => valid, status),
      { headers },
    );
    expect(await charge(tools)).toBe('charged');
    expect(asked).toBe(1);
    valid = 'token-of-the-second-hour';
    expect(await charge(tools)).toBe('charged');
    expect([asked, server.calls.length]).toEqual([2, 3]);
    expect(withoutSecrets('used token-of-the-second-hour')).not.toContain('second-hour');
  });

  test('calls at the same time ask once', async () => {
    let [valid, asked] = ['token-of-the-first-hour', 0];
    const tools = await connected(
      guarded(() => valid),
      {
        headers: () => {
          asked += 1;
          return { authorization: `Bearer ${valid}` };
        },
      },
    );
    valid = 'token-of-the-second-hour';
    const all = await Promise.all([charge(tools), charge(tools), charge(tools)]);
    expect(all).toEqual(['charged', 'charged', 'charged']);
    expect(asked).toBe(2);
  });

  test('a second refusal is auth_failed, after one repeat; the next call asks again', async () => {
    let [valid, given] = ['token-1', 'token-1'];
    const headers = () => ({ authorization: `Bearer ${given}` });
    const tools = await connected(
      guarded(() => valid),
      { headers },
    );
    valid = 'token-2';
    const error = await toolErrorOf(charge(tools));
    expect(error).toMatchObject({ code: 'auth_failed', recoverable: false });
    expect(server.calls).toHaveLength(2);
    given = 'token-2';
    expect(await charge(tools)).toBe('charged');
  });

  test('fixed headers are refused once', async () => {
    let valid = 'token-1';
    const tools = await connected(
      guarded(() => valid),
      {
        headers: { authorization: 'Bearer token-1' },
      },
    );
    valid = 'token-2';
    expect((await toolErrorOf(charge(tools))).code).toBe('auth_failed');
    expect(server.calls).toHaveLength(1);
  });

  test('a function that fails is the cause, and nothing was sent', async () => {
    let isDown = false;
    const headers = () => {
      if (isDown) throw new Error('the token service is down');
      return { authorization: 'Bearer token-1' };
    };
    let valid = 'token-1';
    const tools = await connected(
      guarded(() => valid),
      { headers },
    );
    [isDown, valid] = [true, 'token-2'];
    const error = await toolErrorOf(charge(tools));
    expect(error.code).toBe('auth_failed');
    expect(error.message).toContain('the token service is down');
  });

  test.each([
    ['a function that fails', 200, '"headers" failed: the token service is down', 'this function'],
    ['an unknown token', 401, 'HTTP 401', 'the headers that it is given'],
    ['a forbidden token', 403, 'HTTP 403', 'the headers that it is given'],
  ])('%s at the start is not blamed on the address', async (_, status, why, remedy) => {
    jest.spyOn(process, 'emitWarning').mockImplementationOnce(() => undefined);
    const { problem } = await connected(
      guarded(() => 'another token', status),
      {
        headers: () => {
          if (status === 200) throw new Error('the token service is down');
          return { authorization: 'Bearer token-1' };
        },
      },
    );
    expect(problem).toContain(why);
    expect(problem).toMatch(new RegExp(`Check ${remedy}\\.$`));
  });
});

describe('a session that the server does not know (t2-mcp_connection-03)', () => {
  const known = (caseInput('t2-mcp_connection-03')['answers'] as readonly string[])[1] ?? '';

  const refusals: readonly (readonly [number, string])[] = [
    [400, /"(.*)"/.exec(known)?.[1] ?? ''],
    [404, 'Session not found'],
    [410, 'gone'],
    [400, 'Bad Request: Server not initialized'], // anthropics/claude-code#55970
    [400, 'Bad Request: No valid session ID or not an initialize request'], // DAWNCR0W/affine-mcp-server#301
    [400, 'Not Found: Unknown Mcp-Session-Id header'], // diegosouzapw/OmniRoute#5957
    [503, 'Unknown or expired mcp-session-id'], // markmhendrickson/neotoma#1923
    [500, 'Error POSTing to endpoint (HTTP 400): Bad Request: No valid session ID provided'], // punkpeye/fastmcp#121
    [400, 'Bad Request: Missing session ID'], // the SDK for Python
    [400, 'Bad Request: Mcp-Session-Id header is required'], // the SDK for TypeScript
    [400, 'Invalid session ID'], // mark3labs/mcp-go
    [400, 'Session 7f9c-11 has expired'],
    [200, 'Session not found'], // as a JSON-RPC error
  ];
  test.each(refusals)(
    '%i "%s": a new session, and the call is made once',
    async (status, message) => {
      let [isRestarted, effects] = [false, 0];
      const tools = await connected((request, response, { headers }) => {
        if (isRestarted && headers['mcp-session-id'] === 'session-1')
          return sendJson(
            response,
            {
              jsonrpc: '2.0',
              id: status === 200 ? request.id : null,
              error: { code: -32_000, message },
            },
            status,
          );
        if (request.method !== 'tools/call') return false;
        effects += 1;
        return sendResult(response, request, done);
      });
      isRestarted = true;
      expect(await charge(tools)).toBe('charged');
      expect([effects, server.calls.length]).toEqual([1, 2]);
    },
  );

  test('calls at the same time all get to the new session, none is lost', async () => {
    let [isRestarted, effects] = [false, 0];
    const tools = await connected(async (request, response, { headers }) => {
      if (isRestarted && headers['mcp-session-id'] === 'session-1') {
        await delay((request.id ?? 0) * 20);
        return sendJson(response, { error: 'No valid session ID provided' }, 400);
      }
      if (request.method !== 'tools/call') return false;
      effects += 1;
      return sendResult(response, request, done);
    });
    isRestarted = true;
    const all = await Promise.all(Array.from({ length: 5 }, () => charge(tools)));
    expect(all).toEqual(Array.from({ length: 5 }, () => 'charged'));
    expect(effects).toBe(5);
    expect(server.methods.filter((method) => method === 'initialize')).toHaveLength(2);
  });

  test('a server that always says so is asked twice', async () => {
    const tools = await connected((request, response) =>
      request.method === 'tools/call'
        ? sendJson(response, 'No valid session ID provided', 400)
        : false,
    );
    const error = await toolErrorOf(charge(tools));
    expect(error.code).toBe('tool_execution_failed');
    expect(server.calls).toHaveLength(2);
  });

  test.each([
    [-32_603, 'browser session not found'],
    [-32_602, 'Unknown session "a": open one first'],
  ])('a tool’s own word about a session (%i) is its failure', async (code, message) => {
    const tools = await connected((request, response) =>
      request.method === 'tools/call'
        ? sendJson(response, { jsonrpc: '2.0', id: request.id, error: { code, message } })
        : false,
    );
    expect((await toolErrorOf(charge(tools))).code).toBe('tool_execution_failed');
    expect(server.calls).toHaveLength(1);
  });
});

describe('other refusals', () => {
  test.each<[number, string, number]>([
    [400, 'tool_execution_failed', 1],
    [405, 'tool_execution_failed', 1],
    [413, 'tool_execution_failed', 1],
    [422, 'tool_execution_failed', 1],
    [429, 'rate_limit', 1],
    [403, 'auth_failed', 1],
    [307, 'tool_execution_failed', 1],
    [408, 'outcome_unknown', 1],
    [500, 'outcome_unknown', 1],
    [502, 'outcome_unknown', 1],
    [504, 'outcome_unknown', 1],
  ])('%i of an irreversible call is %s', async (status, code, calls) => {
    const tools = await connected((request, response) => {
      if (request.method !== 'tools/call') return false;
      response.writeHead(status, status === 307 ? { location: 'http://127.0.0.1:1/x' } : {});
      response.end('no');
      return true;
    });
    expect((await toolErrorOf(charge(tools))).code).toBe(code);
    expect(server.calls).toHaveLength(calls);
  });

  test('502 of a keyed call is repeated once, with its key', async () => {
    const keys: unknown[] = [];
    const tools = await connected(
      (request, response) => {
        if (request.method !== 'tools/call') return false;
        keys.push(
          (request.params as { _meta?: { idempotencyKey?: unknown } })._meta?.idempotencyKey,
        );
        return keys.length === 1
          ? sendJson(response, '', 502)
          : sendResult(response, request, done);
      },
      { tools: { charge: { effect: 'keyed' } } },
    );
    expect(await charge(tools, toolContext({ idempotencyKey: 'key-9' }))).toBe('charged');
    expect(keys).toEqual(['key-9', 'key-9']);
  });

  test('a tool list that never ends, and pages of null', async () => {
    let pages = 0;
    const tools = await connected((request, response) => {
      if (request.method !== 'tools/list') return false;
      pages += 1;
      return sendResult(response, request, {
        tools: [{ ...anyTool, name: `t${pages}` }],
        nextCursor: pages < 3 ? `page-${pages}` : 'page-1',
      });
    });
    expect(tools.tools.map(({ name }) => name)).toEqual(['pay_t1', 'pay_t2', 'pay_t3']);
    server.answer = (request, response) =>
      request.method === 'tools/list' &&
      sendResult(response, request, { tools: [anyTool], nextCursor: null, _meta: null });
    const other = await connectTo(server);
    expect(other.tools).toHaveLength(1);
    await other.close();
  });
});

test('a connection that breaks before the server reads is made once more; a second time is an error', async () => {
  let broken = 1;
  const tools = await connected((request, response) => {
    if (request.method === 'initialize' && broken > 0) {
      broken -= 1;
      response.socket?.resetAndDestroy();
      return true;
    }
    return request.method === 'tools/call' ? sendResult(response, request, done) : false;
  });
  expect(tools.problem).toBeUndefined();
  expect(await charge(tools)).toBe('charged');
  broken = 2;
  const required = connectTo(server, { required: true });
  await expect(required).rejects.toThrow('cannot be reached');
  expect(broken).toBe(0);
});
