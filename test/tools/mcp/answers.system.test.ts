/**
 * An answer that came is not a failed call, whatever it looks like: cases t2-mcp_result-01 and t2-mcp_schema-01, and forms from public
 * reports, each named with its source.
 */
import { callTool, toolContext, toolErrorOf } from '../tool-context';
import type { McpOptions, McpTools } from '../../../activities/tools/mcp/connect-mcp';
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

/** A server whose one tool answers so. */
async function connected(
  answer: Answer,
  { tool = anyTool, ...options }: Partial<McpOptions> & { tool?: object } = {},
): Promise<McpTools> {
  server = await rawServer((request, response, incoming) =>
    request.method === 'tools/call' ? answer(request, response, incoming) : false,
  );
  server.tools = [tool];
  mcp = await connectTo(server, options);
  return mcp;
}
const called = async (
  result: unknown,
  options: Parameters<typeof connected>[1] = {},
): Promise<string> => {
  const tools = await connected(
    (request, response) => sendResult(response, request, result),
    options,
  );
  return callTool(toolOf(tools, 'pay_charge'), {}, toolContext());
};
const text = (value: unknown) => ({ type: 'text', text: value });

afterEach(async () => {
  await mcp?.close();
  await server.close();
});

describe('case t2-mcp_result-01', () => {
  const { tools, tool_result: result } = caseInput('t2-mcp_result-01') as {
    tools: readonly object[];
    tool_result: Readonly<Record<string, unknown>>;
  };
  const tool = tools[0] ?? {};

  test('a result that breaks the output schema is a result, and the model reads both', async () => {
    const mcpTools = await connected((request, response) => sendResult(response, request, result), {
      tool,
    });
    const output = await callTool(toolOf(mcpTools, 'pay_charge'), { n: 1 }, toolContext());
    expect(output).toMatch(
      /^charged, id 17\n\[structured content\]\n\{"id":17\}\n\[This result does not fit/,
    );
    expect(server.calls).toEqual(['charge']);
  });

  test.each<[string, object]>([
    ['no structured content', { content: [text('charged, id 17')] }],
    ['an item of an unknown type', { content: [text('charged, id 17'), { type: 'receipt' }] }],
    ['structured content that is a list', { ...result, structuredContent: [17] }],
    ['structured content that is a text', { ...result, structuredContent: '17' }],
    [
      'an image without its type',
      { content: [text('charged, id 17'), { type: 'image', data: 'AAAA' }] },
    ],
    ['a text of null beside a good one', { content: [text('charged, id 17'), text(null)] }],
  ])('%s', async (_what, variant) => {
    const mcpTools = await connected(
      (request, response) => sendResult(response, request, variant),
      {
        tool,
      },
    );
    const output = await callTool(toolOf(mcpTools, 'pay_charge'), { n: 1 }, toolContext());
    expect(output).toContain('charged, id 17');
    expect(server.calls).toHaveLength(1);
  });

  const keyed = { tools: { charge: { effect: 'keyed' as const } } };
  const read = { tools: { charge: { effect: 'read' as const } } };
  test.each<[string, unknown, Partial<McpOptions>, string]>([
    ['content of null', { content: null }, {}, 'outcome_unknown'],
    ['content of null, keyed', { content: null }, keyed, 'outcome_unknown'],
    ['content of null, of a read', { content: null }, read, 'tool_execution_failed'],
    ['a text of null alone', { content: [text(null)] }, {}, 'outcome_unknown'],
    ['a result of null', null, {}, 'outcome_unknown'],
  ])('%s', async (_what, variant, options, code) => {
    const error = await toolErrorOf(called(variant, options));
    expect(error.code).toBe(code);
    expect(error.message).not.toContain('failed');
    expect(server.calls).toHaveLength(1);
  });

  test.each([
    ['no content', {}],
    ['empty content', { content: [] }],
    ['isError of null', { content: [], isError: null }],
  ])('%s is a tool that gave nothing', async (_what, result_) => {
    expect(await called(result_)).toBe('');
  });
});

test('case t2-mcp_schema-01: one schema that is not by the book costs no tool', async () => {
  const { tools } = caseInput('t2-mcp_schema-01') as { tools: readonly object[] };
  server = await rawServer((request, response) =>
    request.method === 'tools/call' ? sendResult(response, request, { content: 'charged' }) : false,
  );
  server.tools = tools;
  mcp = await connectTo(server);
  expect(mcp.tools.map(({ name }) => name)).toEqual(['pay_good', 'pay_bad']);
  expect([mcp.dropped, mcp.problem]).toEqual([[], undefined]);
  expect(toolOf(mcp, 'pay_good').parse({}).ok).toBe(false);
  expect(Object.keys(toolOf(mcp, 'pay_bad').inputSchema['properties'] ?? {})).toEqual(['a', 'b']);
  expect(await callTool(toolOf(mcp, 'pay_bad'), { b: 'x' }, toolContext())).toBe('charged');
});

describe('content that public reports name', () => {
  test.each<[string, object, string]>([
    // apify/apify-mcp-server#264
    ['type json', { type: 'json', json: { places: 3 } }, '{"type":"json","json":{"places":3}}'],
    // waldzellai/waldzell-mcp#44
    ['type application/json', { type: 'application/json', data: { step: 2 } }, '"step":2'],
    // vercel/ai#14925
    ['a link', { type: 'resource_link', uri: 'mem://b', name: 'b' }, '[resource b: mem://b]'],
    // punkpeye/fastmcp#64
    [
      'audio',
      { type: 'audio', data: 'AAAA', mimeType: 'audio/wav' },
      '[audio audio/wav, 3 bytes, not shown]',
    ],
    // vercel/ai#15285
    [
      'a resource with bytes',
      { type: 'resource', resource: { uri: 'mem://c', blob: 'A'.repeat(4_000) } },
      '[resource mem://c, 3000 bytes, not shown]',
    ],
  ])('%s', async (_what, item, expected) => {
    const output = await called({ content: [item] });
    expect(output).toContain(expected);
    expect(output.length).toBeLessThan(200);
  });

  test.each<[string, unknown, string]>([
    ['a text for the list', 'charged', 'charged'],
    ['one item for the list', text('charged'), 'charged'],
    ['plain texts', ['charged', 17, true], 'charged\n17\ntrue'],
  ])('%s', async (_what, content, expected) => {
    expect(await called({ content })).toBe(expected);
  });

  test('bytes in an item of an unknown type are not shown', async () => {
    const output = await called({ content: [{ type: 'file', bytes: 'QUJD'.repeat(10_000) }] });
    expect(output).toContain('30000 bytes, not shown');
  });
});

describe('structured content is said once', () => {
  const list = [{ id: 1 }, { id: 2 }];
  test.each<[string, object, string]>([
    [
      'as JSON', // mastra-ai/mastra#20168: which of both the model sees
      { content: [text('{ "b": 2, "a": 1 }')], structuredContent: { a: 1, b: 2 } },
      '{ "b": 2, "a": 1 }',
    ],
    [
      'wrapped, as FastMCP does',
      { content: [text('sunny')], structuredContent: { result: 'sunny' } },
      'sunny',
    ],
    [
      'a list, a text for each',
      {
        content: list.map((each) => text(JSON.stringify(each))),
        structuredContent: { result: list },
      },
      '{"id":1}\n{"id":2}',
    ],
    ['alone', { content: [], structuredContent: { id: 17 } }, '{"id":17}'],
    ['beside null', { content: null, structuredContent: { id: 17 } }, '{"id":17}'],
    [
      'beside a text that says something else',
      { content: [text('charged')], structuredContent: { id: 17 } },
      'charged\n[structured content]\n{"id":17}',
    ],
  ])('%s', async (_what, result, expected) => {
    expect(await called(result)).toBe(expected);
  });
});

describe('errors', () => {
  test.each<[string, object, string]>([
    ['a text', { isError: 'true', content: 'the disk said no' }, 'the disk said no'],
    [
      'structured content alone',
      { isError: true, structuredContent: { error: 'E17' } },
      '{"error":"E17"}',
    ],
    ['nothing', { isError: true, content: null }, 'charge failed without a message'],
    // HexSleeves/tailscale-mcp#101: an error that does not fit the schema of results is that error
    [
      'beside an output schema',
      { isError: true, content: [text('requires admin')], structuredContent: { error: 1 } },
      'requires admin',
    ],
  ])('isError with %s', async (_what, result, expected) => {
    const tool = { ...anyTool, outputSchema: { type: 'object', required: ['id'] } };
    const error = await toolErrorOf(called(result, { tool }));
    expect(error.code).toBe('tool_execution_failed');
    expect(error.message).toContain(expected);
  });

  /** The tool ran, and then the server's own check or its JSON failed: sentences of the SDKs. */
  const notWritten = [
    'Output validation error: outputSchema defined but no structured output returned', // modelcontextprotocol/python-sdk#1702
    'MCP error -32602: Invalid structured content for tool charge: expected string', // modelcontextprotocol/typescript-sdk
    'Tool charge has an output schema but no structured content was provided', // microsoft/wassette#263
    'Object of type datetime is not JSON serializable', // json of Python
    'Unable to serialize unknown type: <class Decimal>', // pydantic-core
  ];
  test.each(notWritten)('"%s" after the tool ran: nobody knows', async (said) => {
    const asResult = await toolErrorOf(called({ isError: true, content: [text(said)] }));
    expect(asResult.code).toBe('outcome_unknown');
    await mcp?.close();
    await server.close();
    const tools = await connected((request, response) =>
      sendJson(response, {
        jsonrpc: '2.0',
        id: request.id,
        error: { code: -32603, message: said },
      }),
    );
    const asError = await toolErrorOf(callTool(toolOf(tools, 'pay_charge'), {}, toolContext()));
    expect(asError.code).toBe('outcome_unknown');
    expect(server.calls).toHaveLength(1);
  });

  test.each([
    [-32_603, 'card declined'],
    [-32_602, 'Invalid arguments for tool charge'],
    [-32_601, 'Method not found'],
    [-32_000, 'the card is blocked'],
    [-32_001, 'the account is closed'],
    [4_711, 'the card is blocked'],
  ])('the error %i is the server’s word that the tool failed', async (code, message) => {
    const tools = await connected((request, response) =>
      sendJson(response, { jsonrpc: '2.0', id: request.id, error: { code, message } }),
    );
    const error = await toolErrorOf(callTool(toolOf(tools, 'pay_charge'), {}, toolContext()));
    expect(error).toMatchObject({ code: 'tool_execution_failed' });
    expect(error.message).toContain(message);
    expect(server.calls).toHaveLength(1);
  });
});

describe('frames that the SDK would throw away', () => {
  const result = { content: [text('charged')] };
  test.each<[string, (id: number) => object]>([
    ['error of null beside the result', (id) => ({ jsonrpc: '2.0', id, result, error: null })],
    ['fields of its own', (id) => ({ jsonrpc: '2.0', id, result, elapsed: 3 })],
    ['no version', (id) => ({ id, result })],
    ['no id', () => ({ jsonrpc: '2.0', result })],
    ['an id of null', () => ({ jsonrpc: '2.0', id: null, result })],
    ['_meta of null', (id) => ({ jsonrpc: '2.0', id, result: { ...result, _meta: null } })],
    ['a text as the result', (id) => ({ jsonrpc: '2.0', id, result: 'charged' })],
  ])('%s', async (_what, frame) => {
    for (const kind of ['application/json', 'text/event-stream', 'text/plain', '']) {
      const tools = await connected(({ id = 0 }, response) => {
        const json = JSON.stringify(frame(id));
        response.writeHead(200, kind === '' ? {} : { 'content-type': kind });
        response.end(
          kind === 'text/event-stream' ? `event: message\r\ndata: ${json}\r\n\r\n` : json,
        );
        return true;
      });
      expect(await callTool(toolOf(tools, 'pay_charge'), {}, toolContext())).toBe('charged');
      expect(server.calls).toHaveLength(1);
      await mcp?.close();
      await server.close();
    }
  });

  test.each([
    ['an empty body', ''],
    ['a page', '<html>OK</html>'],
    ['half of the JSON', '{"jsonrpc":"2.0","id":2,"result":{"content":[{"type":"te'],
  ])('%s under 200: answered, and unreadable', async (_what, body) => {
    const tools = await connected((_request, response) => sendJson(response, body));
    const error = await toolErrorOf(callTool(toolOf(tools, 'pay_charge'), {}, toolContext()));
    expect(error.code).toBe('outcome_unknown');
    expect(server.calls).toHaveLength(1);
  });

  test('204 is an answer without anything to read', async () => {
    const tools = await connected((_request, response) => {
      response.writeHead(204).end();
      return true;
    });
    const error = await toolErrorOf(callTool(toolOf(tools, 'pay_charge'), {}, toolContext()));
    expect(error.code).toBe('outcome_unknown');
    expect(error.message).toContain('answered in a form that cannot be read');
  });

  test('an event that lacks its end is an answer', async () => {
    const tools = await connected(({ id }, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(`data: ${JSON.stringify({ jsonrpc: '2.0', id, result })}`);
      return true;
    });
    expect(await callTool(toolOf(tools, 'pay_charge'), {}, toolContext())).toBe('charged');
  });

  test('a stream that ends before its answer ends the call at once', async () => {
    const tools = await connected((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.end(': working\n\n');
      return true;
    });
    const error = await toolErrorOf(callTool(toolOf(tools, 'pay_charge'), {}, toolContext()));
    expect(error.code).toBe('outcome_unknown');
    expect(error.message).toContain('the server was lost during the call');
  });
});
