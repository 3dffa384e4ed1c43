/** Context windows by model, in tokens. A route's `windowTokens` overrides it. */

/** Longest matching prefix wins. Source: seed 001's table (first seven), the others from the vendors' model pages (ADR 0009). */
const windows: readonly (readonly [prefix: string, tokens: number])[] = [
  ['claude-sonnet-4', 200_000],
  ['claude-opus-4', 200_000],
  ['gpt-4o', 128_000],
  ['gpt-4', 8_192],
  ['gemini-1.5-pro', 2_100_000],
  ['deepseek-chat', 64_000],
  ['qwen-plus', 131_072],
  ['claude', 200_000],
  ['gpt-4-turbo', 128_000],
  ['gpt-4.1', 1_047_576],
  ['gpt-5', 400_000],
  ['o1', 200_000],
  ['o3', 200_000],
  ['o4-mini', 200_000],
  ['gemini-', 1_048_576],
  ['deepseek-reasoner', 64_000],
  ['qwen', 131_072],
];

/** The window of a model whose name, without a vendor's path in front, begins with a known prefix; else undefined. */
export function windowOf(model: string): number | undefined {
  const name = model.slice(model.lastIndexOf('/') + 1).toLowerCase();
  let best: readonly [string, number] | undefined;
  for (const entry of windows) {
    if (name.startsWith(entry[0]) && entry[0].length > (best?.[0].length ?? 0)) best = entry;
  }
  return best?.[1];
}
