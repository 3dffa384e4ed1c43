/** The real adapter of each dialect, pointed at an emulator that plays its server. */
import { anthropicProvider } from '../../../activities/providers/anthropic/anthropic-provider';
import { chatDialects } from '../../../activities/providers/openai/chat-dialect';
import { openaiProvider } from '../../../activities/providers/openai/openai-provider';
import { presetProvider } from '../../../activities/providers/presets';
import type { ModelReply, ModelRequest, Provider } from '../../../activities/providers/provider';
import { inSaidOrder } from '../../../activities/model-call/reply-intake';
import { VendorEmulator } from '../../../testing/emulator/emulator';
import type { Message, ToolCallBlock } from '../../../workflows/core/message';
import { requestFor, sendOptions, testKey } from '../support/provider-bench';

/** Mounts of the emulator, and so vendors: what each plays, and a model of it. */
export const servers = {
  anthropic: 'claude-opus-5-5',
  responses: 'gpt-5',
  openai: 'gpt-4.1',
  mistral: 'mistral-large-latest',
  kimi: 'kimi-k2.6',
  deepseek: 'deepseek-v4-pro',
  gemini: 'gemini-3-flash',
  ollama: 'qwen3',
  vllm: 'qwen3-32b',
  'vllm-mistral': 'devstral-small',
  openrouter: 'anthropic/claude-opus-5',
} as const;

export type Served = keyof typeof servers;

/** An emulator that plays all of them. */
export function startServers(): Promise<VendorEmulator> {
  const played = [
    'mistral',
    'kimi',
    'deepseek',
    'gemini',
    'ollama',
    'vllm',
    'vllm-mistral',
  ] as const;
  return VendorEmulator.start({
    servers: Object.fromEntries(played.map((name) => [name, name])),
  });
}

function providerOf(emulator: VendorEmulator, name: Served): Provider {
  const account = { apiKey: testKey, baseUrl: emulator.baseUrl('chat', name) };
  if (name === 'anthropic')
    return anthropicProvider({
      apiKey: testKey,
      baseUrl: emulator.baseUrl('anthropic', name),
    });
  if (name === 'responses')
    return openaiProvider({ ...account, name, api: 'responses', dialect: chatDialects.openai });
  if (name === 'openai') return openaiProvider({ ...account, api: 'chat' });
  return name === 'vllm-mistral'
    ? presetProvider('vllm', { ...account, name, dialect: chatDialects.mistral })
    : presetProvider(name, account);
}

/** Sends a conversation to a server. */
export function sendTo(
  emulator: VendorEmulator,
  name: Served,
  messages: readonly Message[],
  more: Partial<ModelRequest> = {},
): Promise<ModelReply> {
  const settings = name === 'anthropic' ? ({ reasoning: { effort: 'high' } } as const) : {};
  const request = requestFor('chat', { model: servers[name], messages, settings, ...more });
  return providerOf(emulator, name).send(request, sendOptions());
}

/** The message that the transcript keeps of a reply, with ids as the runtime mints them. */
export function kept(
  emulator: VendorEmulator,
  name: Served,
  reply: ModelReply,
  place: number,
): Extract<Message, { role: 'assistant' }> {
  const calls = reply.toolCalls.map((call, index): ToolCallBlock => ({
    type: 'tool-call',
    toolCallId: `6ipdqr3qhq_${place}_${index}`,
    name: call.name,
    input: JSON.parse(call.argumentsText) as ToolCallBlock['input'],
  }));
  const { vendor } = providerOf(emulator, name);
  return { role: 'assistant', vendor, model: reply.model, blocks: inSaidOrder(reply, calls) };
}
