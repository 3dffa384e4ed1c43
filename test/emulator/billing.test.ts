/** The bill: what whole, cut and refused calls cost, and what the vendors' prompt caches save. */
import Anthropic from '@anthropic-ai/sdk';
import OpenAI from 'openai';
import { countTokens } from '../../testing/emulator/billing';
import { VendorEmulator } from '../../testing/emulator/emulator';
import { fault, reply } from '../../testing/emulator/script';

let emulator: VendorEmulator;

beforeEach(async () => {
  emulator = await VendorEmulator.start();
});

afterEach(async () => {
  await emulator.stop();
});

const mark = { cache_control: { type: 'ephemeral' as const } };

async function ask(
  system: string,
  turns: readonly string[],
  maxTokens = 50,
): Promise<Anthropic.Usage> {
  const client = new Anthropic({ apiKey: 'k', baseURL: emulator.url, maxRetries: 0 });
  const blocks = turns.map((text): Anthropic.TextBlockParam => ({ type: 'text', text }));
  const last = blocks.at(-1);
  const marked = last === undefined ? [] : [...blocks.slice(0, -1), { ...last, ...mark }];
  const message = await client.messages
    .stream({
      model: 'm',
      max_tokens: maxTokens,
      system: [{ type: 'text', text: system }],
      messages: [{ role: 'user', content: marked }],
    })
    .finalMessage();
  return message.usage;
}

async function finished(index: number): Promise<void> {
  await emulator.waitFor(({ requests }) => requests[index]?.progress.usage !== undefined);
}

test('bills the same prompt and reply the same, in the reply and in the bill', async () => {
  emulator.script([reply.text('The answer is 42.'), reply.text('The answer is 42.')]);
  const client = new OpenAI({ apiKey: 'k', baseURL: emulator.baseUrl('chat'), maxRetries: 0 });
  const once = async (): Promise<OpenAI.CompletionUsage | undefined> =>
    (
      await client.chat.completions
        .stream({
          model: 'gpt',
          messages: [{ role: 'user', content: 'What is the answer?' }],
          stream_options: { include_usage: true },
        })
        .finalChatCompletion()
    ).usage;
  const first = await once();
  expect(await once()).toEqual(first);
  await finished(1);
  expect(first?.completion_tokens).toBe(countTokens('The answer is 42.'));
  expect(emulator.bill.of('gpt')).toEqual({
    inputTokens: 2 * (first?.prompt_tokens ?? 0),
    outputTokens: 2 * (first?.completion_tokens ?? 0),
    cacheReadTokens: 0,
    cacheWriteTokens: 0,
  });
});

test('reads from the cache what an earlier request wrote, byte by byte', async () => {
  emulator.script(() => reply.text('ok'));
  const wrote = await ask('You are brief.', ['one']);
  const read = await ask('You are brief.', ['one', 'two']);
  const missed = await ask('You are brief!', ['one', 'two']);
  const total = (wrote.cache_creation_input_tokens ?? 0) + wrote.input_tokens;
  expect(wrote).toMatchObject({ cache_read_input_tokens: 0 });
  expect(wrote.cache_creation_input_tokens).toBe(total);
  expect(read.cache_read_input_tokens).toBe(wrote.cache_creation_input_tokens);
  expect(read.cache_creation_input_tokens).toBeGreaterThan(0);
  expect(read.cache_creation_input_tokens).toBeLessThan(total);
  expect(missed.cache_read_input_tokens).toBe(0);
});

test('reads long prompts from the cache by themselves on the OpenAI wires', async () => {
  emulator.script(() => reply.text('ok'));
  const client = new OpenAI({ apiKey: 'k', baseURL: emulator.baseUrl('responses'), maxRetries: 0 });
  const instructions = 'word '.repeat(2000);
  const once = async (): Promise<OpenAI.Responses.ResponseUsage | undefined> =>
    (await client.responses.stream({ model: 'gpt', instructions, input: 'hello' }).finalResponse())
      .usage;
  expect((await once())?.input_tokens_details.cached_tokens).toBe(0);
  const cached = (await once())?.input_tokens_details.cached_tokens ?? 0;
  expect(cached).toBeGreaterThan(1024);
  expect(cached % 128).toBe(0);
});

