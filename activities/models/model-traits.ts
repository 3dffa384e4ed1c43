/** What a model's name says about its abilities, where requests and measures depend on it. */

/**
 * True if a model on OpenAI's wires reasons: such models refuse a temperature, and only they take
 * `reasoning.encrypted_content`. The list names the models that do not, since all new ones do.
 *
 * Source: "Encrypted content is not supported with this model" (NousResearch/hermes-agent#24234).
 */
export function isReasoningModel(model: string): boolean {
  const bare = model.slice(model.lastIndexOf('/') + 1);
  return !/^(?:ft:)?(?:gpt-3|gpt-4|chatgpt|gpt-5-chat)/i.test(bare);
}

const claudeVersion = /claude-[a-z]+-(\d{1,2})(?:-(\d{1,2}))?(?![\d])/;

/**
 * True from Claude Opus 4.7 on: these models have a newer tokenizer and take images of up to 2,576 pixels a side. A name
 * whose version cannot be read counts as newer, as that measures more tokens.
 *
 * Source: the vendor's token counting guide and its page on Claude Opus 4.7.
 */
export function isNewerClaude(model: string): boolean {
  const name = model.toLowerCase();
  if (/claude-(?:\d|instant)/.test(name)) return false;
  const match = claudeVersion.exec(name);
  if (match?.[1] === undefined) return true;
  return Number(match[1]) * 100 + Number(match[2] ?? 0) >= 407;
}
