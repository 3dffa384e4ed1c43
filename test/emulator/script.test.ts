/** Scripts: order, keys, rules, what is left over, and what the emulator records. */
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import type { EmulatorOptions } from '../../testing/emulator/emulator';
import { VendorEmulator } from '../../testing/emulator/emulator';
import { fault, reply } from '../../testing/emulator/script';

const running: VendorEmulator[] = [];

async function start(options: EmulatorOptions = {}): Promise<VendorEmulator> {
  const emulator = await VendorEmulator.start(options);
  running.push(emulator);
  return emulator;
}

afterEach(async () => {
  await Promise.all(running.splice(0).map((emulator) => emulator.stop()));
});

const user = { role: 'user', content: 'hello' } as const;

async function ask(emulator: VendorEmulator, model = 'm', mount?: string): Promise<string> {
  const baseURL = emulator.baseUrl('anthropic', mount);
  const client = new Anthropic({ apiKey: 'sk-secret', baseURL, maxRetries: 0 });
  const message = await client.messages
    .stream({ model, max_tokens: 50, system: 'Be brief.', messages: [user] })
    .finalMessage();
  const [first] = message.content;
  return first?.type === 'text' ? first.text : JSON.stringify(message.content);
}

async function chat(emulator: VendorEmulator, mount: string): Promise<string | null | undefined> {
  const client = new OpenAI({
    apiKey: 'k',
    baseURL: emulator.baseUrl('chat', mount),
    maxRetries: 0,
  });
  const body = { model: 'm', messages: [user] };
  const completion = await client.chat.completions.stream(body).finalChatCompletion();
  return completion.choices[0]?.message.content;
}

async function sumByAnthropic(emulator: VendorEmulator): Promise<void> {
  const client = new Anthropic({ apiKey: 'k', baseURL: emulator.url, maxRetries: 0 });
  const tools = [{ name: 'add', input_schema: { type: 'object' as const } }];
  const common = { model: 'm', max_tokens: 50, system: 'Be brief.', tools };
  const first = await client.messages.stream({ ...common, messages: [user] }).finalMessage();
  const id = first.content.find((block) => block.type === 'tool_use')?.id ?? '';
  const results = [{ type: 'tool_result' as const, tool_use_id: id, content: '42' }];
  const reply = { role: 'assistant' as const, content: first.content };
  const messages = [user, reply, { role: 'user' as const, content: results }];
  await client.messages.stream({ ...common, messages }).finalMessage();
}

async function sumByChat(emulator: VendorEmulator): Promise<void> {
  const baseURL = emulator.baseUrl('chat');
  const client = new OpenAI({ apiKey: 'k', baseURL, maxRetries: 0 });
  const system = { role: 'system', content: 'Be brief.' } as const;
  const tools = [
    {
      type: 'function' as const,
      function: { name: 'add', parameters: { type: 'object', properties: {} } },
    },
  ];
  const common = { model: 'm', tools };
  const first = await client.chat.completions
    .stream({ ...common, messages: [system, user] })
    .finalChatCompletion();
  const said = first.choices[0]?.message;
  const id = said?.tool_calls?.[0]?.id ?? '';
  const answered = {
    role: 'assistant' as const,
    content: said?.content ?? null,
    tool_calls: [
      { id, type: 'function' as const, function: { name: 'add', arguments: '{"a":1}' } },
    ],
  };
  const result = { role: 'tool', tool_call_id: id, content: '42' } as const;
  await client.chat.completions
    .stream({ ...common, messages: [system, user, answered, result] })
    .finalChatCompletion();
}

test('consumes steps in the order in which requests arrive', async () => {
  const emulator = await start();
  emulator.script([reply.text('one'), reply.text('two')]);
  emulator.script([reply.text('three')]);
  expect([await ask(emulator), await ask(emulator), await ask(emulator)]).toEqual([
    'one',
    'two',
    'three',
  ]);
  emulator.assertDrained();
});

