/** The form of a run's output: each vendor enforces what it can of the schema, and what it cannot is still checked by ours. */
import { Ajv } from 'ajv';
import { z } from 'zod';
import { createAgentCatalog } from '../../activities/definitions/agent-catalog';
import { defineAgent } from '../../activities/definitions/define-agent';
import { chatDialects } from '../../activities/providers/openai/chat-dialect';
import { chatRequest } from '../../activities/providers/openai/chat-request';
import type { ToolSpec } from '../../activities/providers/provider';
import {
  anthropicStrict,
  openAiStrict,
  withoutFilledNulls,
} from '../../activities/providers/request/strict-schema';
import { inputSchemaFromZod } from '../../activities/tools/input-schema';
import { VendorEmulator } from '../../testing/emulator/emulator';
import { fault, reply } from '../../testing/emulator/script';
import { anthropicStrictProblem, openAiStrictProblem } from '../../testing/emulator/strict-schemas';
import { scriptedProvider } from '../../testing/scripted-provider';
import type { JsonObject, JsonValue } from '../../workflows/core/json';
import { failureOf, providerOn, requestFor, sendOptions, wires } from './support/provider-bench';

const jsonOf = (schema: z.ZodType): JsonObject => inputSchemaFromZod('t', schema);

const address = z.object({ city: z.string().min(1), zip: z.string().optional() });

/** Schemas that a closed form can carry, each with values that fit it, as a model under the form would write them. */
const closable: readonly (readonly [string, z.ZodType, readonly JsonObject[]])[] = [
  [
    'plain fields',
    z.object({ a: z.string(), n: z.number().int().min(1).max(9) }),
    [{ a: '', n: 3 }],
  ],
  [
    'what may be absent',
    z.object({
      a: z.string().optional(),
      b: z.number().default(3),
      c: z.array(address).optional(),
    }),
    [
      { a: null, b: null, c: null },
      { a: 'x', b: 1, c: [{ city: 'Bonn', zip: null }] },
    ],
  ],
  [
    'what may be null',
    z.object({
      a: z.string().nullable(),
      b: z.string().nullable().optional(),
      c: address.nullable(),
    }),
    [
      { a: null, b: null, c: null },
      { a: 'x', b: 'y', c: { city: 'Bonn', zip: null } },
    ],
  ],
  [
    'lists, enums, literals and formats',
    z.object({
      tags: z.array(z.enum(['a', 'b'])).min(1),
      kind: z.literal('order'),
      mail: z.email(),
      at: z.iso.datetime(),
      name: z
        .string()
        .min(2)
        .max(40)
        .regex(/^[a-z]+$/),
    }),
    [{ tags: ['a'], kind: 'order', mail: 'a@b.example', at: '2026-01-01T00:00:00Z', name: 'abc' }],
  ],
  [
    'unions of objects',
    z.object({
      result: z.discriminatedUnion('type', [
        z.object({ type: z.literal('ok'), value: z.number() }),
        z.object({ type: z.literal('failed'), why: z.string() }),
      ]),
    }),
    [{ result: { type: 'ok', value: 1 } }, { result: { type: 'failed', why: 'x' } }],
  ],
  [
    'a schema that is used twice',
    z.object({ from: address, to: address }),
    [{ from: { city: 'A', zip: null }, to: { city: 'B', zip: '1' } }],
  ],
];

describe.each(closable)('%s', (_name, schema, values) => {
  const whole = jsonOf(schema);
  const openAi = openAiStrict(whole).strict;
  const anthropic = anthropicStrict(whole).strict;

  test('becomes a form that each vendor enforces', () => {
    expect(openAi).toBeDefined();
    expect(anthropic).toBeDefined();
    expect(openAiStrictProblem(openAi ?? {})).toBeUndefined();
    expect(anthropicStrictProblem(anthropic ?? {})).toBeUndefined();
  });

  test('allows what the whole schema allows, and what is written under it fits the whole one', () => {
    const ajv = new Ajv({ strict: false, validateFormats: false });
    for (const value of values) {
      expect(ajv.validate(openAi ?? false, value)).toBe(true);
      const read = withoutFilledNulls(value, whole);
      expect(schema.safeParse(read)).toMatchObject({ success: true });
      expect(ajv.validate(anthropic ?? false, read)).toBe(true);
    }
  });
});

type Tree = { readonly name: string; readonly children: readonly Tree[] };
const tree: z.ZodType<Tree> = z.object({
  name: z.string(),
  get children() {
    return z.array(tree);
  },
});

