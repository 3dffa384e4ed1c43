/** Servers that speak Chat Completions, with their addresses and dialects. */
import { defined } from '../../workflows/core/json';
import { compatibleDialect, type ChatDialect } from './openai/chat-dialect';
import { openaiProvider, type OpenAIProviderConfig } from './openai/openai-provider';
import type { Provider } from './provider';

interface Preset {
  readonly baseUrl: string;
  readonly needsKey: boolean;
  readonly dialect: ChatDialect;
}

const local = { ...compatibleDialect, alternates: true };

/** Source of each address: the vendor's own page on OpenAI compatibility. */
const presets = {
  gemini: {
    baseUrl: 'https://generativelanguage.googleapis.com/v1beta/openai',
    needsKey: true,
    dialect: { ...compatibleDialect, signsToolCalls: true },
  },
  deepseek: {
    baseUrl: 'https://api.deepseek.com',
    needsKey: true,
    dialect: { ...compatibleDialect, returnsReasoning: true },
  },
  qwen: {
    baseUrl: 'https://dashscope-intl.aliyuncs.com/compatible-mode/v1',
    needsKey: true,
    dialect: compatibleDialect,
  },
  openrouter: {
    baseUrl: 'https://openrouter.ai/api/v1',
    needsKey: true,
    dialect: { ...compatibleDialect, returnsReasoningDetails: true },
  },
  ollama: { baseUrl: 'http://127.0.0.1:11434/v1', needsKey: false, dialect: local },
  vllm: { baseUrl: 'http://127.0.0.1:8000/v1', needsKey: false, dialect: local },
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