test('keeps a script per model, wire and mount apart, and never lets one eat the steps of another', async () => {
  const emulator = await start();
  emulator.script([reply.text('of the fallback')], { model: 'fallback' });
  emulator.script([reply.text('of the primary')], { model: 'primary' });
  emulator.script([reply.text('of deepseek')], { wire: 'chat', mount: 'deepseek' });
  emulator.script([reply.text('of all others')]);
  expect(await ask(emulator, 'primary')).toBe('of the primary');
  await expect(ask(emulator, 'primary')).rejects.toThrow(/no step/);
  expect(await ask(emulator, 'fallback')).toBe('of the fallback');
  expect(await chat(emulator, 'deepseek')).toBe('of deepseek');
  expect(await chat(emulator, 'qwen')).toBe('of all others');
});

test('lets a rule play the model from what the conversation says', async () => {
  const emulator = await start();
  emulator.script((request, index) => {
    const [result] = request.lastToolResults;
    return result === undefined
      ? reply.toolCalls([{ name: 'add', input: { a: index } }])
      : reply.text(`the tool said ${result.content}`);
  });
  const client = new Anthropic({ apiKey: 'k', baseURL: emulator.url, maxRetries: 0 });
  const first = await client.messages
    .stream({ model: 'm', max_tokens: 50, messages: [user] })
    .finalMessage();
  const [call] = first.content;
  if (call?.type !== 'tool_use') throw new Error('no tool call');
  const results = [{ type: 'tool_result' as const, tool_use_id: call.id, content: '42' }];
  const { content } = await client.messages
    .stream({
      model: 'm',
      max_tokens: 50,
      system: 'Be brief.',
      tools: [{ name: 'add', input_schema: { type: 'object' } }],
      messages: [
        user,
        { role: 'assistant', content: first.content },
        { role: 'user', content: results },
      ],
    })
    .finalMessage();
  const [text] = content;
  expect(text).toMatchObject({ text: 'the tool said 42' });
  const [, second] = emulator.requests;
  expect(second).toMatchObject({
    systemText: 'Be brief.',
    messagesCount: 3,
    lastUserText: 'hello',
    toolCalls: [{ name: 'add', argumentsText: '{"a":0}' }],
  });
  emulator.assertDrained();
});

test('lets a rule hold a request until the test lets it go', async () => {
  const emulator = await start();
  let release = (): void => undefined;
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  emulator.script(async () => {
    await gate;
    return reply.text('late');
  });
  const answer = ask(emulator);
  const request = await emulator.waitForRequest(0);
  expect(request.progress.finished).toBe(false);
  release();
  expect(await answer).toBe('late');
});

test('passes on to the next entry when a rule gives nothing', async () => {
  const emulator = await start();
  emulator.script((request) => (request.model === 'a' ? reply.text('by rule') : undefined));
  emulator.script([reply.text('by step')]);
  expect(await ask(emulator, 'b')).toBe('by step');
  expect(await ask(emulator, 'a')).toBe('by rule');
});

test('fails the drained check by name for a step left over', async () => {
  const emulator = await start();
  emulator.script([reply.text('never')], { model: 'x' });
  expect(() => {
    emulator.assertDrained();
  }).toThrow('1 step(s) never asked for by model x: reply (end)');
});

test('refuses a request without a step at once, with what came, what was expected, and what to add', async () => {
  const emulator = await start();
  // Nobody retries a 400.
  await expect(ask(emulator)).rejects.toMatchObject({ status: 400 });
  emulator.script([reply.text('of the rate limit')], { model: 'other' });
  const second = ask(emulator);
  await expect(second).rejects.toThrow(
    'no step for request 2: no script is for such requests (there are some by model other); the script expects a request by model other for reply (end). Add a step for it, such as reply.text(',
  );
  // A client reads the reason of a failure in its words: the texts of scripts and requests are not among them.
  await expect(second).rejects.not.toThrow('rate limit');
  emulator.script([reply.text('one')]);
  await ask(emulator);
  await expect(ask(emulator)).rejects.toThrow('the script has no more steps (1 used)');
  const drained = (): void => {
    emulator.assertDrained();
  };
  expect(drained).toThrow(
    'Request 1 (anthropic, m) came with the text "hello", but no script was given. Add a step for it',
  );
  expect(drained).toThrow('expects a request by model other for reply (end): "of the rate limit"');
});