test.each([
  ['a record', z.object({ counts: z.record(z.string(), z.number()) })],
  ['an open object', z.looseObject({ a: z.string() })],
  ['any value', z.object({ data: z.unknown() })],
  ['any value in a list', z.object({ data: z.array(z.any()) })],
  ['a recursive schema', z.object({ root: tree })],
])('%s is not enforced, since a closed form would rule out what it allows', (_name, schema) => {
  expect(openAiStrict(jsonOf(schema))).toEqual({});
  expect(anthropicStrict(jsonOf(schema))).toEqual({});
});

test('only the nulls that stand for absent properties are taken out', () => {
  const schema = jsonOf(
    z.object({
      must: z.string(),
      may: z.string().optional(),
      mayBeNull: z.string().nullable().optional(),
      list: z.array(z.object({ x: z.number().optional() })),
    }),
  );
  const value: JsonValue = {
    must: null,
    may: null,
    mayBeNull: null,
    unknown: null,
    list: [{ x: null }, { x: 1 }, null],
  };
  expect(withoutFilledNulls(value, schema)).toEqual({
    must: null,
    mayBeNull: null,
    unknown: null,
    list: [{}, { x: 1 }, null],
  });
});

/** Output schemas that no text answer can have: refused when the worker starts. */
test.each([
  ['a list', z.array(z.string())],
  ['a text', z.string()],
  ['a union at the top', z.union([z.object({ a: z.string() }), z.object({ b: z.string() })])],
  ['what JSON cannot say', z.object({ at: z.date() })],
])('refuses %s as the form of a text answer, with what to do', (_name, output) => {
  const agent = defineAgent({
    name: 'a',
    instructions: 'x',
    chain: [{ provider: 'scripted', model: 'm', windowTokens: 50_000 }],
    tools: [],
    output,
  });
  expect(() => createAgentCatalog([agent], [scriptedProvider('scripted', [])])).toThrow(
    /^Agent "a": its output schema cannot be the form of a text answer; give z\.object.*or set completion: "tool"/,
  );
});

const report = z.object({ title: z.string().min(1), score: z.number().min(0).max(10).optional() });
const output = { name: 'answer', schema: jsonOf(report) };
const completeTask: ToolSpec = {
  name: 'complete_task',
  description: 'Ends the task.',
  inputSchema: jsonOf(z.object({ summary: z.string(), result: report })),
  strict: true,
};

describe('on the wire', () => {
  let emulator: VendorEmulator;
  beforeAll(async () => {
    emulator = await VendorEmulator.start();
  });
  afterAll(() => emulator.stop());
  beforeEach(() => {
    emulator.clearScripts();
  });

  test.each(wires)(
    '%s asks for the form of the text, and of the tool, and is not refused',
    async (wire) => {
      emulator.script([reply.text('{"title":"x","score":null}')]);
      const request = requestFor(wire, {
        output,
        tools: [completeTask, ...requestFor(wire).tools],
      });
      await providerOn(emulator, wire).send(request, sendOptions());
      const body = JSON.stringify(emulator.requests.at(-1)?.body);
      expect(emulator.refusals).toEqual([]);
      expect(body).toContain('"type":"json_schema"');
      expect(body.match(/"strict":true/g)).toHaveLength(wire === 'anthropic' ? 1 : 2);
      expect(body).toContain('"additionalProperties":false');
    },
  );

  test.each(wires)('%s: a refused form says so, once', async (wire) => {
    const provider = providerOn(emulator, wire);
    const words = 'This model does not do that.';
    emulator.script([
      fault.http(400, { error: { message: words } }),
      fault.http(400, { error: { message: words } }),
    ]);
    const asked = provider.send(requestFor(wire, { output }), sendOptions());
    expect(await failureOf(asked)).toMatchObject({ code: 'format', structure: 'refused' });
    const plain = provider.send(requestFor(wire), sendOptions());
    expect(await failureOf(plain)).not.toHaveProperty('structure');
  });

  test('no other failure is blamed on the form', async () => {
    emulator.script([fault.http(429, { error: { message: 'Slow down.' } })]);
    const asked = providerOn(emulator, 'chat').send(requestFor('chat', { output }), sendOptions());
    const failure = await failureOf(asked);
    expect(failure).toMatchObject({ code: 'rate_limit' });
    expect(failure).not.toHaveProperty('structure');
  });
});

test('a server that is not known to enforce forms is asked for none', () => {
  const request = requestFor('chat', { output, tools: [completeTask] });
  const body = JSON.stringify(chatRequest(request, 'vllm', chatDialects.vllm));
  expect(body).not.toMatch(
    /json_schema|strict|additionalProperties":false,"required":\["title","score/,
  );
});