test('bills a cut stream for what it had produced', async () => {
  emulator.script([fault.cutStream({ afterText: 'The answer is', how: 'eof' })]);
  await expect(ask('You are brief.', ['one'])).rejects.toThrow();
  await finished(0);
  const bill = emulator.bill.of('m');
  expect(bill.outputTokens).toBe(countTokens('The answer is'));
  expect(bill.cacheWriteTokens).toBeGreaterThan(0);
});

test('bills the whole of a reply that arrived only in part, if set to', async () => {
  const generous = await VendorEmulator.start({ cutReplies: 'whole' });
  const client = new Anthropic({ apiKey: 'k', baseURL: generous.url, maxRetries: 0 });
  const words = 'The answer is 42, and that is all that there is.';
  const lost = reply.text(words);
  const steps = [
    fault.cutStream({ during: lost, afterCharacters: 3 }),
    fault.connection('reset', 'before-headers', lost),
    fault.connection('reset', 'after-headers', lost),
    fault.stall({ during: lost, afterCharacters: 3 }),
    fault.connection('reset'),
    lost,
  ];
  generous.script(steps);
  const body = { model: 'm', max_tokens: 50, messages: [{ role: 'user' as const, content: 'hi' }] };
  for (const step of steps) {
    const stream = client.messages.stream(body);
    const ended = stream.finalMessage().catch(() => undefined);
    if (step === steps[3]) {
      await generous.waitFor(({ requests }) => requests[3]?.progress.landed === true);
      stream.abort();
    }
    await ended;
  }
  await generous.waitFor(({ requests }) => requests.every(({ progress }) => progress.finished));
  await generous.waitFor(({ requests }) => requests[5]?.progress.usage !== undefined);
  const billed = generous.requests.map(({ progress }) => progress.usage?.outputTokens);
  const whole = countTokens(words);
  expect(billed).toEqual([whole, whole, whole, whole, undefined, whole]);
  await generous.stop();
});

test('bills nothing for HTTP errors and refused requests', async () => {
  emulator.script([fault.http(529)]);
  await expect(ask('You are brief.', ['one'])).rejects.toThrow();
  await expect(ask('You are brief.', ['one'], 0)).rejects.toThrow(/max_tokens/);
  expect(emulator.bill.byModel).toEqual({});
});

test('bills by model what a script says instead of what it counted', async () => {
  const usage = { inputTokens: 7, outputTokens: 5, cacheReadTokens: 3, cacheWriteTokens: 2 };
  emulator.script([reply.text('ok', { usage })]);
  expect(await ask('You are brief.', ['one'])).toMatchObject({
    input_tokens: 7,
    output_tokens: 5,
    cache_read_input_tokens: 3,
    cache_creation_input_tokens: 2,
  });
  await finished(0);
  expect(emulator.bill.byModel).toEqual({ m: usage });
  expect(emulator.bill.total).toEqual(usage);
});

test('counts text that looks like a control token, and long text without a space, in bounded time', () => {
  expect(countTokens('<|endoftext|>')).toBeGreaterThan(1);
  const startedAt = performance.now();
  expect(countTokens('a'.repeat(400_000))).toBeGreaterThan(1000);
  expect(performance.now() - startedAt).toBeLessThan(10_000);
});

test('bills the token that the first event of Anthropic reports, though nothing else came', async () => {
  emulator.script([fault.cutStream({ afterEvents: 1 })]);
  await expect(ask('You are brief.', ['Hello'])).rejects.toThrow();
  await finished(0);
  expect(emulator.requests[0]?.progress.usage).toMatchObject({ outputTokens: 1 });
});
