/** Servers that speak Chat Completions, with their addresses and dialects. */
import { defined } from '../../workflows/core/json';
import { UserError } from '../lifecycle/user-error';
import { chatDialects } from './openai/chat-dialect';
import { openaiProvider, type OpenAIProviderConfig } from './openai/openai-provider';
import type { Provider } from './provider';

type Preset = Pick<OpenAIProviderConfig, 'baseUrl' | 'needsKey'>;

/** Source of each address: the vendor's own page on OpenAI compatibility. The dialect is the one of the same name. */
const presets = {
  gemini: { baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai' },
  deepseek: { baseUrl: 'https://api.deepseek.com' },
  qwen: { baseUrl: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1' },
  openrouter: { baseUrl: 'https://openrouter.ai/api/v1' },
  mistral: { baseUrl: 'https://api.mistral.ai/v1' },
  kimi: { baseUrl: 'https://api.moonshot.ai/v1' },
  ollama: { baseUrl: 'http://127.0.0.1:11434/v1', needsKey: false },
  vllm: { baseUrl: 'http://127.0.0.1:8000/v1', needsKey: false },
} satisfies Readonly<Record<string, Preset>>;

/** Servers known by name. */
export type PresetName = keyof typeof presets;

/** Names of all presets. */
export const presetNames = Object.keys(presets) as readonly PresetName[];

/**
 * A provider for a server that is known by name. `name` in chains is the preset's by default. A local server whose model has another
 * vendor's chat template takes that dialect: `presetProvider('vllm', { dialect: chatDialects.mistral })`.
 */
export function presetProvider(
  presetName: PresetName,
  config: Pick<OpenAIProviderConfig, 'apiKey' | 'baseUrl' | 'name' | 'dialect'> = {},
): Provider {
  if (!Object.hasOwn(presets, presetName))
    throw new UserError(
      `No preset is called ${JSON.stringify(presetName)}; known are ${presetNames.join(', ')}. For another server that speaks Chat Completions: openaiProvider({ api: 'chat', name, baseUrl, apiKey }).`,
    );
  const dialect = chatDialects[presetName];
  const fixed = { api: 'chat', name: presetName, vendor: presetName, dialect } as const;
  return openaiProvider({ ...fixed, ...presets[presetName], ...defined(config) });
}
