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
