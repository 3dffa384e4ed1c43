/**
 * Counts of vendors that cannot be true: what they teach (nothing), what stays, what is charged, and who is told.
 *
 * Sources of the inputs: itayinbarr/little-coder#128 and ollama/ollama#3839 (the count after a silent cut: half the window),
 * ollama/ollama#5370 (0 for a cached prompt), earendil-works/pi#4497 (zeros throughout), open-webui/open-webui#26752 and
 * ollama/ollama#16428 (llama.cpp counts only what is not cached), envoyproxy/ai-gateway#1631 (a last event with zeros),
 * farion1231/cc-switch#6655 (the last event has the sum), mozilla-ai/any-llm#1290 and router-for-me/CLIProxyAPI#5733 (thoughts
 * are only in the total), huggingface/tau#617 (negative and malformed counters).
 */
import { countOfCall, judgeCount, measureCall } from '../../activities/measure/call-measure';
import type { CallCount, MeasuredCall } from '../../activities/measure/call-measure';
import type { RequestMeasure } from '../../activities/measure/measure-request';
import { judgeUsage } from '../../activities/model-call/judged-usage';
import { AnthropicReplyAssembly } from '../../activities/providers/anthropic/reply';
import { ChatReplyAssembly } from '../../activities/providers/openai/chat-reply';
import type { ModelReply } from '../../activities/providers/provider';
import type { Usage } from '../../workflows/core/budget/spend';
import { boundOf, noUsage } from '../../workflows/core/budget/spend';
import type { CountedContext } from '../../workflows/core/context/token-factors';
import type { Message } from '../../workflows/core/message';
import { defined } from '../../workflows/core/json';

const route = 'ollama/qwen';
const line = 'const total = items.reduce((sum, item) => sum + item.price, 0); // as listed above\n';

/** A conversation of some calls, each with a result of about 3,000 tokens. */
function conversation(calls: number): readonly Message[] {
  const turns = Array.from({ length: calls }, (_, index): readonly Message[] => [
    {
      role: 'assistant',
      vendor: 'ollama',
      model: 'qwen',
      blocks: [
        { type: 'tool-call', toolCallId: `c${index}`, name: 'read', input: { part: index } },
      ],
    },
    {
      role: 'tool',
      results: [
        {
          type: 'tool-result',
          toolCallId: `c${index}`,
          name: 'read',
          content: `${index}\n${line.repeat(140)}`,
          isError: false,
        },
      ],
    },
  ]);
  return [{ role: 'user', blocks: [{ type: 'text', text: 'Read it all.' }] }, ...turns.flat()];
}

function callOf(calls: number, counted?: CountedContext): MeasuredCall {
  return {
    request: {
      model: 'qwen',
      system: 'You read.',
      messages: conversation(calls),
      tools: [],
      maxOutputTokens: 1_000,
    },
    route,
    provider: { wire: 'chat' },
    input: defined({ counted }),
  };
}

interface Counted {
  readonly measure: RequestMeasure;
  readonly count: CallCount;
}

/** Plays one call after another, as a run does: each takes what the one before left. */
function play(
  calls: number,
  reported: (honest: number, call: number) => number,
): readonly Counted[] {
  const played: Counted[] = [];
  for (let call = 0; call < calls; call += 1) {
    const before = played.at(-1)?.count;
    const current = callOf(call, before?.counted);
    const asked = {
      ...current,
      input: { ...current.input, ...defined({ tokenFactors: before?.tokenFactors }) },
    };
    const measure = measureCall(asked);
    const honest = Math.round(1.05 * measureCall(callOf(call)).tokens);
    const contextTokens = reported(honest, call);
    const reply = {
      head: `h${call}`,
      headBefore: `b${call}`,
      usage: { ...noUsage, outputTokens: 20 },
      contextTokens,
    };
    played.push({ measure, count: countOfCall(asked, measure, reply) });
  }
  return played;
}

const honestOf = (calls: number): number => measureCall(callOf(calls)).tokens * 1.05;

