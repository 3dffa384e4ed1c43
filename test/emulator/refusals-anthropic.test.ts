/** Each rule of the Messages wire accepts what the vendor accepts and refuses what it refuses, through the real SDK. */
import Anthropic from '@anthropic-ai/sdk';
import { VendorEmulator } from '../../testing/emulator/emulator';
import { reply } from '../../testing/emulator/script';
import type { JsonObject, JsonValue } from '../../workflows/core/json';

let emulator: VendorEmulator;

beforeAll(async () => {
  emulator = await VendorEmulator.start({ windows: { small: 60 } });
  emulator.script(() => reply.text('ok'));
});

afterAll(async () => {
  await emulator.stop();
});

async function post(
  body: JsonObject,
  headers: Record<string, string | null> = {},
): Promise<string> {
  const client = new Anthropic({ apiKey: 'k', baseURL: emulator.url, maxRetries: 0 });
  try {
    await client.post('/v1/messages', { body: { stream: true, ...body }, headers });
    return 'accepted';
  } catch (error) {
    if (error instanceof Anthropic.APIError) return `${error.status ?? ''} ${error.message}`;
    throw error;
  }
}

const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=';
const user = { role: 'user', content: 'hello' };
const text = (value: string): JsonObject => ({ type: 'text', text: value });
const use = (id: string, more: JsonObject = {}): JsonObject => ({
  type: 'tool_use',
  id,
  name: 'run',
  input: {},
  ...more,
});
const result = (id: string, more: JsonObject = {}): JsonObject => ({
  type: 'tool_result',
  tool_use_id: id,
  content: 'done',
  ...more,
});
const assistant = (...content: JsonValue[]): JsonObject => ({ role: 'assistant', content });
const answer = (...content: JsonValue[]): JsonObject => ({ role: 'user', content });
const pagesOf = (pages: number): string =>
  Buffer.from(`%PDF-1.4\n${'<< /Type /Page >>\n'.repeat(pages)}%%EOF`).toString('base64');
const onePage = pagesOf(1);
const pdf = (data: string, mediaType = 'application/pdf'): JsonObject => ({
  type: 'document',
  source: { type: 'base64', media_type: mediaType, data },
});
const image = (data: string, mediaType = 'image/png'): JsonObject => ({
  type: 'image',
  source: { type: 'base64', media_type: mediaType, data },
});
const tool = (name: string, schema: JsonObject = { type: 'object' }): JsonObject => ({
  name,
  input_schema: schema,
});
const base = { model: 'claude-x', max_tokens: 100, messages: [user] };
const talk = (...messages: JsonValue[]): JsonObject => ({
  ...base,
  messages: [user, ...messages],
  tools: [tool('run')],
});
const cached = { cache_control: { type: 'ephemeral' } };

const accepted: readonly (readonly [string, JsonObject])[] = [
  ['a plain message', base],
  ['a call with its result', talk(assistant(text('I run'), use('a')), answer(result('a')))],
  ['text after results', talk(assistant(use('a')), answer(result('a'), text('and?')))],
  [
    'parallel calls in another order',
    talk(assistant(use('a'), use('b')), answer(result('b'), result('a'))),
  ],
  ['neighboring user messages', talk(user)],
  ['an empty tool result', talk(assistant(use('a')), answer(result('a', { content: '' })))],
  ['an image', talk(answer(image(png), text('what?')))],
  ['a PDF', talk(answer(pdf(onePage), text('what?')))],
  [
    'four breakpoints',
    talk(answer(...Array.from({ length: 4 }, () => ({ ...text('x'), ...cached })))),
  ],
  ['tools', { ...base, tools: [tool('a'), tool('b')], tool_choice: { type: 'tool', name: 'a' } }],
  ['system blocks', { ...base, system: [text('Be brief.')] }],
  ['a whole emoji', talk(answer(text('😀')))],
  ['adaptive thinking', { ...base, thinking: { type: 'adaptive' } }],
];

