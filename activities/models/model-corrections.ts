/** Models that the published catalog lacks or describes differently: these rows win over it (ADR 0009). */
import type { PriceDefinition } from './model-tables';

/** One model, by its exact name or a snapshot of it. */
export interface Correction {
  readonly windowTokens?: number;
  readonly prices?: PriceDefinition;
}

/** Anthropic's cache writes cost 1.25 times the input. */
function claude(input: number, output: number, cacheRead = input / 10): PriceDefinition {
  return { input, output, cacheRead, cacheWrite: input * 1.25 };
}

/** Above 272,000 tokens, input and cache cost twice as much, output one and a half times as much. */
const gptSol: PriceDefinition = {
  ...{ input: 2, output: 10, cacheRead: 0.1, cacheWrite: 2.5 },
  longPrompt: { aboveTokens: 272_000, input: 4, output: 15, cacheRead: 0.2, cacheWrite: 5 },
};

const million = 1_000_000;

/**
 * Source: the first seven windows are fixed by R-CTX-8. The others are from the vendors' model and pricing pages, read
 * 2026-11-28: platform.claude.com/docs, developers.openai.com/api/docs, ai.google.dev/gemini-api/docs.
 */
export const corrections: ReadonlyMap<string, Correction> = new Map([
  ['claude-sonnet-4', { windowTokens: 200_000 }],
  ['claude-opus-4', { windowTokens: 200_000 }],
  ['gpt-4o', { windowTokens: 128_000 }],
  ['gpt-4', { windowTokens: 8_192 }],
  ['gemini-1.5-pro', { windowTokens: 2_100_000 }],
  ['deepseek-chat', { windowTokens: 64_000 }],
  ['qwen-plus', { windowTokens: 131_072 }],
  ['claude-mythos-5', { windowTokens: million, prices: claude(10, 50) }],
  ['claude-mythos-5-1', { windowTokens: million, prices: claude(10, 50, 0.25) }],
  ['claude-sonnet-5-5', { windowTokens: million, prices: claude(2, 10, 0.1) }],
  [
    'claude-haiku-5-5',
    {
      windowTokens: million,
      prices: {
        ...claude(0.1, 0.5),
        longPrompt: { aboveTokens: 100_000, ...claude(0.5, 2.5) },
      },
    },
  ],
  ['gpt-5-chat', { windowTokens: 128_000 }],
  ['gpt-5.1-chat', { windowTokens: 128_000 }],
  ['gpt-5.2-chat', { windowTokens: 128_000 }],
  ['gpt-6.1-sol', { windowTokens: 922_000, prices: gptSol }],
  ['gpt-6.2-sol', { windowTokens: 922_000, prices: gptSol }],
  ['gemini-3-pro-preview', { windowTokens: 1_048_576 }],
  ['gemini-3.1-pro-preview', { windowTokens: 1_048_576 }],
]);