test('tells what a rule threw, to the test and not to the client', async () => {
  const emulator = await start();
  emulator.script(() => {
    throw new Error('the rate limit of the test');
  });
  const asked = ask(emulator);
  await expect(asked).rejects.toMatchObject({ status: 400 });
  await expect(asked).rejects.not.toThrow('rate limit');
  expect(() => {
    emulator.assertDrained();
  }).toThrow("the script's rule threw: Error: the rate limit of the test");
});

test('gives what a request told the model as plain data, the same on each wire', async () => {
  const emulator = await start();
  const call = reply.toolCalls([{ name: 'add', input: { a: 1 } }], { text: 'I add.' });
  emulator.script([call, reply.text('1'), call, reply.text('1')]);
  const messages = [
    { role: 'user', text: 'hello' },
    { role: 'assistant', text: 'I add.', toolCalls: [{ name: 'add', input: { a: 1 } }] },
    { role: 'tool', name: 'add', content: '42', isError: false },
  ];
  const prompt = { model: 'm', system: 'Be brief.', tools: ['add'], messages };
  await sumByAnthropic(emulator);
  await sumByChat(emulator);
  expect(emulator.requests.map((request) => request.prompt)).toEqual([
    { ...prompt, messages: messages.slice(0, 1) },
    prompt,
    { ...prompt, messages: messages.slice(0, 1) },
    prompt,
  ]);
});

test('fails the drained check for a request to an unknown address', async () => {
  const emulator = await start();
  const answer = await fetch(`${emulator.url}/v1/embeddings`, { method: 'POST', body: '{}' });
  expect(answer.status).toBe(404);
  expect(() => {
    emulator.assertDrained();
  }).toThrow('unknown address: POST /v1/embeddings');
});

test('refuses a request that asks for no stream, and keeps the step for the next', async () => {
  const emulator = await start();
  emulator.script([reply.text('ok')]);
  const client = new Anthropic({ apiKey: 'k', baseURL: emulator.url, maxRetries: 0 });
  const whole = client.messages.create({ model: 'm', max_tokens: 5, messages: [user] });
  await expect(whole).rejects.toThrow(/only streams/);
  expect(await ask(emulator)).toBe('ok');
});

test('records every request with its key redacted and how it was answered', async () => {
  const emulator = await start();
  const step = fault.http(529);
  emulator.script([step, reply.text('ok')]);
  await expect(ask(emulator)).rejects.toMatchObject({ status: 529 });
  await ask(emulator);
  await emulator.waitFor(({ requests }) => requests[1]?.progress.finished === true);
  expect(JSON.stringify(emulator.requests)).not.toContain('sk-secret');
  const [first, second] = emulator.requests;
  expect(first?.headers['authorization']).toBe('Bearer [redacted]');
  expect(first?.answer).toEqual({ type: 'step', step });
  expect(first?.progress).toMatchObject({ status: 529, landed: true, finished: true });
  expect(second?.progress).toMatchObject({ status: 200, landed: true, abandoned: false });
  expect(second?.body['max_tokens']).toBe(50);
});

test('drops the bodies of old requests to bound its memory', async () => {
  const emulator = await start({ recordedBodyBytes: 200 });
  emulator.script([reply.text('a'), reply.text('b')]);
  await ask(emulator);
  await ask(emulator);
  expect(() => emulator.requests[0]?.body).toThrow(/recordedBodyBytes/);
  expect(emulator.requests[1]?.model).toBe('m');
  expect(emulator.requests[1]?.body['model']).toBe('m');
});

test('answers many runs at once, each with its own script', async () => {
  const emulator = await start();
  const models = Array.from({ length: 20 }, (_, index) => `run-${index}`);
  for (const model of models) emulator.script([reply.text(model), reply.text('end')], { model });
  const twice = async (model: string): Promise<string> => {
    const first = await ask(emulator, model);
    return `${first} ${await ask(emulator, model)}`;
  };
  expect(await Promise.all(models.map(twice))).toEqual(models.map((model) => `${model} end`));
  emulator.assertDrained();
});