const refused: readonly (readonly [string, JsonObject, string])[] = [
  ['no max_tokens', { model: 'm', messages: [user] }, 'max_tokens: Field required'],
  ['max_tokens 0', { ...base, max_tokens: 0 }, 'greater than or equal to 1'],
  ['no messages', { ...base, messages: [] }, 'at least one message is required'],
  ['an unknown field', { ...base, foo: 1 }, 'foo: Extra inputs are not permitted'],
  ['temperature', { ...base, temperature: 1 }, 'temperature: Extra inputs are not permitted'],
  [
    'an unknown role',
    talk({ role: 'tool', content: 'x' }),
    "messages.1.role: Input should be 'user'",
  ],
  ['a system role', talk({ role: 'system', content: 'x' }), "role 'system' is not supported"],
  [
    'the model first',
    { ...base, messages: [assistant(text('x')), user] },
    'must use the "user" role',
  ],
  ['the model last', talk(assistant(text('x'))), 'does not support assistant message prefill'],
  [
    'empty content',
    talk(assistant(), user),
    'messages.1: all messages must have non-empty content',
  ],
  ['an empty string', { ...base, messages: [{ role: 'user', content: '' }] }, 'non-empty content'],
  ['an empty text', talk(answer(text(''))), 'text content blocks must be non-empty'],
  ['white space only', talk(answer(text(' \n'))), 'must contain non-whitespace text'],
  ['an empty system text', { ...base, system: [text('')] }, 'system: text content blocks'],
  [
    'an unanswered call',
    talk(assistant(use('a'), use('b')), answer(result('a'))),
    'messages.1: `tool_use` ids were found without `tool_result` blocks immediately after: b.',
  ],
  [
    'calls without tools',
    { ...talk(assistant(use('a')), answer(result('a'))), tools: [] },
    'Requests which include `tool_use` or `tool_result` blocks must define tools.',
  ],
  [
    'text before results',
    talk(assistant(use('a')), answer(text('so'), result('a'))),
    'without `tool_result` blocks immediately after: a',
  ],
  [
    'a result that comes too late',
    talk(assistant(use('a')), user, answer(result('a'))),
    'immediately after: a',
  ],
  [
    'an orphaned result',
    talk(answer(result('a'))),
    'messages.1.content.0: unexpected `tool_use_id` found in `tool_result` blocks: a.',
  ],
  [
    'two results of one call',
    talk(assistant(use('a')), answer(result('a'), result('a'))),
    'each tool_use must have a single result',
  ],
  [
    'one id twice',
    talk(assistant(use('a')), answer(result('a')), assistant(use('a')), answer(result('a'))),
    '`tool_use` ids must be unique',
  ],
  [
    'an id with a space',
    talk(assistant(use('a b')), answer(result('a b'))),
    "tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'",
  ],
  [
    'a called name that no tool may have',
    talk(assistant(use('a', { name: 'a.b' })), answer(result('a'))),
    'tool_use.name: String should match pattern',
  ],
  [
    'input that is no object',
    talk(assistant(use('a', { input: '{}' })), answer(result('a'))),
    'tool_use.input: Input should be a valid dictionary',
  ],
  [
    'a failed result that says nothing',
    talk(assistant(use('a')), answer(result('a', { is_error: true, content: '' }))),
    'content cannot be empty if `is_error` is true',
  ],
  ['a leaked field', talk(answer({ ...text('x'), index: 0 })), 'text.index: Extra inputs'],
  ['a call by the user', talk(answer(use('a'))), 'can only be in `assistant` messages'],
  [
    'foreign thinking',
    talk(assistant({ type: 'thinking', thinking: 'hm', signature: 'x' }, text('y')), user),
    'messages.1.content.0: Invalid `signature` in `thinking` block',
  ],
  [
    'thinking asked for in a turn that began without',
    {
      ...talk(assistant(use('a')), answer(result('a'))),
      max_tokens: 3000,
      thinking: { type: 'enabled', budget_tokens: 1024 },
    },
    'messages.1.content.0.type: Expected `thinking` or `redacted_thinking`, but found `tool_use`',
  ],
  [
    'a thinking budget over max_tokens',
    { ...base, thinking: { type: 'enabled', budget_tokens: 1024 } },
    '`max_tokens` must be greater than `thinking.budget_tokens`',
  ],
  [
    'a fixed budget on a model that adapts',
    { ...base, model: 'claude-opus-4-7', thinking: { type: 'enabled', budget_tokens: 1024 } },
    'is not supported for this model',
  ],
  [
    'an image of no image type',
    talk(answer(image(png, 'image/bmp'))),
    'media_type: Input should be',
  ],
  [
    'an image of another type',
    talk(answer(image(png, 'image/gif'))),
    'does not match the provided',
  ],
  ['an image that is none', talk(answer(image('aGVsbG8='))), 'Could not process image'],
  ['broken base64', talk(answer(image('abc'))), 'Invalid base64 data'],
  ['an image over 5 MB', talk(answer(image('A'.repeat(5_242_884)))), 'image exceeds 5 MB maximum'],
  [
    'over 100 images',
    talk(answer(...Array.from({ length: 101 }, () => image(png)))),
    'Too many images and documents: 101 + 0 > 100',
  ],
  ['a PDF that is none', talk(answer(pdf('aGVsbG8='))), 'The PDF specified was not valid'],
  ['a document of another type', talk(answer(pdf(onePage, 'text/plain'))), 'media_type: Input'],
  ['over 100 pages', talk(answer(pdf(pagesOf(101)))), 'A maximum of 100 PDF pages'],
  [
    'five breakpoints',
    talk(answer(...Array.from({ length: 5 }, () => ({ ...text('x'), ...cached })))),
    'A maximum of 4 blocks with cache_control may be provided. Found 5.',
  ],
  [
    'a tool name with a dot',
    { ...base, tools: [tool('a.b')] },
    'tools.0.custom.name: String should match',
  ],
  ['one tool name twice', { ...base, tools: [tool('a'), tool('a')] }, 'Tool names must be unique.'],
  [
    'a schema of no object',
    { ...base, tools: [tool('a', { type: 'string' })] },
    "Input should be 'object'",
  ],
  [
    'a union schema',
    { ...base, tools: [tool('a', { type: 'object', anyOf: [] })] },
    'at the top level',
  ],
  [
    'a choice of no tool',
    { ...base, tool_choice: { type: 'tool', name: 'z' } },
    "Tool 'z' not found",
  ],
  [
    'half an emoji',
    talk(answer(text('build ok \ud83d'))),
    'not valid JSON: no low surrogate in string: line 1',
  ],
  [
    'a prompt over the window',
    { ...base, model: 'small', system: 'word '.repeat(80) },
    'prompt is too long:',
  ],
  [
    'an output limit over the window',
    { ...base, model: 'small' },
    '+ 100 > 60, decrease input length',
  ],
];

