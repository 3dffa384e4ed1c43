/** A route's settings: each wire sends them under its own names, the vendors' strict checks take them, and what a wire cannot send is refused. */
import { createAgentCatalog } from '../../activities/definitions/agent-catalog';
import type { RouteDefinition } from '../../activities/definitions/agent';
import { defineAgent } from '../../activities/definitions/define-agent';
import { UserError } from '../../activities/lifecycle/user-error';
import { anthropicProvider } from '../../activities/providers/anthropic/anthropic-provider';
import { chatDialects } from '../../activities/providers/openai/chat-dialect';
import { openaiProvider } from '../../activities/providers/openai/openai-provider';
import type { PresetName } from '../../activities/providers/presets';
import { presetNames, presetProvider } from '../../activities/providers/presets';
import type { Provider } from '../../activities/providers/provider';
import type { ModelSettings } from '../../activities/providers/settings/model-settings';
import { reasoningEfforts } from '../../activities/providers/settings/model-settings';
import { VendorEmulator } from '../../testing/emulator/emulator';
import { reply } from '../../testing/emulator/script';
import { scriptedProvider } from '../../testing/scripted-provider';
import { without } from '../../workflows/core/json';
import { requestFor, sendOptions, testKey } from './support/provider-bench';

let emulator: VendorEmulator;
beforeAll(async () => {
  emulator = await VendorEmulator.start();
});
afterAll(() => emulator.stop());

/** A provider of each wire and preset, at the emulator. */
function providerNamed(name: string): Provider {
  const account = { apiKey: testKey, name };
  const presets: readonly string[] = presetNames;
  if (name === 'anthropic')
    return anthropicProvider({ ...account, baseUrl: emulator.baseUrl('anthropic') });
  if (presets.includes(name))
    return presetProvider(name as PresetName, {
      apiKey: testKey,
      baseUrl: emulator.baseUrl('chat'),
    });
  const api = name === 'responses' ? 'responses' : 'chat';
  return openaiProvider({
    ...account,
    ...(name === 'responses' ? {} : { name: name === 'chat' ? 'openai' : name }),
    api,
    baseUrl: emulator.baseUrl(api),
  });
}

/** What goes over the wire. Fails if the definition or the vendor refuses it. */
async function sent(
  name: string,
  model: string,
  settings: ModelSettings,
): Promise<{ readonly body: object; readonly headers: Readonly<Record<string, string>> }> {
  const provider = providerNamed(name);
  expect(provider.routeProblem?.(model, settings)).toBeUndefined();
  emulator.script([reply.text('ok')]);
  const request = requestFor('chat', { model, settings, maxOutputTokens: 8_192 });
  await provider.send(request, sendOptions());
  const { body, headers } = emulator.requests.at(-1) ?? { body: {}, headers: {} };
  return { body, headers };
}

