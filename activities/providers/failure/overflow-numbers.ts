/** Reads the numbers in a vendor's refusal of a request as too long: exact, where every estimate is a guess. */
import type { ContextOverflow } from '../../../workflows/core/failure';

type Field = 'inputTokens' | 'outputTokens' | 'totalTokens' | 'windowTokens';

/** Sentences of vendors, with the fields that their numbers are. */
const sentences: readonly RegExp[] = [
  // Anthropic.
  'exceed context limit: {input} \\+ {output} > {window}',
  'prompt is too long: {input} tokens > {window} maximum',
  // OpenAI, DeepSeek, vLLM, OpenRouter.
  '{input} (?:tokens )?(?:in the messages|of text input|in the prompt|in your prompt)',
  '{output} (?:tokens )?(?:in the completion|in the output|for the completion)',
  'you requested (?:about )?{total} tokens',
  'messages resulted in {input} tokens',
  'request has {input} input tokens',
  "max_(?:completion_)?tokens'? is too large: {output}",
  'maximum (?:context|model) length (?:is|of) {window}',
  'prompt \\(length {input}\\) is longer than the maximum model length of {window}',
  // Gemini.
  'input token count (?:is |\\()?{input}\\)? exceeds the maximum number of tokens allowed \\(?{window}',
  // xAI.
  'maximum prompt length is {window} but the request contains {input} tokens',
  // Mistral.
  'prompt contains {input} tokens.{0,80}with {window} maximum context length',
  // llama.cpp and similar servers.
  'request \\({input} tokens\\) exceeds the available context size \\({window} tokens\\)',
  'available context size \\({window} tokens\\)',
  // DashScope.
  'range of input length should be \\[\\d+, ?{window}\\]',
  // A bucket of tokens per minute that is smaller than the request even when it is full.
  'limit:? {window}\\b.{0,60}\\brequested:? \\d',
].map((words) => {
  const pattern = words.replace(/\{([a-z]+)\}/g, '(?<$1Tokens>[\\d,_]{2,12})');
  return new RegExp(pattern, 'i');
});

function wholeNumber(text: string | undefined): number | undefined {
  const value = Number((text ?? '').replace(/[,_]/g, ''));
  return Number.isSafeInteger(value) && value > 0 ? value : undefined;
}

/**
 * The numbers that the texts name; the first sentence that names a field decides it. Undefined if they name none.
 *
 * Contract: pure and total; numbers that contradict each other (a limit above what it refused) are not believed.
 * Source: the vendors' own error bodies (test/providers/overflow-numbers.test.ts).
 */
export function overflowNumbers(texts: readonly string[]): ContextOverflow | undefined {
  const found: { -readonly [Name in Field]?: number } = {};
  const text = texts.join('\n').slice(0, 4_000);
  for (const sentence of sentences)
    for (const [field, digits] of Object.entries(sentence.exec(text)?.groups ?? {})) {
      const value = wholeNumber(digits);
      if (value !== undefined) found[field as Field] ??= value;
    }
  const { inputTokens = Infinity, outputTokens = 0, windowTokens = 0 } = found;
  const isBelievable = inputTokens + outputTokens > windowTokens;
  return isBelievable && Object.keys(found).length > 0 ? found : undefined;
}
