/** Definitions become tools that every vendor accepts, and bad input is told in words. */
import { z } from 'zod';
import { z as oldZod } from 'zod/v3';
import { defineTool } from '../../activities/tools/define-tool';
import { privilegedFinder } from '../../activities/tools/privileged-parameters';
import type { Tool, ToolDefinition } from '../../activities/tools/tool';
import { UserError } from '../../activities/lifecycle/user-error';
import type { JsonObject } from '../../workflows/core/json';
import type { DecisionPolicy } from '../../workflows/core/tools/ports';
import { approvalContext } from './tool-context';
import { fc } from '../support/properties';

const define = (input: z.ZodType, more: Partial<ToolDefinition> = {}): Tool =>
  defineTool({ name: 'post', description: 'Posts.', input, execute: () => 'ok', ...more });

const problemsOf = (tool: Tool, input: unknown): readonly string[] => {
  const parsed = tool.parse(input);
  return parsed.ok ? [] : parsed.problems;
};

const telegram = define(
  z.object({ content: z.string(), chat_id: z.string(), silent: z.boolean().optional() }),
);

describe('defineTool: definitions', () => {
  test('fills in the defaults', () => {
    expect(telegram).toMatchObject({
      effect: 'irreversible',
      timeoutMs: 60_000,
      approval: 'never',
    });
    expect(telegram.maxCalls).toBeUndefined();
  });

  test.each([
    ['edit_file', 8],
    ['delete_file', 3],
    ['run_command', 10],
    ['run_terminal_command', 100],
    ['web_search', 8],
  ])('caps %s at %i calls (R-GUARD-4), which a definition may change', (name, cap) => {
    expect(define(z.object({}), { name }).maxCalls).toBe(cap);
    expect(define(z.object({}), { name, maxCalls: 2 }).maxCalls).toBe(2);
  });

  test.each<[string, Partial<ToolDefinition>, RegExp]>([
    ['a dot in the name', { name: 'fs.read' }, /"fs\.read".*1 to 64/],
    ['an empty name', { name: '' }, /""/],
    ['65 characters of name', { name: 'a'.repeat(65) }, /1 to 64/],
    ['a line break after the name', { name: 'read\n' }, /vendors/],
    ['an empty description', { description: '  ' }, /"post" has no description/],
    ['a long description', { description: 'x'.repeat(1_025) }, /1025 characters/],
    ['a timeout of zero', { timeoutMs: 0 }, /timeoutMs is 0/],
    ['an infinite timeout', { timeoutMs: Number.POSITIVE_INFINITY }, /timeoutMs is Infinity/],
    ['a negative cap', { maxCalls: -1 }, /maxCalls is -1/],
    [
      'quick with an effect',
      { effect: 'keyed', quick: true },
      /"post" is quick with effect "keyed"/,
    ],
    ['quick without an effect', { quick: true }, /leave quick out, or say effect: 'read'/],
    ['no probe', { effect: 'reconcilable' }, /"reconcilable" but has no probe/],
    [
      'a probe for nothing',
      { effect: 'keyed', probe: () => Promise.resolve({ type: 'not-applied' }) },
      /only with effect "reconcilable"/,
    ],
    ['a file that is no parameter', { editsFile: 'file' }, /editsFile.*"file".*it has path/],
    ['a label that is no parameter', { label: 'name' }, /label.*"name"/],
  ])('refuses %s, naming thing, value and remedy', (_what, change, message) => {
    const make = (): Tool => define(z.object({ path: z.string() }), change);
    expect(make).toThrow(UserError);
    expect(make).toThrow(message);
  });

  test.each<[string, z.ZodType, RegExp]>([
    ['a string', z.string(), /type "string" at the top level/],
    [
      'a union at the top',
      z.union([z.object({ a: z.string() }), z.object({ b: z.string() })]),
      /"anyOf" at the top level.*wrap the alternatives/,
    ],
    [
      'a discriminated union at the top',
      z.discriminatedUnion('k', [z.object({ k: z.literal('a') }), z.object({ k: z.literal('b') })]),
      /"oneOf" at the top level/,
    ],
    ['a date', z.object({ when: z.date() }), /Date cannot be represented.*convert in execute/],
    ['a map', z.object({ m: z.map(z.string(), z.string()) }), /Map cannot be represented/],
    [
      'a tuple',
      z.object({ pair: z.tuple([z.string(), z.number()]) }),
      /a tuple \(at input\.pair\)/,
    ],
    ['a property name with a blank', z.object({ 'my key': z.string() }), /"my key"/],
  ])('refuses %s as input, naming tool and construct', (_what, input, message) => {
    expect(() => define(input)).toThrow(UserError);
    expect(() => define(input)).toThrow(message);
    expect(() => define(input)).toThrow(/"post"/);
  });

  /** Case t2-toolschema-01, and what public reports name: each is refused by its place, when the tool is defined. */
  test.each<[string, z.ZodType, string]>([
    // triggerdotdev/trigger.dev#4944
    ['a date', z.object({ at: z.date() }), 'z.date() at input.at'],
    [
      'a date in lists',
      z.object({ r: z.object({ at: z.array(z.date()) }) }),
      'z.date() at input.r.at[]',
    ],
    // colinhacks/zod#4508
    [
      'a transform',
      z.object({ t: z.string().or(z.transform(String)) }),
      'z.transform() at input.t',
    ],
    // anthropics/claude-agent-sdk-typescript#454
    [
      'a date in a record',
      z.object({ r: z.record(z.string(), z.date()) }),
      'z.date() at input.r.*',
    ],
    ['a map', z.object({ m: z.map(z.string(), z.number()) }), 'z.map() at input.m'],
    ['a set', z.object({ s: z.set(z.string()).optional() }), 'z.set() at input.s'],
    ['a bigint', z.object({ n: z.bigint().default(1n) }), 'z.bigint() at input.n'],
    ['a class', z.object({ u: z.instanceof(URL) }), 'z.custom() at input.u'],
    ['two of them', z.object({ a: z.date(), b: z.symbol() }), 'z.date() at input.a'],
    ['a lazy date', z.object({ t: z.lazy(() => z.date()) }), 'z.date() at input.t'],
  ])('names the place of %s, and the remedy', (_what, input, place) => {
    expect(() => define(input)).toThrow(UserError);
    expect(() => define(input)).toThrow(place);
    expect(() => define(input)).toThrow(/^Tool "post": .*Use JSON types in the input/);
  });

  test.each<[string, z.ZodType, unknown, unknown]>([
    [
      'a codec of dates',
      z.object({
        at: z.codec(z.iso.datetime(), z.date(), {
          decode: (text) => new Date(text),
          encode: (date) => date.toISOString(),
        }),
      }),
      { at: '2026-01-02T03:04:05Z' },
      { at: 'soon' },
    ],
    ['a record', z.object({ r: z.record(z.string(), z.unknown()) }), { r: { a: 1 } }, { r: [] }],
    [
      'a discriminated union',
      z.object({
        r: z.discriminatedUnion('k', [
          z.object({ k: z.literal('a'), n: z.number() }),
          z.object({ k: z.literal('b') }),
        ]),
      }),
      { r: { k: 'a', n: 1 } },
      { r: { k: 'a' } },
    ],
    ['a transform at the end', z.object({ t: z.string().transform(Number) }), { t: '1' }, { t: 1 }],
    ['coerced numbers', z.object({ n: z.coerce.number() }), { n: 1 }, { n: 'x' }],
  ])('converts %s, and checks by the whole schema', (_what, input, good, bad) => {
    const tool = define(input);
    expect(tool.parse(good).ok).toBe(true);
    expect(tool.parse(bad).ok).toBe(false);
  });

  test('asks a person when the approval rule itself fails', () => {
    const tool = define(z.object({}), {
      approval: () => {
        throw new Error('rule is broken');
      },
    });
    expect(tool.approval).toBe('rule');
    expect(tool.needsApproval({}, approvalContext())).toBe(true);
  });

  test('tells an approval rule where the call comes from, and asks unless it says false', () => {
    const answers: unknown[] = [false, undefined, Promise.resolve(false), true];
    const seen: unknown[] = [];
    const tool = define(z.object({ path: z.string() }), {
      // A rule that is written without types may answer anything.
      approval: (input, context) => {
        seen.push([input, context.agent, context.iteration, context.workspace]);
        return answers.shift() as boolean;
      },
    });
    const context = approvalContext({ agent: 'writer', iteration: 3, workspace: '/work' });
    const ask = (): boolean => tool.needsApproval({ path: 'a' }, context);
    expect([ask(), ask(), ask(), ask()]).toEqual([false, true, true, true]);
    expect(seen[0]).toEqual([{ path: 'a' }, 'writer', 3, '/work']);
  });

  test.each([
    ['a time that nobody can decide in', { expiresAfterMs: 10, onExpiry: 'reject' }, '1000'],
    ['an end without a time', { onExpiry: 'escalate' }, 'needs expiresAfterMs'],
    ['an end that nobody knows', { expiresAfterMs: 5_000, onExpiry: 'approve' }, 'onExpiry'],
    ['a word too many', { expiresAfterMs: 5_000, onExpiry: 'wait', then: 'run' }, 'then'],
    ['no number', { expiresAfterMs: Number.NaN, onExpiry: 'wait' }, 'expiresAfterMs'],
  ])('refuses %s for its approvals', (_what, approvals, message) => {
    const made = (): unknown => define(z.object({}), { approvals: approvals as DecisionPolicy });
    expect(made).toThrow(UserError);
    expect(made).toThrow(message);
  });
});

