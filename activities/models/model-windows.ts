/** Context windows by model, in tokens. A route's `windowTokens` overrides it, and a worker may bring a table of its own. */
import { UserError } from '../lifecycle/user-error';

/** Windows in tokens by the beginning of a model's name. */
export type WindowTable = Readonly<Record<string, number>>;

/**
 * Longest matching beginning wins. OpenAI's newer models take less as input than their window, whose rest is the reply's: here
 * stands the input.
 *
 * Source: seed 001's table (first seven); the others from the vendors' model pages, read 2026-11-28 (ADR 0009).
 */
const knownWindows: WindowTable = {
  'claude-sonnet-4': 200_000,
  'claude-opus-4': 200_000,
  'gpt-4o': 128_000,
  'gpt-4': 8_192,
  'gemini-1.5-pro': 2_100_000,
  'deepseek-chat': 64_000,
  'qwen-plus': 131_072,
  claude: 200_000,
  'claude-opus-4-6': 1_000_000,
  'claude-opus-4-7': 1_000_000,
  'claude-opus-4-8': 1_000_000,
  'claude-sonnet-4-6': 1_000_000,
  'claude-opus-5': 1_000_000,
  'claude-sonnet-5': 1_000_000,
  'claude-fable-5': 1_000_000,
  'claude-mythos-5': 1_000_000,
  'gpt-3.5-turbo': 16_385,
  'gpt-4-32k': 32_768,
  'gpt-4-1106': 128_000,
  'gpt-4-0125': 128_000,
  'gpt-4-turbo': 128_000,
  'gpt-4.1': 1_047_576,
  'gpt-4.5': 128_000,
  'gpt-5': 272_000,
  'gpt-5-chat': 128_000,
  'gpt-5.1-chat': 128_000,
  'gpt-5.2-chat': 128_000,
  'gpt-5.3-chat': 128_000,
  'gpt-5.4': 922_000,
  'gpt-5.4-mini': 272_000,
  'gpt-5.4-nano': 272_000,
  'gpt-5.5': 922_000,
  'gpt-5.6': 922_000,
  'gpt-6': 922_000,
  'gpt-oss': 131_072,
  'chatgpt-4o': 128_000,
  o1: 200_000,
  'o1-mini': 128_000,
  'o1-preview': 128_000,
  o3: 200_000,
  'o4-mini': 200_000,
  'gemini-': 1_048_576,
  'deepseek-reasoner': 64_000,
  qwen: 131_072,
};

/**
 * The window of a model whose name, without a vendor's path in front, begins with a known prefix; else undefined. Rows of `own`
 * go before the built-in ones.
 */
export function windowOf(model: string, own: WindowTable = {}): number | undefined {
  return longestMatch(model, own) ?? longestMatch(model, knownWindows);
}

function longestMatch(model: string, table: WindowTable): number | undefined {
  const name = model.slice(model.lastIndexOf('/') + 1).toLowerCase();
  let best: readonly [string, number] | undefined;
  for (const entry of Object.entries(table)) {
    if (name.startsWith(entry[0].toLowerCase()) && entry[0].length > (best?.[0].length ?? -1))
      best = entry;
  }
  return best?.[1];
}

/** Errors: `UserError` that names the row. */
export function checkWindows(table: WindowTable): WindowTable {
  for (const [prefix, tokens] of Object.entries(table))
    if (!Number.isInteger(tokens) || tokens < 1)
      throw new UserError(
        `windows["${prefix}"] is ${tokens}; give the tokens that the model takes, a whole number of at least 1.`,
      );
  return table;
}