const mappings: readonly (readonly [string, string, ModelSettings, object])[] = [
  // Anthropic
  [
    'anthropic',
    'claude-sonnet-5',
    { reasoning: { effort: 'high' } },
    { thinking: { type: 'adaptive' }, output_config: { effort: 'high' }, max_tokens: 8_192 },
  ],
  [
    'anthropic',
    'claude-sonnet-5',
    { reasoning: { effort: 'none' } },
    { thinking: { type: 'disabled' } },
  ],
  [
    'anthropic',
    'claude-sonnet-4-5',
    { reasoning: { budgetTokens: 2_048 } },
    { thinking: { type: 'enabled', budget_tokens: 2_048 }, max_tokens: 8_192 },
  ],
  // A budget that would leave nothing for the reply is lowered, as a run's money may lower the limit.
  [
    'anthropic',
    'claude-sonnet-4-5',
    { reasoning: { budgetTokens: 50_000 } },
    { thinking: { type: 'enabled', budget_tokens: 7_168 }, max_tokens: 8_192 },
  ],
  [
    'anthropic',
    'claude-sonnet-5',
    {
      stopSequences: ['END'],
      serviceTier: 'standard_only',
      parallelToolCalls: false,
      promptCache: '1h',
    },
    {
      stop_sequences: ['END'],
      service_tier: 'standard_only',
      tool_choice: { type: 'auto', disable_parallel_tool_use: true },
      system: [{ cache_control: { type: 'ephemeral', ttl: '1h' } }],
      tools: [{ cache_control: { type: 'ephemeral', ttl: '1h' } }],
      messages: [{ content: [{ cache_control: { type: 'ephemeral', ttl: '1h' } }] }],
    },
  ],
  // Responses
  [
    'responses',
    'gpt-5',
    {
      reasoning: { effort: 'xhigh' },
      serviceTier: 'priority',
      parallelToolCalls: false,
      promptCache: '24h',
      extraBody: { reasoning: { summary: 'auto' }, text: { verbosity: 'low' } },
    },
    {
      reasoning: { effort: 'xhigh', summary: 'auto' },
      service_tier: 'priority',
      parallel_tool_calls: false,
      prompt_cache_retention: '24h',
      text: { verbosity: 'low' },
      include: ['reasoning.encrypted_content'],
    },
  ],
  ['responses', 'gpt-4.1', { temperature: 0.3, topP: 0.9 }, { temperature: 0.3, top_p: 0.9 }],
  // Chat Completions
  [
    'chat',
    'gpt-5',
    { reasoning: { effort: 'minimal' }, serviceTier: 'flex', parallelToolCalls: true },
    { reasoning_effort: 'minimal', service_tier: 'flex', parallel_tool_calls: true },
  ],
  [
    'chat',
    'gpt-4.1',
    { temperature: 0.3, topP: 0.9, stopSequences: ['a', 'b'], extraBody: { seed: 7 } },
    { temperature: 0.3, top_p: 0.9, stop: ['a', 'b'], seed: 7 },
  ],
  [
    'openrouter',
    'anthropic/claude-opus-5',
    { reasoning: { budgetTokens: 2_000 } },
    { reasoning: { max_tokens: 2_000 } },
  ],
  ['openrouter', 'x-ai/grok', { reasoning: { effort: 'low' } }, { reasoning: { effort: 'low' } }],
  [
    'deepseek',
    'deepseek-v4',
    { reasoning: { effort: 'max' } },
    { thinking: { type: 'enabled' }, reasoning_effort: 'max' },
  ],
  ['kimi', 'kimi-k2', { reasoning: { effort: 'none' } }, { thinking: { type: 'disabled' } }],
  [
    'qwen',
    'qwen3-max',
    { reasoning: { budgetTokens: 4_096 } },
    { enable_thinking: true, thinking_budget: 4_096 },
  ],
  ['gemini', 'gemini-3-flash', { reasoning: { effort: 'low' } }, { reasoning_effort: 'low' }],
  ['some-server', 'llama', { extraBody: { top_k: 3 } }, { top_k: 3 }],
];

test.each(mappings)('%s sends to %s: %j', async (name, model, settings, expected) => {
  const { body } = await sent(name, model, settings);
  expect(body).toMatchObject(expected);
  expect(emulator.refusals).toEqual([]);
});

test('a limit without room for a budget of thoughts is sent without them', async () => {
  emulator.script([reply.text('ok')]);
  const request = requestFor('anthropic', {
    model: 'claude-sonnet-4-5',
    maxOutputTokens: 1_500,
    settings: { reasoning: { budgetTokens: 1_024 } },
  });
  await providerNamed('anthropic').send(request, sendOptions());
  const { body } = emulator.requests.at(-1) ?? {};
  expect(body).toMatchObject({ max_tokens: 1_500 });
  expect(body).not.toHaveProperty('thinking');
});

test('the prompt cache is turned off, and fields for tools are left out where there are none', async () => {
  const anthropic = await sent('anthropic', 'claude-sonnet-5', { promptCache: 'off' });
  expect(JSON.stringify(anthropic.body)).not.toContain('cache_control');
  for (const name of ['anthropic', 'responses', 'chat']) {
    emulator.script([reply.text('ok')]);
    const settings = { parallelToolCalls: false };
    const model = name === 'anthropic' ? 'claude-sonnet-5' : 'gpt-4.1';
    const request = requestFor('chat', { model, settings, tools: [] });
    await providerNamed(name).send(request, sendOptions());
    const body = JSON.stringify(emulator.requests.at(-1)?.body);
    expect(body).not.toMatch(/parallel|tool_choice/);
  }
});