describe('defineTool: schemas', () => {
  test('converts to a plain closed object without $schema', () => {
    expect(telegram.inputSchema).toEqual({
      type: 'object',
      properties: {
        content: { type: 'string' },
        chat_id: { type: 'string' },
        silent: { type: 'boolean' },
      },
      required: ['content', 'chat_id'],
      additionalProperties: false,
    });
  });

  test('inlines named schemas and drops the safe-integer bounds', () => {
    const place = z.object({ line: z.int() }).meta({ id: 'Place' });
    const { inputSchema } = define(z.object({ from: place, to: place }));
    expect(JSON.stringify(inputSchema)).not.toMatch(/\$ref|\$defs|9007199254740991/);
    expect(inputSchema['properties']).toMatchObject({
      from: { properties: { line: { type: 'integer' } } },
    });
  });

  test('keeps a recursive schema, with its definitions', () => {
    const tree = z.object({
      value: z.string(),
      get children() {
        return z.array(tree);
      },
    });
    const tool = define(z.object({ tree }));
    expect(tool.parse({ tree: { value: 'a', children: [{ value: 'b', children: [] }] } }).ok).toBe(
      true,
    );
    expect(problemsOf(tool, { tree: { value: 'a', children: [{ children: [] }] } })).toEqual([
      'Missing required parameter: tree.children[0].value',
    ]);
  });

  test('lets a default be missing', () => {
    const tool = define(z.object({ depth: z.number().default(3) }));
    expect(tool.parse({})).toEqual({ ok: true, value: { depth: 3 } });
  });
});

