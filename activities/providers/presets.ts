/** Servers that speak Chat Completions, with their addresses and dialects. */
import { defined } from '../../workflows/core/json';
import { openaiProvider, type OpenAIProviderConfig } from './openai/openai-provider';
import type { Provider } from './provider';

type Preset = Pick<OpenAIProviderConfig, 'baseUrl' | 'needsKey' | 'dialect'>;

const local: Pick<Preset, 'needsKey' | 'dialect'> = {
  needsKey: false,
  dialect: { alternates: true },
};

/** Source of each address: the vendor's own page on OpenAI compatibility. */
const presets = {
  gemini: {
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
    dialect: { signsToolCalls: true },
  },
  deepseek: { baseUrl: 'https://api.deepseek.com', dialect: { returnsReasoning: true } },
  qwen: { baseUrl: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1' },
  openrouter: {
    baseUrl: 'https://openrouter.ai/api/v1',
    dialect: { returnsReasoningDetails: true },
  },
  ollama: { baseUrl: 'http://127.0.0.1:11434/v1', ...local },
  vllm: { baseUrl: 'http://127.0.0.1:8000/v1', ...local },
} satisfies Readonly<Record<string, Preset>>;

/** Servers known by name. */
export type PresetName = keyof typeof presets;

/** Names of all presets. */
export const presetNames = Object.keys(presets) as readonly PresetName[];

/** A provider for a server that is known by name. `name` in chains is the preset's by default. */
export function presetProvider(
  presetName: PresetName,
  config: Pick<OpenAIProviderConfig, 'apiKey' | 'baseUrl' | 'name'> = {},
): Provider {
  const fixed = { api: 'chat', name: presetName, vendor: presetName } as const;
  return openaiProvider({ ...fixed, ...presets[presetName], ...defined(config) });
}