test.each(['anthropic', 'responses', 'chat'])(
  '%s sends extra headers, and no field of its own gives way to extra ones',
  async (name) => {
    const model = name === 'anthropic' ? 'claude-sonnet-5' : 'gpt-4.1';
    const { headers } = await sent(name, model, {
      extraHeaders: { 'x-team': 'billing', 'anthropic-beta': 'context-1m' },
    });
    expect(headers).toMatchObject({ 'x-team': 'billing', 'anthropic-beta': 'context-1m' });
    // What the check refuses would be harmless even if it came through.
    emulator.script([reply.text('ok')]);
    const limit = { anthropic: 'max_tokens', responses: 'max_output_tokens' }[name];
    const settings = {
      extraBody: {
        model: 'another',
        stream: false,
        tools: [],
        [limit ?? 'max_completion_tokens']: 1,
      },
      extraHeaders: { authorization: 'Bearer stolen', 'x-api-key': 'stolen' },
    };
    await providerNamed(name).send(requestFor('chat', { model, settings }), sendOptions());
    const last = emulator.requests.at(-1);
    expect(last?.body).toMatchObject({
      ...{ model, stream: true, tools: [{}] },
      [limit ?? 'max_completion_tokens']: 1_024,
    });
    expect(JSON.stringify([last?.body, last?.headers])).not.toMatch(/another|stolen/);
  },
);

const route = { provider: 'openai', model: 'gpt-5' };
const claude = { provider: 'anthropic', model: 'claude-sonnet-5' };
const gpt4 = { provider: 'openai', model: 'gpt-4.1' };
const chatGpt = { provider: 'chat', model: 'gpt-4.1' };

/** A provider of somebody else's making. */
const withoutSettings = without<Provider>(scriptedProvider('scripted', []), 'routeProblem');

function resolved(written: object): ReturnType<typeof createAgentCatalog> {
  const known = [
    anthropicProvider({ apiKey: testKey }),
    openaiProvider({ apiKey: testKey, api: 'responses' }),
    openaiProvider({ apiKey: testKey, api: 'chat', name: 'chat', dialect: chatDialects.openai }),
    presetProvider('kimi', { apiKey: testKey }),
    presetProvider('qwen', { apiKey: testKey }),
    presetProvider('gemini', { apiKey: testKey }),
    withoutSettings,
  ];
  const agent = defineAgent({
    name: 'a',
    instructions: 'x',
    tools: [],
    chain: [{ windowTokens: 200_000, ...written } as unknown as RouteDefinition],
  });
  return createAgentCatalog([agent], known);
}