function expectSound(played: readonly Counted[], least = 0.7): void {
  for (const [call, { measure }] of played.entries()) {
    expect(measure.tokens).toBeGreaterThan(least * honestOf(call) - 100);
    expect(measure.tokens).toBeLessThan(1.4 * honestOf(call) + 100);
  }
}

const factorOf = ({ count }: Counted): number => count.tokenFactors?.words ?? 1;
const cutAt = (played: readonly Counted[]): number =>
  played.findIndex(({ count }) => count.cutToTokens !== undefined);

test('honest counts are believed, and teach', () => {
  const played = play(12, (honest) => honest);
  expectSound(played, 0.95);
  expect(played.every(({ count }) => count.counted?.isEarlier === undefined)).toBe(true);
  expect(cutAt(played)).toBe(-1);
});

test.each<readonly [string, (honest: number, call: number) => number]>([
  [
    'half the window, once it is full (t2-local-01)',
    (honest) => (honest <= 8_192 ? honest : 4_098),
  ],
  ['the window, once it is full', (honest) => Math.min(honest, 8_190)],
  ['a small window from the first call on', (honest) => Math.min(honest, 2_048)],
  ['what a cache left over', (honest, call) => (call === 0 ? honest : 3_100)],
  ['every second time nothing', (honest, call) => (call % 2 === 0 ? honest : 0)],
  ['nothing at all', () => 0],
  ['a billion', () => 1_000_000_000],
  ['less from one call to the next', (honest, call) => honest / (call + 1)],
])('counts of %s teach nothing, and the measure stands', (_what, reported) => {
  const played = play(14, reported);
  expectSound(played);
  expect(Math.min(...played.map(factorOf))).toBeGreaterThan(0.9);
});

test.each<readonly [string, (honest: number, call: number) => number, boolean]>([
  ['half the window', (honest) => (honest <= 8_192 ? honest : 4_098), true],
  ['the window', (honest) => Math.min(honest, 8_190), true],
  ['nothing', () => 0, false],
  ['a billion', () => 1_000_000_000, false],
  [
    'one dip, as of another tokenizer',
    (honest, call) => (call === 5 ? 0.6 * honest : honest),
    false,
  ],
  ['a tokenizer that makes half as many', (honest) => 0.6 * honest, false],
])('of a server that counts %s, people are told: %p', (_what, reported, isTold) => {
  expect(cutAt(play(14, reported)) >= 0).toBe(isTold);
});

test('a server that changes its tokenizer is believed again as soon as its counts grow beyond the old ones', () => {
  const played = play(14, (honest, call) => (call < 4 ? honest : 0.75 * honest));
  expectSound(played, 0.7);
  expect(played.at(-1)?.count.counted?.isEarlier).toBeUndefined();
});

describe('the charge of a reply', () => {
  const measure = measureCall(callOf(4));
  const price = { input: 1, cacheRead: 0.1, cacheWrite: 1.25, output: 4 };
  const request = { measure, price, maxOutputTokens: 1_000 };
  const replyWith = (usage: Partial<Usage>, text = 'five words of an answer'): ModelReply => ({
    model: 'qwen',
    blocks: [{ type: 'text', text }],
    toolCalls: [],
    stopReason: 'end',
    usage: { ...noUsage, ...usage },
  });

  test('is the vendor’s own where it can be true', () => {
    const usage = { ...noUsage, inputTokens: measure.tokens, outputTokens: 5 };
    const judged = judgeUsage(replyWith(usage), request);
    expect(judged.usage).toEqual(usage);
    expect(judged.spend.estimated).toBeUndefined();
  });

  test.each<readonly [string, Partial<Usage>]>([
    ['missing', {}],
    ['missing of the input', { outputTokens: 5 }],
    ['absurd', { inputTokens: 1e12, outputTokens: 5 }],
    ['absurd of the output', { inputTokens: measure.tokens, outputTokens: 1e9 }],
    ['too low', { inputTokens: 700, outputTokens: 5 }],
    ['missing of the output', { inputTokens: measure.tokens }],
  ])('is plausible where the vendor’s is %s, with a bound', (_what, usage) => {
    const { usage: judged, spend } = judgeUsage(replyWith(usage), request);
    expect(judged.inputTokens).toBe(measure.tokens);
    expect(judged.outputTokens).toBe(5);
    expect(spend.nanoUsd).toBe(measure.tokens * 1_000 + 5 * 4_000);
    expect(boundOf(spend).nanoUsd).toBeGreaterThanOrEqual(spend.nanoUsd ?? 0);
    expect(boundOf(spend).tokens).toBeLessThan(2 * measure.tokens + 2_000);
    expect(spend.estimated).toBeDefined();
  });

  test('is never below what the vendor reports', () => {
    const usage = { cacheWriteTokens: measure.plausible.least - 1, outputTokens: 5 };
    const dear = { ...price, cacheWrite: 100 };
    const { spend } = judgeUsage(replyWith(usage), { ...request, price: dear });
    expect(spend.nanoUsd).toBeGreaterThanOrEqual(usage.cacheWriteTokens * 100_000);
    expect(spend.estimated?.nanoUsd).toBeGreaterThanOrEqual(0);
  });
});