describe('defineTool: problems in words', () => {
  test('names a missing parameter and all required ones (R-TOOL-4)', () => {
    expect(telegram.parse({ content: 'hello' })).toEqual({
      ok: false,
      problems: ['Missing required parameter: chat_id'],
      hint: "Required parameters: ['content', 'chat_id']. Optional parameters: ['silent']",
    });
  });

  test('says of a tool without parameters how it is called', () => {
    expect(define(z.strictObject({})).parse({ name: '.' })).toEqual({
      ok: false,
      problems: ['Unknown parameter: name; known are none'],
      hint: 'The tool takes no parameters: call it with {}.',
    });
  });

  test('names the nearest known parameter for an unknown one', () => {
    expect(problemsOf(telegram, { content: 'hello', chatId: '1' })).toEqual([
      'Missing required parameter: chat_id',
      'Unknown parameter: chatId; the nearest known one is chat_id',
    ]);
  });

  test('refuses an unknown parameter even if nothing is missing: dropping it would change the action', () => {
    const tool = define(
      z.object({ path: z.string(), options: z.object({ n: z.number() }).optional() }),
    );
    expect(problemsOf(tool, { path: 'a', dry_run: true })).toEqual([
      'Unknown parameter: dry_run; known are path, options',
    ]);
    expect(problemsOf(tool, { path: 'a', options: { n: 1, dry_run: true } })).toEqual([
      'Unknown parameter: options.dry_run; known are n',
    ]);
  });

  const search = define(
    z.object({
      store: z.enum(['config', 'secrets']),
      limit: z.int().min(1).max(50),
      tags: z.array(z.object({ name: z.string() })).optional(),
      where: z.union([z.string(), z.array(z.string())]).optional(),
      target: z
        .discriminatedUnion('kind', [
          z.object({ kind: z.literal('file'), path: z.string() }),
          z.object({ kind: z.literal('url'), url: z.url() }),
        ])
        .optional(),
    }),
  );
  const good = { store: 'config', limit: 3 };

  test.each<[string, unknown, string]>([
    [
      'a wrong type',
      { ...good, limit: 'five' },
      'Parameter limit: expected integer, received string "five"',
    ],
    [
      'a value outside the list',
      { ...good, store: 'conf' },
      'Parameter store: expected one of "config", "secrets", received string "conf"; nearest is "config"',
    ],
    ['a range', { ...good, limit: 0 }, 'Parameter limit: Too small: expected number to be >=1'],
    [
      'a path inside a list',
      { ...good, tags: [{ name: 'a' }, {}] },
      'Missing required parameter: tags[1].name',
    ],
    [
      'a union',
      { ...good, where: 5 },
      'Parameter where: expected string or array, received integer 5',
    ],
    [
      'the alternative that was meant',
      { ...good, target: { kind: 'file' } },
      'Missing required parameter: target.path',
    ],
    ['a list in place of the input', [], 'The input must be a JSON object, received array'],
    [
      'nothing in place of the input',
      undefined,
      'The input must be a JSON object, received undefined',
    ],
  ])('tells %s', (_what, input, expected) => {
    expect(problemsOf(search, input)).toEqual([expected]);
  });

  test('bounds what it shows', () => {
    const problems = problemsOf(search, {
      ...good,
      store: 'x'.repeat(100_000),
      ...Object.fromEntries(Array.from({ length: 500 }, (_, index) => [`extra_${index}`, 1])),
    });
    expect(problems.length).toBe(11);
    expect(problems.join('\n').length).toBeLessThan(3_000);
    expect(problems.at(-1)).toMatch(/and \d+ more/);
  });

  test('accepts what the validator coerces', () => {
    const tool = define(z.object({ n: z.coerce.number() }));
    expect(tool.parse({ n: '5' })).toEqual({ ok: true, value: { n: 5 } });
  });

  test('does not take __proto__ or constructor for known parameters', () => {
    expect(
      problemsOf(telegram, JSON.parse('{"__proto__": {"content": "x"}, "constructor": 1}')),
    ).toEqual(expect.arrayContaining(['Missing required parameter: content']));
  });

  test('any JSON gives a value or at least one problem, never a throw', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (input) => {
        const parsed = search.parse(input);
        expect(parsed.ok || parsed.problems.length > 0).toBe(true);
      }),
    );
  });
});

