/** Each rule of OpenAI's two wires accepts what the vendor accepts and refuses what it refuses, through the real SDK. */
import OpenAI from 'openai';
import { VendorEmulator } from '../../testing/emulator/emulator';
import { reply } from '../../testing/emulator/script';
import type { JsonObject, JsonValue } from '../../workflows/core/json';

let emulator: VendorEmulator;

beforeAll(async () => {
  emulator = await VendorEmulator.start({ windows: { small: 60 } });
  emulator.script(() => reply.text('ok', { reasoning: 'I think.' }));
});

afterAll(async () => {
  await emulator.stop();
});

async function post(path: string, body: JsonObject, hasKey = true): Promise<string> {
  const client = new OpenAI({ apiKey: 'k', baseURL: emulator.baseUrl('chat'), maxRetries: 0 });
  try {
    await client.post(path, {
      body: { stream: true, ...body },
      ...(hasKey ? {} : { headers: { authorization: null } }),
    });
    return 'accepted';
  } catch (error) {
    if (error instanceof OpenAI.APIError) {
      const words = `code=${error.code ?? 'null'} param=${error.param ?? 'null'}`;
      return `${String(error.status)} ${error.message} ${words}`;
    }
    throw error;
  }
}

const png =
  'data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII=';
const onePage = `data:application/pdf;base64,${Buffer.from('%PDF-1.4\n<< /Type /Page >>\n%%EOF').toString('base64')}`;
const user = { role: 'user', content: 'hello' };
const long = 'x'.repeat(65);

