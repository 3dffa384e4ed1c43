/** Tools of the Vercel AI SDK, made by its own packages, as tools of Holdfast. */
import type { JSONSchema7 } from 'ai';
import { jsonSchema as jsonSchema5, tool as tool5, zodSchema as zodSchema5 } from 'ai5';
import { dynamicTool, jsonSchema, tool, zodSchema } from 'ai';
import { z } from 'zod';
import { z as oldZod } from 'zod/v3';
import { fromAiSdk } from '../../../activities/tools/existing-code/ai-sdk';
import type { AiSdkToolSettings } from '../../../activities/tools/existing-code/ai-sdk';
import type { Tool, ToolContext } from '../../../activities/tools/tool';
import { UserError } from '../../../activities/lifecycle/user-error';
import { approvalContext, toolContext, toolErrorOf } from '../tool-context';

const city = z.object({ city: z.string().describe('Its name.'), days: z.number().default(1) });
const cityJson = {
  type: 'object',
  properties: { city: { type: 'string', minLength: 2 } },
  required: ['city'],
  additionalProperties: false,
} satisfies JSONSchema7;

/** The one tool. */
function take(given: object, settings: AiSdkToolSettings = {}): Tool {
  const [made] = fromAiSdk({ weather: given }, { weather: settings });
  if (made === undefined) throw new Error('no tool');
  return made;
}

function run(made: Tool, input: object, context: Partial<ToolContext> = {}): Promise<unknown> {
  const parsed = made.parse(input);
  if (!parsed.ok) throw new Error(parsed.problems.join('; '));
  return Promise.resolve(made.execute(parsed.value, toolContext(context)));
}

const description = 'Tells the weather.';

// For what both have, the types of one version do.
const fifth = { tool: tool5, jsonSchema: jsonSchema5, zodSchema: zodSchema5 } as unknown;
const sixth = { tool, jsonSchema, zodSchema };

describe.each([
  ['5', fifth as typeof sixth],
  ['6', sixth],
])('of version %s', (_version, { tool: make, jsonSchema: json, zodSchema: zodOf }) => {
  test('a zod schema describes, checks and fills in the input', async () => {
    const made = take(make({ description, inputSchema: city, execute: (input) => input }));
    expect(made).toMatchObject({ name: 'weather', description, effect: 'irreversible' });
    expect(made.inputSchema).toMatchObject({ properties: { city: { description: 'Its name.' } } });
    expect(await run(made, { city: 'Bern' })).toEqual({ city: 'Bern', days: 1 });
    expect(made.parse({ town: 'Bern' })).toMatchObject({ ok: false });
  });

  test('jsonSchema() describes and checks the input, and its validate has the last word', async () => {
    const execute = (input: unknown): unknown => input;
    const made = take(make({ description, inputSchema: json(cityJson), execute }));
    expect(made.inputSchema).toEqual(cityJson);
    expect(await run(made, { city: 'Bern' })).toEqual({ city: 'Bern' });
    expect(made.parse({ city: 'B' })).toMatchObject({ ok: false });
    expect(made.parse({ city: 'Bern', force: true })).toMatchObject({ ok: false });
    const validate = (value: unknown) =>
      (value as { city: string }).city === 'Bern'
        ? { success: true as const, value: { place: 'Bern' } }
        : { success: false as const, error: new Error('only Bern') };
    const strict = take(make({ description, inputSchema: json(cityJson, { validate }), execute }));
    expect(await run(strict, { city: 'Bern' })).toEqual({ place: 'Bern' });
    const refused = await toolErrorOf(run(strict, { city: 'Chur' }));
    expect(refused).toMatchObject({ code: 'invalid_params', message: 'weather: only Bern' });
  });

  test('a schema of zod 3 works in zodSchema(), whose checks are asked', async () => {
    const inputSchema = zodOf(oldZod.object({ city: oldZod.string().max(4) }));
    const made = take(make({ description, inputSchema, execute: ({ city: name }) => name }));
    expect(await run(made, { city: 'Bern' })).toBe('Bern');
    const parsed = made.parse({ city: 'Zurich' });
    expect(parsed.ok ? '' : parsed.problems.join()).toContain('city');
  });

  test('execute gets the call, the signal and the context', async () => {
    const seen: unknown[] = [];
    const execute = (_input: unknown, options: object): string => {
      seen.push(options);
      return 'ok';
    };
    const context = z.object({ customer: z.string() });
    const made = take(make({ description, inputSchema: city, execute }), { context });
    const { signal } = new AbortController();
    await run(made, { city: 'Bern' }, { signal, context: { customer: 'ada', more: 1 } });
    expect(seen).toEqual([
      {
        toolCallId: 'run_1_0',
        messages: [],
        abortSignal: signal,
        experimental_context: { customer: 'ada' },
        context: { customer: 'ada' },
      },
    ]);
    expect(made.contextProblem?.({})).toContain('customer');
  });

  test('of a stream of outputs the last counts', async () => {
    const execute = async function* (): AsyncGenerator<string> {
      yield 'looking';
      await Promise.resolve();
      yield 'sunny';
    };
    expect(
      await run(take(make({ description, inputSchema: city, execute })), { city: 'Bern' }),
    ).toBe('sunny');
  });
});