describe('privileged parameters', () => {
  const marked = { privileged: true };
  const inside = { type: 'object', properties: { admin: marked } };
  const tree = {
    type: 'object',
    properties: { admin: marked, children: { items: { $ref: '#/$defs/tree' } } },
  };
  test.each<[string, JsonObject, JsonObject, readonly string[]]>([
    ['by name', inside, { admin: true, other: 1 }, ['admin']],
    ['only if used', inside, { other: 1 }, []],
    [
      'inside an object and a list',
      { properties: { a: { items: inside } } },
      { a: [{}, { admin: 0 }] },
      ['a[1].admin'],
    ],
    [
      'by a reference',
      { properties: { a: { $ref: '#/$defs/x' } }, $defs: { x: inside } },
      { a: { admin: 1 } },
      ['a.admin'],
    ],
    [
      'in a recursive schema',
      { ...tree, $defs: { tree } },
      { children: [{ children: [{ admin: 1 }] }] },
      ['children[0].children[0].admin'],
    ],
    [
      'in an alternative that is not the one that fits',
      { anyOf: [{ type: 'object' }, inside] },
      { admin: 1 },
      ['admin'],
    ],
    [
      'in a negation and a condition',
      { not: inside, if: {}, else: { properties: { b: marked } } },
      { admin: 1, b: 2 },
      ['admin', 'b'],
    ],
    [
      'by a pattern',
      { patternProperties: { '^x-': marked } },
      { 'x-owner': 'me', y: 1 },
      ['x-owner'],
    ],
    [
      'as any other property',
      { properties: { a: {} }, additionalProperties: marked },
      { a: 1, b: 2 },
      ['b'],
    ],
    [
      'in a tuple',
      { properties: { t: { prefixItems: [{}, marked], items: {} } } },
      { t: [1, 2, 3] },
      ['t[1]'],
    ],
    [
      'in a tuple of an older dialect',
      { properties: { t: { items: [{}, marked] } } },
      { t: [1, 2] },
      ['t[1]'],
    ],
    [
      'whatever else is wrong with the input',
      { ...inside, required: ['path'], additionalProperties: false },
      { admin: 1, b: 2 },
      ['admin'],
    ],
    [
      'named like keywords',
      { properties: { not: { properties: { properties: marked } } } },
      { not: { properties: 1 } },
      ['not.properties'],
    ],
    [
      'wholly, if the schema cannot be compiled',
      { ...inside, patternProperties: { '(': {} } },
      { other: 1 },
      ['input'],
    ],
  ])('are found %s', (_what, schema, input, paths) => {
    const found = privilegedFinder(schema)(input);
    expect(found.map(({ path }) => path).sort()).toEqual(paths);
  });
});

test('a schema of zod 3 is refused with what is needed instead', () => {
  const define = (): unknown =>
    defineTool({
      name: 'old',
      description: 'Is old.',
      input: oldZod.object({ a: oldZod.string() }) as unknown as z.ZodType,
      execute: () => 'done',
    });
  expect(define).toThrow(/zod 4/);
});
