/** Reads the numbers in a vendor's refusal of a request as too long: exact, where every estimate is a guess. */
import type { ContextOverflow } from '../../../workflows/core/failure';

type Field = 'inputTokens' | 'outputTokens' | 'totalTokens' | 'windowTokens';

/** A sentence of a vendor, and which of its numbers is what. */
interface Sentence {
  readonly words: RegExp;
  readonly fields: readonly Field[];
}

const number = String.raw`([\d,_]{2,12})`;
const sentence = (words: string, ...fields: readonly Field[]): Sentence => ({
  words: new RegExp(words.replaceAll('#', number), 'i'),
  fields,
});

/** The first sentence that is found for a field decides it. Source: the vendors' own error bodies (test/providers/overflow-numbers). */
const sentences: readonly Sentence[] = [
  // Anthropic.
  sentence('exceed context limit: # \\+ # > #', 'inputTokens', 'outputTokens', 'windowTokens'),
  sentence('prompt is too long: # tokens > # maximum', 'inputTokens', 'windowTokens'),
  // OpenAI, DeepSeek, vLLM, OpenRouter.
  sentence(
    '# (?:tokens )?(?:in the messages|of text input|in the prompt|in your prompt)',
    'inputTokens',
  ),
  sentence('# (?:tokens )?(?:in the completion|in the output|for the completion)', 'outputTokens'),
  sentence('you requested (?:about )?# tokens', 'totalTokens'),
  sentence('messages resulted in # tokens', 'inputTokens'),
  sentence('request has # input tokens', 'inputTokens'),
  sentence("max_(?:completion_)?tokens'? is too large: #", 'outputTokens'),
  sentence('maximum (?:context|model) length (?:is|of) #', 'windowTokens'),
  sentence(
    'prompt \\(length #\\) is longer than the maximum model length of #',
    'inputTokens',
    'windowTokens',
  ),
  // Gemini.
  sentence(
    'input token count (?:is |\\()?#\\)? exceeds the maximum number of tokens allowed \\(?#',
    'inputTokens',
    'windowTokens',
  ),
  // xAI.
  sentence(
    'maximum prompt length is # but the request contains # tokens',
    'windowTokens',
    'inputTokens',
  ),
  // Mistral.
  sentence(
    'prompt contains # tokens.{0,80}with # maximum context length',
    'inputTokens',
    'windowTokens',
  ),
  // llama.cpp and its kin.
  sentence(
    'request \\(# tokens\\) exceeds the available context size \\(# tokens\\)',
    'inputTokens',
    'windowTokens',
  ),
  sentence('available context size \\(# tokens\\)', 'windowTokens'),
  // DashScope.
  sentence('range of input length should be \\[\\d+, ?#\\]', 'windowTokens'),
  // A bucket of tokens per minute that the request does not fit into even when it is full.
  sentence('limit:? #\\b.{0,60}\\brequested:? \\d', 'windowTokens'),
];

function wholeNumber(text: string | undefined): number | undefined {
  const value = Number((text ?? '').replace(/[,_]/g, ''));
  return Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

/**
 * The numbers that the texts name; undefined where they name none.
 *
 * Contract: pure and total; numbers that contradict each other (a limit above what it refused) are not believed.
 */
export function overflowNumbers(texts: readonly string[]): ContextOverflow | undefined {
  const found: { -readonly [Name in Field]?: number } = {};
  const text = texts.join('\n').slice(0, 4_000);
  for (const { words, fields } of sentences) {
    const match = words.exec(text);
    fields.forEach((field, index) => {
      const value = wholeNumber(match?.[index + 1]);
      if (value !== undefined) found[field] ??= value;
    });
  }
  const { inputTokens, outputTokens = 0, windowTokens } = found;
  const isBelievable =
    inputTokens === undefined ||
    windowTokens === undefined ||
    inputTokens + outputTokens > windowTokens;
  if (!isBelievable) return undefined;
  return Object.keys(found).length === 0 ? undefined : found;
}
