/** Which tools of a real server agents get, how each is used, and what they read beside its tools. */
import { join } from 'node:path';
import { connectMcp } from '../../../activities/tools/mcp/connect-mcp';
import type { McpOptions, McpTools } from '../../../activities/tools/mcp/connect-mcp';
import { OutputWithMedia } from '../../../activities/tools/output-with-media';
import { approvalContext, callTool, toolContext, toolErrorOf } from '../tool-context';
import { toolOf } from './raw-server';

const program = join(__dirname, '../fixtures/mcp-server.cjs');
const transport = { type: 'stdio' as const, command: process.execPath, args: [program] };

let mcp: McpTools;
let warnings: jest.SpiedFunction<typeof process.emitWarning>;
async function connected(options: Partial<McpOptions>): Promise<McpTools> {
  mcp = await connectMcp({ name: 'fix', transport, required: true, ...options });
  return mcp;
}
const names = (): readonly string[] => mcp.tools.map(({ name }) => name);
const call = (name: string, input: unknown = {}): Promise<string> =>
  callTool(toolOf(mcp, name), input, toolContext());

beforeEach(() => {
  warnings = jest.spyOn(process, 'emitWarning').mockImplementation(() => undefined);
});
afterEach(async () => {
  warnings.mockRestore();
  await mcp.close();
});

test('agents get the tools that are allowed and not denied, as the options say', async () => {
  const seen: unknown[] = [];
  await connected({
    allow: ['add', 'p*', 'stall*', 'faill'],
    deny: ['pid'],
    tools: {
      '*': { timeoutMs: 50_000, approval: 'always' },
      'stall*': { timeoutMs: 300 },
      add: {
        effect: 'read',
        rename: 'sum',
        approval: (input, { context, tenant }) => {
          seen.push(context, tenant);
          return Number(input['a']) > 10;
        },
      },
      stall: { effect: 'read' },
    },
  });
  expect(mcp.tools.map(({ name, effect, approval }) => `${name} ${effect} ${approval}`)).toEqual([
    'fix_sum read rule',
    'fix_put irreversible always',
    'fix_stall read always',
    'fix_stall_write irreversible always',
  ]);
  expect(mcp).toMatchObject({ approval: 'rule', runsPrograms: false });
  const sum = toolOf(mcp, 'fix_sum');
  const context = approvalContext({ context: { customer: 'c-1' } });
  expect(sum.needsApproval({ a: 11, b: 1 }, context)).toBe(true);
  expect(sum.needsApproval({ a: 10, b: 1 }, context)).toBe(false);
  expect(seen).toEqual([undefined, context.tenant, undefined, context.tenant]);
  // Renamed for agents only: the server knows its own name.
  expect(await call('fix_sum', { a: 1, b: 2 })).toBe('3');
  expect((await toolErrorOf(call('fix_stall'))).code).toBe('tool_timeout');
  expect((await toolErrorOf(call('fix_stall_write'))).code).toBe('outcome_unknown');
  expect(mcp.dropped).toEqual([
    'MCP server "fix" lists no tool "faill", which its option allow names; perhaps "fail" is meant.',
  ]);
  expect(warnings).toHaveBeenCalledWith(mcp.dropped[0], 'HoldfastWarning');
});

test('a rule that throws asks a person', async () => {
  await connected({
    tools: {
      add: {
        approval: () => {
          throw new Error('no');
        },
      },
    },
  });
  expect(toolOf(mcp, 'fix_add').needsApproval({}, approvalContext())).toBe(true);
});

describe('resources and prompts', () => {
  test('are read by tools where the options ask for them', async () => {
    await connected({
      resources: true,
      prompts: true,
      allow: [],
      tools: { get_prompt: { approval: 'always' } },
    });
    expect(mcp.tools.map(({ name, effect, approval }) => `${name} ${effect} ${approval}`)).toEqual([
      'fix_list_resources read never',
      'fix_read_resource read never',
      'fix_list_prompts read never',
      'fix_get_prompt read always',
    ]);
    expect(await call('fix_list_resources')).toBe(
      [
        'Resources:',
        '{"uri":"mem://note/1","name":"note","description":"The first."}',
        '{"uri":"mem://pixel","name":"pixel","mimeType":"image/png"}',
        'Templates of URIs; put values in place of {…}:',
        '{"uriTemplate":"mem://note/{number}","name":"notes"}',
      ].join('\n'),
    );
    expect(await call('fix_read_resource', { uri: 'mem://note/7' })).toBe(
      '[resource mem://note/7]\ntext of mem://note/7',
    );
    expect(await call('fix_list_prompts')).toBe(
      'Prompts:\n{"name":"review","description":"Reviews.","arguments":[{"name":"code","required":true}]}',
    );
    expect(await call('fix_get_prompt', { name: 'review', arguments: { code: 'x = 1' } })).toBe(
      '[user]\nReview x = 1.\n[assistant]\n[resource mem://rules]\nBe kind.',
    );
  });

  test('an image is shown, and what is not there is an error with a hint', async () => {
    await connected({ resources: true });
    const read = toolOf(mcp, 'fix_read_resource');
    const output = await read.execute({ uri: 'mem://pixel' }, toolContext());
    expect(output).toBeInstanceOf(OutputWithMedia);
    const error = await toolErrorOf(call('fix_read_resource', { uri: 'mem://none' }));
    expect(error.message).toContain('Resource mem://none not found');
    expect(read.hintFor(error, {}, approvalContext())).toContain('a URI that fix_list_resources');
    expect(read.parse({ uri: 7 })).toMatchObject({ ok: false });
  });

  test('take no name of a tool of the server, and are not there unless they are asked for', async () => {
    await connected({ resources: true });
    expect(names().filter((name) => name.startsWith('fix_read_resource'))).toEqual([
      'fix_read_resource',
      expect.stringMatching(/^fix_read_resource_[0-9a-f]{8}$/),
    ]);
    await mcp.close();
    await connected({});
    expect(names().filter((name) => /resource|prompt/.test(name))).toEqual(['fix_read_resource']);
    expect(await call('fix_read_resource')).toBe('a tool of its own');
  });
});
