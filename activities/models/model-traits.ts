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

/** Version of a Claude model as `major * 100 + minor`; undefined for a name that does not tell. */
function claudeVersionOf(model: string): number | undefined {
  const name = model.toLowerCase();
  if (/claude-(?:\d|instant)/.test(name)) return 0;
  const match = claudeVersion.exec(name);
  return match?.[1] === undefined ? undefined : Number(match[1]) * 100 + Number(match[2] ?? 0);
}

/**
 * True from Claude Opus 4.7 on: these models have a newer tokenizer and take images of up to 2,576 pixels a side. A name
 * whose version cannot be read counts as newer, as that measures more tokens.
 *
 * Source: the vendor's token counting guide and its page on Claude Opus 4.7.
 */
export function isNewerClaude(model: string): boolean {
  return (claudeVersionOf(model) ?? Infinity) >= 407;
}

/**
 * How a Claude model is told how much to think: by a budget of tokens up to 4.6, by effort from 4.6 on. A name whose version cannot
 * be read takes both.
 *
 * Source: the vendor's guide "Troubleshooting thinking".
 */
export function claudeThinking(model: string): {
  readonly budget: boolean;
  readonly effort: boolean;
} {
  const version = claudeVersionOf(model);
  return { budget: (version ?? 0) <= 406, effort: (version ?? Infinity) >= 406 };
}