describe('toModelOutput', () => {
  const execute = () => ({ celsius: 21 });

  test('is called as its version calls it', async () => {
    const five = tool5({
      description,
      inputSchema: city,
      execute,
      toModelOutput: ({ celsius }) => ({ type: 'text', value: `${celsius} degrees` }),
    });
    expect(await run(take(five, { sdk: 5 }), { city: 'Bern' })).toBe('21 degrees');
    const six = tool({
      description,
      inputSchema: city,
      execute,
      toModelOutput: ({ toolCallId, input, output }) => ({
        type: 'json',
        value: { toolCallId, city: input.city, celsius: output.celsius },
      }),
    });
    const said = await run(take(six, { sdk: 6 }), { city: 'Bern' });
    expect(said).toEqual({ toolCallId: 'run_1_0', city: 'Bern', celsius: 21 });
  });

  test('gives texts, images and files', async () => {
    const data = Buffer.from('pixels').toString('base64');
    const texts = {
      type: 'content',
      value: [
        { type: 'text', text: 'a' },
        { type: 'text', text: 'b' },
      ],
    };
    const mixed = {
      type: 'content',
      value: [
        { type: 'text', text: 'a map' },
        { type: 'image-data', data, mediaType: 'image/png' },
        {
          type: 'file',
          data: { type: 'data', data },
          mediaType: 'application/pdf',
          filename: 'm.pdf',
        },
      ],
    };
    const giving = (answer: object): Tool =>
      take({ description, inputSchema: city, execute, toModelOutput: () => answer }, { sdk: 6 });
    expect(await run(giving(texts), { city: 'Bern' })).toBe('a\nb');
    expect(await run(giving(mixed), { city: 'Bern' })).toEqual([
      { type: 'text', text: 'a map' },
      { type: 'image', data: Buffer.from('pixels'), mediaType: 'image/png' },
      { type: 'file', data: Buffer.from('pixels'), mediaType: 'application/pdf', name: 'm.pdf' },
    ]);
  });

  test.each([
    [{ type: 'error-text', value: 'no service' }, 'tool_execution_failed', 'no service'],
    [{ type: 'error-json', value: { no: 1 } }, 'tool_execution_failed', '{"no":1}'],
    [{ type: 'execution-denied', reason: 'not you' }, 'tool_denied', 'not you'],
  ])('%j is an error', async (answer, code, message) => {
    const made = take(
      { description, inputSchema: city, execute, toModelOutput: () => answer },
      { sdk: 7 },
    );
    expect(await toolErrorOf(run(made, { city: 'Bern' }))).toMatchObject({ code, message });
  });
});