test.each<readonly [string, readonly object[], Partial<Usage>]>([
  [
    'zeros at the end',
    [
      { input_tokens: 15, output_tokens: 1 },
      { input_tokens: 0, output_tokens: 9 },
    ],
    { inputTokens: 15, outputTokens: 9 },
  ],
  [
    'the sum at the end',
    [{ input_tokens: 0 }, { input_tokens: 40, cache_read_input_tokens: 7, output_tokens: 9 }],
    { inputTokens: 40, cacheReadTokens: 7, outputTokens: 9 },
  ],
  [
    'the cached part set apart at the end',
    [{ input_tokens: 47 }, { input_tokens: 7, cache_read_input_tokens: 40, output_tokens: 9 }],
    { inputTokens: 7, cacheReadTokens: 40, outputTokens: 9 },
  ],
  [
    'output alone at the end',
    [{ input_tokens: 15, output_tokens: 1 }, { output_tokens: 9 }],
    { inputTokens: 15, outputTokens: 9 },
  ],
  [
    'texts and negative numbers',
    [{ input_tokens: '15', output_tokens: -3 }, { output_tokens: '9' }],
    { inputTokens: 15, outputTokens: 9 },
  ],
])('the Anthropic wire takes %s', (_what, [start, end], usage) => {
  const assembly = new AnthropicReplyAssembly('anthropic', 'claude');
  assembly.accept({ type: 'message_start', message: { usage: start } });
  assembly.accept({ type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage: end });
  assembly.accept({ type: 'message_stop' });
  expect(assembly.reply().usage).toEqual({ ...noUsage, ...usage });
});

test.each<readonly [string, object, Partial<Usage>]>([
  [
    'thoughts that are only in the total',
    { prompt_tokens: 21, completion_tokens: 0, total_tokens: 81 },
    { inputTokens: 21, outputTokens: 60 },
  ],
  [
    'a prompt without its cached part',
    { prompt_tokens: 30, completion_tokens: 4, prompt_tokens_details: { cached_tokens: 500 } },
    { inputTokens: 30, cacheReadTokens: 500, outputTokens: 4 },
  ],
  ['texts', { prompt_tokens: '30', completion_tokens: '4' }, { inputTokens: 30, outputTokens: 4 }],
  [
    'negative numbers',
    { prompt_tokens: -1, completion_tokens: 4 },
    { inputTokens: 0, outputTokens: 4 },
  ],
  [
    'no numbers',
    { prompt_tokens: 30, completion_tokens: 'many' },
    { inputTokens: 30, outputTokens: 0 },
  ],
])('the Chat wire takes %s', (_what, usage, expected) => {
  const assembly = new ChatReplyAssembly('ollama', 'qwen');
  assembly.accept({
    choices: [{ index: 0, delta: { content: 'a' }, finish_reason: 'stop' }],
    usage,
  });
  expect(assembly.reply().usage).toEqual({ ...noUsage, ...expected });
});

test('a short request is never judged by its share: vendors render it in their own words', () => {
  const measure = measureCall(callOf(0));
  expect(judgeCount(Math.round(measure.tokens / 2), measure)).toBe('believed');
  expect(judgeCount(measure.tokens + 5_000, measure)).toBe('believed');
});