/** Every way to set what cannot be: the thing, the value, and what to do. */
const wrongUses: readonly (readonly [string, object, RegExp])[] = [
  ['an unknown setting', { ...route, topK: 3 }, /topK/],
  ['an unknown effort', { ...route, reasoning: { effort: 'huge' } }, /effort: 'high'/],
  [
    'effort and budget at once',
    { ...claude, reasoning: { effort: 'low', budgetTokens: 2_000 } },
    /effort: 'high'.*or \{ budgetTokens \}/,
  ],
  ['a budget below the least', { ...claude, reasoning: { budgetTokens: 10 } }, /1024/],
  ['topP 0', { ...gpt4, topP: 0 }, /topP/],
  ['topP 1.5', { ...gpt4, topP: 1.5 }, /topP/],
  ['a temperature of 3', { ...gpt4, temperature: 3 }, /temperature/],
  ['an empty stop sequence', { ...chatGpt, stopSequences: [''] }, /not empty/],
  ['no stop sequence', { ...chatGpt, stopSequences: [] }, /leave it out/],
  ['an unknown tier', { ...route, serviceTier: 'fast' }, /'flex'/],
  ['a text for parallelToolCalls', { ...route, parallelToolCalls: 'no' }, /true or false/],
  ['an unknown cache', { ...claude, promptCache: '5m' }, /'1h'/],
  ['an extra body of functions', { ...route, extraBody: { f: () => 1 } }, /extraBody/],
  ['an extra header of a number', { ...route, extraHeaders: { a: 1 } }, /extraHeaders/],
  [
    'a temperature on Anthropic',
    { ...claude, temperature: 0 },
    /temperature 0 .*no sampling settings; leave it out/,
  ],
  ['topP on Anthropic', { ...claude, topP: 0.5 }, /topP 0\.5 .*leave it out/],
  [
    'the effort minimal on Anthropic',
    { ...claude, reasoning: { effort: 'minimal' } },
    /"minimal".*\{ effort: 'low' \}/,
  ],
  [
    'an effort on an older Claude',
    { ...claude, model: 'claude-sonnet-4-5', reasoning: { effort: 'high' } },
    /claude-sonnet-4-5.*budgetTokens: 4096/,
  ],
  [
    'a budget on a newer Claude',
    { ...claude, reasoning: { budgetTokens: 2_000 } },
    /2000.*claude-sonnet-5.*effort: 'high'/,
  ],
  [
    'a budget above the limit',
    {
      ...claude,
      model: 'claude-sonnet-4-5',
      maxOutputTokens: 2_500,
      reasoning: { budgetTokens: 2_000 },
    },
    /budgetTokens 2000 .*maxOutputTokens 2500; set maxOutputTokens to at least 3024/,
  ],
  ["OpenAI's tier on Anthropic", { ...claude, serviceTier: 'flex' }, /"flex".*'standard_only'/],
  ["Anthropic's tier on OpenAI", { ...route, serviceTier: 'standard_only' }, /'priority'/],
  ["OpenAI's cache on Anthropic", { ...claude, promptCache: '24h' }, /"24h".*'1h'/],
  ["Anthropic's cache on OpenAI", { ...route, promptCache: '1h' }, /"1h".*'24h'/],
  ['a temperature on a model that reasons', { ...route, temperature: 0.2 }, /temperature 0\.2/],
  ['an effort on a model that does not', { ...gpt4, reasoning: { effort: 'low' } }, /gpt-4\.1/],
  ['a budget on OpenAI', { ...route, reasoning: { budgetTokens: 2_000 } }, /2000.*effort: 'high'/],
  ['stop sequences on Responses', { ...gpt4, stopSequences: ['x'] }, /use the API 'chat'/],
  [
    'stop sequences on a model that reasons',
    { ...chatGpt, model: 'gpt-5', stopSequences: ['x'] },
    /leave it out/,
  ],
  [
    'five stop sequences',
    { ...chatGpt, stopSequences: ['a', 'b', 'c', 'd', 'e'] },
    /5 texts; give at most 4/,
  ],
  [
    'a field that a server may not know',
    { provider: 'gemini', model: 'gemini-3-flash', serviceTier: 'flex' },
    /extraBody: \{ service_tier/,
  ],
  [
    'an effort on Kimi',
    { provider: 'kimi', model: 'kimi-k2', reasoning: { effort: 'high' } },
    /Kimi.*effort: 'none'/,
  ],
  [
    'a temperature on Kimi',
    { provider: 'kimi', model: 'kimi-k2', temperature: 0.5 },
    /leave it out/,
  ],
  [
    'an effort on Qwen',
    { provider: 'qwen', model: 'qwen3-max', reasoning: { effort: 'high' } },
    /budgetTokens: 4096/,
  ],
  ...['model', 'messages', 'stream', 'tools', 'max_tokens', 'thinking'].map(
    (field) =>
      [
        `the extra field ${field} on Anthropic`,
        { ...claude, extraBody: { [field]: 1 } },
        new RegExp(`${field}, which Holdfast sends itself; leave it out`),
      ] as const,
  ),
  ...['input', 'store', 'include', 'max_output_tokens', 'previous_response_id'].map(
    (field) =>
      [
        `the extra field ${field} on Responses`,
        { ...route, extraBody: { [field]: 1 } },
        new RegExp(`${field}, which Holdfast sends itself`),
      ] as const,
  ),
  [
    'the format of the reply on Responses',
    { ...route, extraBody: { text: { format: { type: 'text' } } } },
    /text\.format/,
  ],
  ...['n', 'stream_options', 'response_format', 'max_completion_tokens'].map(
    (field) =>
      [
        `the extra field ${field} on Chat`,
        { ...chatGpt, extraBody: { [field]: 1 } },
        new RegExp(`${field}, which Holdfast sends itself`),
      ] as const,
  ),
  ...['Authorization', 'x-api-key', 'api-key', 'Cookie', 'host', 'content-type'].map(
    (header) =>
      [
        `the extra header ${header}`,
        { ...route, extraHeaders: { [header]: 'x' } },
        new RegExp(`${header}, which Holdfast sends itself; credentials`),
      ] as const,
  ),
  ['a header of two lines', { ...route, extraHeaders: { a: 'x\ny' } }, /line breaks/],
  ['a large extra body', { ...route, extraBody: { a: 'x'.repeat(20_000) } }, /16384/],
  [
    'settings for a provider that takes none',
    { provider: 'scripted', model: 'x', parallelToolCalls: false },
    /"scripted" takes no settings \(parallelToolCalls\)/,
  ],
];

test.each(wrongUses)('refuses %s before anything is sent', (_name, written, words) => {
  expect(() => resolved(written)).toThrow(words);
  expect(() => resolved(written)).toThrow(/^Agent "a"/);
});

test('what no wire has does not compile', () => {
  const place = { provider: 'openai', model: 'gpt-5' };
  const routes: readonly RouteDefinition[] = [
    // @ts-expect-error: no model knows this effort.
    { ...place, reasoning: { effort: 'huge' } },
    // @ts-expect-error: effort or budget.
    { ...place, reasoning: {} },
    // @ts-expect-error: no vendor has this tier.
    { ...place, serviceTier: 'fast' },
    // @ts-expect-error: a header is a text.
    { ...place, extraHeaders: { a: 1 } },
    // @ts-expect-error: a body is JSON.
    { ...place, extraBody: { f: () => 1 } },
    // @ts-expect-error: no setting of this name.
    { ...place, topK: 3 },
  ];
  for (const each of routes) expect(() => resolved(each)).toThrow(UserError);
});

test('an effort asks for room to reason, a budget comes on top, and a set limit stays', () => {
  const limitOf = (written: object): number | undefined =>
    resolved(written).agents.get('a')?.chain[0]?.maxOutputTokens;
  expect(limitOf(route)).toBe(8_192);
  const limits = reasoningEfforts.map((effort) => limitOf({ ...route, reasoning: { effort } }));
  expect(limits).toEqual([8_192, 8_192, 8_192, 32_768, 32_768, 32_768, 32_768]);
  const small = { ...route, windowTokens: 50_000, reasoning: { effort: 'high' } };
  expect(limitOf(small)).toBe(12_500);
  expect(limitOf({ ...small, windowTokens: 16_000 })).toBe(8_192);
  const older = { ...claude, model: 'claude-sonnet-4-5' };
  expect(limitOf({ ...older, reasoning: { budgetTokens: 5_000 } })).toBe(13_192);
  expect(limitOf({ ...route, reasoning: { effort: 'max' }, maxOutputTokens: 900 })).toBe(900);
});

test('a price that the catalog does not have is not guessed', () => {
  const priceOf = (written: object) => resolved(written).agents.get('a')?.chain[0]?.price;
  const usual = priceOf(claude);
  expect(priceOf({ ...claude, promptCache: '1h' })).toEqual({
    ...usual,
    cacheWrite: 2 * (usual?.input ?? NaN),
  });
  expect(priceOf(route)).toBeDefined();
  expect(priceOf({ ...route, serviceTier: 'flex' })).toBeUndefined();
  expect(priceOf({ ...route, serviceTier: 'flex', prices: { input: 1, output: 2 } })).toBeDefined();
});
