/** Each wire's happy path through the vendors' real SDKs. */
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { VendorEmulator } from '../../testing/emulator/emulator';
import { reply } from '../../testing/emulator/script';

let emulator: VendorEmulator;
let anthropic: Anthropic;
let openai: OpenAI;

beforeEach(async () => {
  emulator = await VendorEmulator.start({ seed: 'test' });
  anthropic = new Anthropic({ apiKey: 'sk-test', baseURL: emulator.url, maxRetries: 0 });
  openai = new OpenAI({
    apiKey: 'sk-test',
    baseURL: emulator.baseUrl('chat'),
    maxRetries: 0,
  });
});

afterEach(async () => {
  await emulator.stop();
});

const user = { role: 'user', content: 'hello' } as const;
const calls = [
  { name: 'read_file', input: { path: 'src/ä😀.ts' } },
  { name: 'run', input: {} },
];

test('Messages streams text, thinking and parallel tool calls', async () => {
  emulator.script([
    reply.toolCalls(calls, { text: 'I look at both.', reasoning: 'Two files.' }),
    reply.text('done'),
  ]);
  const message = await anthropic.messages
    .stream({ model: 'claude-x', max_tokens: 100, messages: [user] })
    .finalMessage();
  expect(message.stop_reason).toBe('tool_use');
  expect(message.content).toMatchObject([
    { type: 'thinking', thinking: 'Two files.' },
    { type: 'text', text: 'I look at both.' },
    { type: 'tool_use', ...calls[0] },
    { type: 'tool_use', ...calls[1] },
  ]);
  const raw = await anthropic.messages.create({
    model: 'claude-x',
    max_tokens: 100,
    messages: [user],
    stream: true,
  });
  const types: string[] = [];
  for await (const event of raw) types.push(event.type);
  expect(types.at(-1)).toBe('message_stop');
  emulator.assertDrained();
});

test('Chat Completions streams text, reasoning and parallel tool calls', async () => {
  emulator.script([reply.toolCalls(calls, { text: 'I look at both.' })]);
  const stream = openai.chat.completions.stream({
    model: 'gpt-x',
    messages: [user],
    stream_options: { include_usage: true },
  });
  const completion = await stream.finalChatCompletion();
  const choice = completion.choices[0];
  expect(choice?.finish_reason).toBe('tool_calls');
  expect(choice?.message.content).toBe('I look at both.');
  expect(choice?.message.tool_calls).toMatchObject(
    calls.map(({ name, input }) => ({ function: { name, arguments: JSON.stringify(input) } })),
  );
  expect(completion.usage?.completion_tokens).toBeGreaterThan(5);
  emulator.assertDrained();
});

test('Responses streams text, reasoning and parallel tool calls', async () => {
  emulator.script([reply.toolCalls(calls, { text: 'I look at both.', reasoning: 'Two files.' })]);
  const response = await openai.responses
    .stream({ model: 'gpt-x', input: 'hello', store: false })
    .finalResponse();
  expect(response.status).toBe('completed');
  expect(response.output_text).toBe('I look at both.');
  expect(response.output).toMatchObject([
    { type: 'reasoning', summary: [{ text: 'Two files.' }] },
    { type: 'message' },
    { type: 'function_call', name: 'read_file', arguments: JSON.stringify(calls[0]?.input) },
    { type: 'function_call', name: 'run', arguments: '{}' },
  ]);
  expect(response.usage?.output_tokens).toBeGreaterThan(5);
  emulator.assertDrained();
});
