/** What authors say of a server's tools by name and pattern. */
import type { McpOptions } from '../../../activities/tools/mcp/connect-mcp';
import { mcpToolNames } from '../../../activities/tools/mcp/mcp-tool-names';
import {
  fits,
  isSelected,
  overall,
  rulesFor,
  rulesThatMayFit,
  unusedNames,
} from '../../../activities/tools/mcp/mcp-tool-rules';
import { cases, fc } from '../../support/properties';

const options = (more: Partial<McpOptions>): McpOptions => ({
  name: 'pay',
  transport: { type: 'stdio', command: 'pay' },
  ...more,
});

test.each<[string, string, boolean]>([
  ['refund', 'refund', true],
  ['refund', 'refunds', false],
  ['*', '', true],
  ['*', 'refund', true],
  ['get_*', 'get_', true],
  ['get_*', 'forget_it', false],
  ['*_admin', 'user_admin', true],
  ['*_admin', 'user_admins', false],
  ['a*b*c', 'a-b-b-c', true],
  ['a*b*c', 'acb', false],
  ['a*a', 'a', false],
  ['ab*ba', 'aba', false],
  ['**', 'x', true],
  ['a.c', 'abc', false],
])('%s and "%s": %s', (pattern, name, expected) => {
  expect(fits(pattern, name)).toBe(expected);
});

test('a pattern fits what an expression of the same meaning fits', () => {
  const pattern = fc.stringMatching(/^[ab*]{0,8}$/);
  const names = fc.stringMatching(/^[ab]{0,8}$/);
  fc.assert(
    fc.property(pattern, names, (text, name) => {
      expect(fits(text, name)).toBe(new RegExp(`^${text.replaceAll('*', '.*')}$`).test(name));
    }),
    cases(1_000),
  );
});

test.each<[Partial<McpOptions>, readonly string[]]>([
  [{}, ['get_a', 'get_b', 'refund']],
  [{ allow: ['get_*'] }, ['get_a', 'get_b']],
  [{ allow: ['refund', 'get_b'] }, ['get_b', 'refund']],
  [{ deny: ['*_b'] }, ['get_a', 'refund']],
  [{ allow: ['get_*'], deny: ['get_a'] }, ['get_b']],
  [{ allow: ['get_a'], deny: ['get_*'] }, []],
])('%j selects %j', (more, expected) => {
  const names = ['get_a', 'get_b', 'refund'].filter((name) => isSelected(options(more), name));
  expect(names).toEqual(expected);
});

test('a name wins over patterns, a later pattern over an earlier one, field by field', () => {
  const given = options({
    tools: {
      delete_user: { approval: 'always' },
      '*': { timeoutMs: 5_000, effect: 'read', approval: 'never' },
      'delete_*': { effect: 'keyed', onUnknown: 'ask-person' },
    },
  });
  expect(rulesFor(given, 'delete_user')).toEqual({
    timeoutMs: 5_000,
    effect: 'keyed',
    onUnknown: 'ask-person',
    approval: 'always',
  });
  expect(rulesFor(given, 'get_user')).toMatchObject({ effect: 'read', approval: 'never' });
  expect(rulesFor(options({}), 'constructor')).toEqual({});
  expect(rulesFor(options({ tools: {} }), 'constructor')).toEqual({});
});

test.each<[McpOptions['tools'], string, boolean]>([
  [undefined, 'never', false],
  [{ '*': { approval: 'always' } }, 'always', false],
  [{ '*': { approval: 'always' }, look: { approval: 'never' } }, 'rule', false],
  [{ '*': { approval: 'always' }, look: { effect: 'read' } }, 'always', false],
  [{ refund: { approval: 'always' } }, 'rule', false],
  [{ refund: { approval: 'never' } }, 'never', false],
  [{ '*': { approval: () => false } }, 'rule', false],
  [{ shell: { runsPrograms: true } }, 'never', true],
])('%j is %s for the server, and runs programs: %s', (tools, approval, runsPrograms) => {
  expect(overall(options(tools === undefined ? {} : { tools }))).toEqual({
    approval,
    runsPrograms,
  });
});

test('the rules of a tool that is not listed are at least all that hold for it', () => {
  const key = fc.stringMatching(/^[ab.*]{1,6}$/);
  const own = fc.stringMatching(/^[ab.]{1,6}$/);
  fc.assert(
    fc.property(fc.array(key, { maxLength: 4 }), fc.array(own, { minLength: 1 }), (keys, all) => {
      const tools = Object.fromEntries(keys.map((each) => [each, { timeoutMs: each.length }]));
      const listed = [...new Set(all)];
      const given = options({ tools });
      for (const [index, name] of mcpToolNames('pay', listed).entries()) {
        const { timeoutMs } = rulesFor(given, listed[index] ?? '');
        const found = rulesThatMayFit(given, name).map((each) => each.timeoutMs);
        if (timeoutMs !== undefined) expect(found).toContain(timeoutMs);
      }
    }),
    cases(1_000),
  );
  const tools = { a: { rename: 'b', approval: 'always' as const }, '*': { timeoutMs: 9 } };
  expect(rulesThatMayFit(options({ tools }), 'pay_b')).toEqual([
    { rename: 'b', approval: 'always', timeoutMs: 9 },
  ]);
});

test('says which names and patterns fit no tool', () => {
  const given = options({
    allow: ['get_*', 'refnud'],
    deny: ['*_admin'],
    tools: { '*': {}, refund: {}, list_prompts: {}, 'put_*': {} },
  });
  expect(unusedNames(given, ['get_a', 'refund'])).toEqual([
    'MCP server "pay" lists no tool "put_*", which its option tools names; use the server\'s own names, without its prefix.',
    'MCP server "pay" lists no tool "refnud", which its option allow names; perhaps "refund" is meant.',
    'MCP server "pay" lists no tool "*_admin", which its option deny names; use the server\'s own names, without its prefix.',
  ]);
});

test('what the author named keeps its name, and the server’s tool of that name gets a digest', () => {
  const names = mcpToolNames(
    'pay',
    ['charge', 'refund', 'read_resource'],
    (tool) => (tool === 'charge' ? 'refund' : undefined),
    ['pay_list_resources', 'pay_read_resource'],
  );
  expect(names[0]).toBe('pay_refund');
  expect(names[1]).toMatch(/^pay_refund_[0-9a-f]{8}$/);
  expect(names[2]).toMatch(/^pay_read_resource_[0-9a-f]{8}$/);
});