test('needsApproval asks a person; the settings have the last word', () => {
  const given = { description, inputSchema: city, execute: () => 'ok' };
  expect(take(tool({ ...given, needsApproval: true })).approval).toBe('always');
  expect(take(tool({ ...given, needsApproval: true }), { approval: 'never' }).approval).toBe(
    'never',
  );
  const ruled = take(tool({ ...given, needsApproval: ({ days }) => days > 2 }));
  expect(ruled.needsApproval({ city: 'Bern', days: 1 }, approvalContext())).toBe(false);
  expect(ruled.needsApproval({ city: 'Bern', days: 3 }, approvalContext())).toBe(true);
  // A promise cannot be awaited there, so it asks.
  const later = take(tool({ ...given, needsApproval: () => Promise.resolve(false) }));
  expect(later.needsApproval({ city: 'Bern', days: 1 }, approvalContext())).toBe(true);
});

test('takes a set as the AI SDK has it, with what the runtime must know of each', () => {
  const made = fromAiSdk(
    {
      weather: tool({ description, inputSchema: city, execute: () => 'sunny' }),
      pay: dynamicTool({
        inputSchema: jsonSchema(cityJson),
        execute: () => Promise.resolve('paid'),
      }),
    },
    {
      weather: { effect: 'read', quick: true },
      pay: { description: 'Pays.', approval: 'always', label: 'city', maxCalls: 1 },
    },
  );
  const names: readonly ('weather' | 'pay')[] = made.map(({ name }) => name);
  expect(names).toEqual(['weather', 'pay']);
  expect(made[0]).toMatchObject({ effect: 'read', quick: true });
  expect(made[1]).toMatchObject({ description: 'Pays.', approval: 'always', label: 'city' });
  expect(() => fromAiSdk([{}] as never)).toThrow(/got an array; give an object/);
  // @ts-expect-error no tool of this name
  expect(() => fromAiSdk({ weather: {} }, { wether: {} })).toThrow(/for "wether".*it has weather/);
});

const good = { description, inputSchema: city, execute: () => 'ok' };

test.each<[string, object, AiSdkToolSettings, RegExp]>([
  ['no description', { ...good, description: undefined }, {}, /has no description; give one/],
  ['a made description', { ...good, description: () => 'x' }, {}, /that is not a text; give one/],
  ['no execute', { ...good, execute: undefined }, {}, /has no execute.*leave it out/],
  [
    'a tool of a vendor',
    { ...good, type: 'provider' },
    {},
    /has the type "provider".*Leave it out/,
  ],
  ['a tool of a vendor of version 5', { ...good, type: 'provider-defined' }, {}, /Leave it out/],
  [
    'a schema of zod 3',
    { ...good, inputSchema: oldZod.object({}) },
    {},
    /neither a schema of zod 4/,
  ],
  ['no schema', { ...good, inputSchema: undefined }, {}, /neither a schema of zod 4/],
  [
    'a schema that comes later',
    { ...good, inputSchema: jsonSchema(Promise.resolve(cityJson)) },
    {},
    /is not there yet, or none; give it as an object/,
  ],
  ['an unknown version', { ...good, toModelOutput: () => ({}) }, {}, /say which in its settings/],
  [
    'another context',
    { ...good, contextSchema: {} },
    {},
    /contextSchema that is no schema of zod 4/,
  ],
  ['an unknown setting', good, { effects: 'read' } as AiSdkToolSettings, /effects/],
  ['a setting that is wrong', good, { effect: 'reconcilable' }, /has no probe; add/],
  ['a label that is no parameter', good, { label: 'town' }, /label.*"town".*it has city, days/],
])('refuses %s', (_what, given, settings, message) => {
  expect(() => take(given, settings)).toThrow(UserError);
  expect(() => take(given, settings)).toThrow(message);
  expect(() => take(given, settings)).toThrow(/"weather"/);
});