test.each(accepted)('accepts %s', async (_name, body) => {
  expect(await post(body)).toBe('accepted');
});

test.each(refused)('refuses %s', async (_name, body, message) => {
  const outcome = await post(body);
  expect(outcome).toContain('400 ');
  expect(outcome.replaceAll('\\"', '"')).toContain(message);
  expect(outcome).toContain('invalid_request_error');
});

test('refuses a request without key, without version, of an unknown version', async () => {
  const noKey = await post(base, { authorization: null });
  expect(noKey).toContain('401');
  expect(noKey).toContain('authentication_error');
  expect(await post(base, { 'anthropic-version': null })).toContain('header is required');
  expect(await post(base, { 'anthropic-version': '2020-01-01' })).toContain('not a valid version');
});

test('takes a temperature under the older API version', async () => {
  const body = { ...base, temperature: 0.2 };
  expect(await post(body, { 'anthropic-version': '2023-06-01' })).toBe('accepted');
});

test('refuses a body over 32 MB as too large', async () => {
  const outcome = await post(talk(answer(text('x'.repeat(33 * 1024 * 1024)))));
  expect(outcome).toContain('413');
  expect(outcome).toContain('request_too_large');
});

test('tells refused requests apart from answered ones', async () => {
  const before = emulator.refusals.length;
  await post({ ...base, max_tokens: 0 });
  expect(emulator.refusals.slice(before)).toMatchObject([{ error: { status: 400 } }]);
});

describe('thinking that comes back', () => {
  const model = 'claude-opus-5-5';
  const tools = [tool('run')];
  const ask = async (body: JsonObject): Promise<Anthropic.Message> => {
    const thinker = await VendorEmulator.start();
    try {
      thinker.script([reply.toolCalls([{ name: 'run', input: {} }], { reasoning: 'I think.' })]);
      const client = new Anthropic({ apiKey: 'k', baseURL: thinker.url, maxRetries: 0 });
      const asked = { ...body, tools } as unknown as Anthropic.MessageCreateParams;
      return await client.messages.stream({ ...asked, stream: true }).finalMessage();
    } finally {
      await thinker.stop();
    }
  };
  const goOn = (message: Anthropic.Message, first: JsonObject): JsonObject => {
    const content = JSON.parse(JSON.stringify(message.content)) as JsonObject[];
    const [, call] = message.content;
    const id = call?.type === 'tool_use' ? call.id : '';
    return {
      ...base,
      model,
      tools,
      messages: [first, { role: 'assistant', content }, answer(result(id))],
    };
  };
  const noted = answer(text('hello'), text('note: your last call was broken'));

  test('is accepted by any emulator of the same vendor name', async () => {
    expect(await post(goOn(await ask({ ...base, model }), user))).toBe('accepted');
  });

  test('is refused by a newer model when a note before it has gone', async () => {
    const message = await ask({ ...base, model, messages: [noted] });
    expect(await post(goOn(message, user))).toContain('bound to a different conversation');
    expect(await post(goOn(message, noted))).toBe('accepted');
    expect(await post({ ...goOn(message, user), model: 'claude-opus-4-8' })).toBe('accepted');
  });

  test('may be dropped instead where the request says so', async () => {
    const message = await ask({ ...base, model, messages: [noted] });
    const thinking = {
      type: 'adaptive',
      block_binding: { prefix_mismatch_behavior: 'drop_block' },
    };
    const body = { ...goOn(message, user), thinking };
    const beta = { 'anthropic-beta': 'thinking-binding-controls-2026-08-01' };
    expect(await post(body, beta)).toBe('accepted');
    expect(await post(body)).toContain('Extra inputs are not permitted');
  });
});
