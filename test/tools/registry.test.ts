/** The registry refuses ambiguous and reserved names; the runtime's own two tools are parsed like any other. */
import { z } from 'zod';
import { askUserSpec, completeTaskSpec } from '../../activities/tools/built-in-tools';
import { defineTool } from '../../activities/tools/define-tool';
import { toolsByName } from '../../activities/definitions/agent-tools';
import type { Tool } from '../../activities/tools/tool';
import { UserError } from '../../activities/lifecycle/user-error';

const named = (name: string): Tool =>
  defineTool({ name, description: 'Does.', input: z.object({}), execute: () => 'ok' });

describe('toolsByName', () => {
  test('finds tools by name, in the order given', () => {
    const { registry } = toolsByName([named('b'), named('a')]);
    expect([...registry.keys()]).toEqual(['b', 'a']);
    expect(registry.get('a')?.name).toBe('a');
    expect(registry.get('constructor')).toBeUndefined();
  });

  test('refuses a name twice', () => {
    expect(() => toolsByName([named('a'), named('a')])).toThrow(/Tool "a" is given twice/);
  });

  test.each(['complete_task', 'ask_user'])('refuses the reserved name %s', (name) => {
    expect(() => toolsByName([named(name)])).toThrow(UserError);
  });

  test('refuses a hand-made tool with a name that vendors refuse', () => {
    expect(() => toolsByName([{ ...named('a'), name: 'a b' }])).toThrow(/"a b"/);
  });

  test('refuses more tools than vendors accept', () => {
    const many = Array.from({ length: 127 }, (_, index) => named(`tool_${index}`));
    expect(() => toolsByName(many)).toThrow(/127 tools/);
  });
});

describe('the tools of MCP servers', () => {
  const of = (source: string, name: string): Tool => ({ ...named(name), source });
  const kept = (tools: readonly Tool[]): readonly string[] => [
    ...toolsByName(tools).registry.keys(),
  ];

  test.each<[string, readonly Tool[], readonly string[]]>([
    [
      'take no name of the author',
      [of('read', 'read_file'), named('read_file'), of('read', 'read_me')],
      ['read_file', 'read_me'],
    ],
    [
      'take no name that looks like one',
      [named('read_file'), of('Read', 'Read_FiIe')],
      ['read_file'],
    ],
    [
      'nor with other lines',
      [named('run_command'), of('run-command', 'run-command')],
      ['run_command'],
    ],
    ['take no name of the runtime', [of('complete', 'complete_task'), of('ask', 'ask_user')], []],
    [
      'take no name of another server, whoever comes first',
      [of('a', 'a_b_pay'), of('a_b', 'a_b_pay'), of('a', 'a_c')],
      ['a_b_pay', 'a_c'],
    ],
    ['come once', [of('a', 'a_x'), of('a', 'a_x')], ['a_x']],
  ])('%s', (_what, tools, names) => {
    expect(kept(tools)).toEqual(names);
    const { registry, leftOut } = toolsByName(tools);
    expect(registry.size + leftOut.length).toBe(tools.length);
  });

  test('the shared name is the longer server’s, in any order', () => {
    const tools = [of('a', 'a_b_pay'), of('a_b', 'a_b_pay')];
    for (const order of [tools, [...tools].reverse()])
      expect(toolsByName(order).registry.get('a_b_pay')?.source).toBe('a_b');
  });

  test('too many of one server leave room for the others, and stop nothing', () => {
    const many = Array.from({ length: 500 }, (_, index) => of('big', `big_${index}`));
    const few = Array.from({ length: 5 }, (_, index) => of('small', `small_${index}`));
    const { registry, leftOut } = toolsByName([named('own'), ...many, ...few]);
    expect(registry.size).toBe(126);
    expect([...registry.keys()].filter((name) => name.startsWith('small_'))).toHaveLength(5);
    expect(leftOut).toHaveLength(506 - 126);
    expect(leftOut[0]).toMatch(/^MCP server "big": tool "big_\d+" is left out: /);
  });
});

describe('the runtime’s own tools', () => {
  test('complete_task takes a summary alone without an output schema', () => {
    const tool = completeTaskSpec();
    expect(tool.parse({ summary: 'done' })).toEqual({ ok: true, value: { summary: 'done' } });
    expect(tool.parse({})).toMatchObject({
      ok: false,
      problems: ['Missing required parameter: summary'],
    });
  });

  test('complete_task checks the result against the output schema', () => {
    const tool = completeTaskSpec(z.object({ total: z.number() }));
    expect(tool.parse({ summary: 'done', result: { total: 3 } }).ok).toBe(true);
    expect(tool.parse({ summary: 'done', result: { total: 'three' } })).toMatchObject({
      problems: ['Parameter result.total: expected number, received string "three"'],
    });
  });

  test('complete_task takes an output schema that is no object', () => {
    const tool = completeTaskSpec(z.union([z.string(), z.number()]));
    expect(tool.parse({ summary: 'done', result: 3 }).ok).toBe(true);
  });

  test('ask_user takes one question, and is never executed', () => {
    expect(askUserSpec.parse({ question: 'Which?' }).ok).toBe(true);
    expect(askUserSpec.parse({ question: '' }).ok).toBe(false);
  });
});