describe('Chat Completions', () => {
  const call = (id: string, more: JsonObject = {}): JsonObject => ({
    id,
    type: 'function',
    function: { name: 'run', arguments: '{}', ...more },
  });
  const calls = (...list: JsonValue[]): JsonObject => ({
    role: 'assistant',
    content: null,
    tool_calls: list,
  });
  const result = (id: string): JsonObject => ({ role: 'tool', tool_call_id: id, content: 'done' });
  const tool = (name: string, more: JsonObject = {}): JsonObject => ({
    type: 'function',
    function: { name, parameters: { type: 'object', properties: {} }, ...more },
  });
  const base = { model: 'm', messages: [user] };
  const talk = (...messages: JsonValue[]): JsonObject => ({
    ...base,
    messages: [user, ...messages],
  });
  const file = (data: string): JsonObject => ({
    type: 'file',
    file: { filename: 'a.pdf', file_data: data },
  });
  const image = (url: string, detail = 'auto'): JsonObject => ({
    type: 'image_url',
    image_url: { url, detail },
  });

  test.each<[string, JsonObject]>([
    ['a plain message', base],
    ['a call with its result', talk(calls(call('a')), result('a'))],
    [
      'parallel calls in another order',
      talk(calls(call('a'), call('b')), result('b'), result('a')),
    ],
    ['instructions', { ...base, messages: [{ role: 'developer', content: 'x' }, user] }],
    [
      'reasoning given back',
      talk({ role: 'assistant', content: 'x', reasoning_content: 'y' }, user),
    ],
    ['an image', talk({ role: 'user', content: [image(png)] })],
    ['a PDF', talk({ role: 'user', content: [file(onePage)] })],
    ['the model last', talk({ role: 'assistant', content: 'x' })],
    ['tools', { ...base, tools: [tool('a')], tool_choice: 'auto', parallel_tool_calls: true }],
    [
      'max_completion_tokens on a reasoning model',
      { ...base, model: 'gpt-5', max_completion_tokens: 9 },
    ],
  ])('accepts %s', async (_name, body) => {
    expect(await post('/chat/completions', body)).toBe('accepted');
  });

  test.each<[string, JsonObject, string]>([
    ['no model', { messages: [user] }, 'you must provide a model parameter'],
    [
      'no messages',
      { model: 'm' },
      "Missing required parameter: 'messages'. code=missing_required",
    ],
    ['an empty conversation', { ...base, messages: [] }, "Invalid 'messages': empty array."],
    ['an unknown field', { ...base, foo: 1 }, 'Unrecognized request argument supplied: foo'],
    [
      'an unknown role',
      talk({ role: 'bot', content: 'x' }),
      "Invalid value: 'bot'. Supported values",
    ],
    ['a leaked field', talk({ ...user, id: 'x' }), "Unknown parameter: 'messages[1].id'."],
    [
      'no content',
      talk({ role: 'user', content: null }),
      'expected a string, got null. code=null param=messages.[1].content',
    ],
    [
      'a silent assistant',
      talk({ role: 'assistant', content: null }),
      'expected a string, got null',
    ],
    ['an empty list of calls', talk(calls()), "Invalid 'messages[1].tool_calls': empty array."],
    [
      'an unanswered call',
      talk(calls(call('a'), call('b')), result('a'), user),
      "must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: b",
    ],
    ['a call unanswered at the end', talk(calls(call('a'))), 'did not have response messages: a'],
    [
      'an orphaned result',
      talk(result('a')),
      "messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.",
    ],
    [
      'a result of another call',
      talk(calls(call('a')), result('z')),
      "'tool_call_id' of 'z' not found",
    ],
    [
      'two results of one call',
      talk(calls(call('a')), result('a'), result('a')),
      "Duplicate value for 'tool_call_id' of 'a', in messages[2] and messages[3].",
    ],
    [
      'one id twice',
      talk(calls(call('a'), call('a')), result('a')),
      "Duplicate value for 'tool_call_id'",
    ],
    [
      'an id over 40 characters',
      talk(calls(call('x'.repeat(41))), result('x'.repeat(41))),
      'maximum length 40, but got a string with length 41 instead. code=string_above_max_length',
    ],
    ['a call without a name', talk(calls(call('a', { name: '' })), result('a')), 'empty string.'],
    [
      'a name with a dot',
      talk(calls(call('a', { name: 'a.b' })), result('a')),
      'string does not match pattern',
    ],
    [
      'arguments as an object',
      talk(calls(call('a', { arguments: {} })), result('a')),
      "function.arguments': expected a string, but got an object instead. code=invalid_type",
    ],
    [
      'broken arguments',
      talk(calls(call('a', { arguments: '{"a' })), result('a')),
      'must be in JSON format',
    ],
    ['a tool name of 65', { ...base, tools: [tool(long)] }, 'maximum length 64'],
    [
      'one tool name twice',
      { ...base, tools: [tool('a'), tool('a')] },
      'Tool names must be unique',
    ],
    [
      'parameters of no object',
      { ...base, tools: [tool('a', { parameters: {} })] },
      `Invalid schema for function 'a': schema must be a JSON Schema of 'type: "object"', got 'type: "None"'. code=invalid_function_parameters`,
    ],
    [
      'a loose schema called strict',
      { ...base, tools: [tool('a', { strict: true })] },
      "'additionalProperties' is required to be supplied and to be false",
    ],
    ['no tools in the list', { ...base, tools: [] }, "Invalid 'tools': empty array."],
    [
      'a choice without tools',
      { ...base, tool_choice: 'auto' },
      "only allowed when 'tools' are specified",
    ],
    [
      'max_tokens on a reasoning model',
      { ...base, model: 'gpt-5.1', max_tokens: 9 },
      "Use 'max_completion_tokens' instead.",
    ],
    [
      'a temperature on a reasoning model',
      { ...base, model: 'o3', temperature: 0 },
      'does not support 0 with',
    ],
    [
      'both limits',
      { ...base, max_tokens: 9, max_completion_tokens: 9 },
      'at the same time is not supported',
    ],
    ['a limit of 0', { ...base, max_tokens: 0 }, 'Expected a value >= 1, but got 0'],
    [
      'an image detail',
      talk({ role: 'user', content: [image(png, 'fine')] }),
      "Supported values are: 'low', 'high', and 'auto'",
    ],
    [
      'an image that is none',
      talk({ role: 'user', content: [image('data:image/png;base64,aGVsbG8=')] }),
      'unsupported image',
    ],
    [
      'a PDF that is none',
      talk({ role: 'user', content: [file('data:application/pdf;base64,aGVsbG8=')] }),
      'Invalid file data',
    ],
    [
      'an image from a tool',
      talk(calls(call('a')), { ...result('a'), content: [image(png)] }),
      "only allowed for messages with role 'user'",
    ],
    ['half an emoji', talk({ role: 'user', content: 'x\udc00' }), 'could not parse the JSON body'],
    [
      'a prompt over the window',
      { ...base, model: 'small', messages: [{ role: 'user', content: 'word '.repeat(90) }] },
      'code=context_length_exceeded',
    ],
  ])('refuses %s', async (_name, body, message) => {
    const outcome = await post('/chat/completions', body);
    expect(outcome).toMatch(/^400 /);
    expect(outcome).toContain(message);
  });
});

describe('Responses', () => {
  const call = (id: string, more: JsonObject = {}): JsonObject => ({
    type: 'function_call',
    call_id: id,
    name: 'run',
    arguments: '{}',
    ...more,
  });
  const output = (id: string): JsonObject => ({
    type: 'function_call_output',
    call_id: id,
    output: 'done',
  });
  const says = (text: string): JsonObject => ({
    type: 'message',
    role: 'assistant',
    content: [{ type: 'output_text', text }],
  });
  const base = { model: 'm', input: 'hello', store: false };
  const talk = (...items: JsonValue[]): JsonObject => ({ ...base, input: [user, ...items] });
  const tool = (name: string, more: JsonObject = {}): JsonObject => ({
    type: 'function',
    name,
    parameters: { type: 'object', properties: {} },
    strict: false,
    ...more,
  });
  const reason = async (): Promise<JsonObject> => {
    const client = new OpenAI({ apiKey: 'k', baseURL: emulator.baseUrl('responses') });
    const response = await client.responses
      .stream({ model: 'm', input: 'hello', store: false })
      .finalResponse();
    return JSON.parse(JSON.stringify(response.output[0])) as JsonObject;
  };

  test.each<[string, JsonObject]>([
    ['a string', base],
    ['a call with its output', talk(call('a'), output('a'))],
    ['a call whose output comes later', talk(call('a'), user, output('a'))],
    ['an answer', talk(says('x'), user)],
    ['tools', { ...base, tools: [tool('a')], tool_choice: 'auto' }],
    ['an image', talk({ role: 'user', content: [{ type: 'input_image', image_url: png }] })],
    [
      'a PDF',
      talk({
        role: 'user',
        content: [{ type: 'input_file', filename: 'a.pdf', file_data: onePage }],
      }),
    ],
  ])('accepts %s', async (_name, body) => {
    expect(await post('/responses', body)).toBe('accepted');
  });

  test.each<[string, JsonObject, string]>([
    ['no input', { model: 'm' }, "Missing required parameter: 'input'."],
    ['an empty input', { ...base, input: [] }, "Invalid 'input': empty array."],
    ['an unknown field', { ...base, foo: 1 }, "Unknown parameter: 'foo'."],
    ['messages', { ...base, messages: [] }, "this parameter has moved to 'input'"],
    ['max_tokens', { ...base, max_tokens: 9 }, "has moved to 'max_output_tokens'"],
    ['a limit under 16', { ...base, max_output_tokens: 1 }, 'Expected a value >= 16, but got 1'],
    [
      'a PDF without a name',
      talk({ role: 'user', content: [{ type: 'input_file', file_data: onePage }] }),
      "Missing required parameter: 'input[1].content[0].filename'",
    ],
    [
      'a PDF that is none',
      talk({ role: 'user', content: [{ type: 'input_file', filename: 'a.pdf', file_data: png }] }),
      'Invalid file data',
    ],
    [
      'an earlier response',
      { ...base, previous_response_id: 'resp_1' },
      'code=previous_response_not_found',
    ],
    [
      'an unknown item',
      talk({ type: 'thing' }),
      "Invalid value: 'thing'. Supported values are: 'message'",
    ],
    [
      'a leaked field',
      talk(call('a', { parsed_arguments: {} }), output('a')),
      "Unknown parameter: 'input[1].parsed_arguments'.",
    ],
    [
      'input text of the model',
      talk({ role: 'assistant', content: [{ type: 'input_text', text: 'x' }] }),
      "Supported values are: 'output_text' and 'refusal'.",
    ],
    [
      'output text of the user',
      talk({ role: 'user', content: [{ type: 'output_text', text: 'x' }] }),
      "Supported values are: 'input_text'",
    ],
    ['an unanswered call', talk(call('a')), 'No tool output found for function call a.'],
    [
      'an orphaned output',
      talk(output('a')),
      'No tool call found for function call output with call_id a.',
    ],
    ['one call id twice', talk(call('a'), call('a'), output('a')), 'Duplicate function call id a.'],
    [
      'two outputs of one call',
      talk(call('a'), output('a'), output('a')),
      'Duplicate function_call_output',
    ],
    [
      'a call id over 64',
      talk(call(long), output(long)),
      "Invalid 'input[1].call_id': string too long. Expected a string with maximum length 64",
    ],
    [
      'an item id of another kind',
      talk(call('a', { id: 'call_a' }), output('a')),
      "Expected an ID that begins with 'fc'.",
    ],
    [
      'one item twice',
      talk(call('a', { id: 'fc_1' }), call('b', { id: 'fc_1' }), output('a'), output('b')),
      'Duplicate item found with id fc_1.',
    ],
    [
      'arguments as an object',
      talk(call('a', { arguments: {} }), output('a')),
      "arguments': expected a string, but got an object",
    ],
    [
      'a tool name with a dot',
      { ...base, tools: [tool('a.b')] },
      "Invalid 'tools[0].name': string does not match pattern.",
    ],
    [
      'foreign reasoning',
      talk(
        { type: 'reasoning', id: 'rs_1', summary: [], encrypted_content: 'gAAAAx' },
        says('x'),
        user,
      ),
      'The encrypted content for item rs_1 could not be verified.',
    ],
    ['half an emoji', talk({ role: 'user', content: '\ud83d!' }), 'could not parse the JSON body'],
    [
      'an input over the window',
      { ...base, model: 'small', input: 'word '.repeat(90) },
      'Your input exceeds the context window of this model.',
    ],
  ])('refuses %s', async (_name, body, message) => {
    const outcome = await post('/responses', body);
    expect(outcome).toMatch(/^400 /);
    expect(outcome).toContain(message);
  });

  test('takes its own sealed reasoning back, with or without its id, and no other', async () => {
    const item = await reason();
    const { id: _id, ...anonymous } = item;
    expect(await post('/responses', talk(item, says('x'), user))).toBe('accepted');
    expect(await post('/responses', talk(anonymous, says('x'), user))).toBe('accepted');
    const renamed = talk({ ...item, id: 'rs_other' }, says('x'), user);
    expect(await post('/responses', renamed)).toContain('could not be verified');
  });

  test('refuses reasoning without what it led to, and reasoning that it would have to remember', async () => {
    const item = await reason();
    expect(await post('/responses', talk(item, user))).toContain(
      "of type 'reasoning' was provided without its required following item.",
    );
    const { encrypted_content: _content, ...bare } = item;
    const outcome = await post('/responses', talk(bare, says('x'), user));
    expect(outcome).toContain('404');
    expect(outcome).toContain('Items are not persisted when `store` is set to false.');
  });

  test('refuses a request without a key', async () => {
    expect(await post('/responses', base, false)).toContain("401 You didn't provide an API key.");
  });
});
