/** How servers that speak OpenAI's Chat Completions differ. */

/** One server's dialect. */
export interface ChatDialect {
  /** Name of the output limit. */
  readonly outputLimit: 'max_tokens' | 'max_completion_tokens';
  /** Longest tool call id that the server accepts. */
  readonly maxCallIdLength: number;
  /** Consecutive user messages must be merged, as local chat templates refuse them. */
  readonly alternates: boolean;
  /** The model's reasoning text must be sent back with its tool calls (DeepSeek). */
  readonly returnsReasoning: boolean;
  /** Tool calls carry a thought signature that must be sent back (Gemini). */
  readonly signsToolCalls: boolean;
  /** The model's reasoning consists of details that must be sent back (OpenRouter). */
  readonly returnsReasoningDetails: boolean;
  /** A JSON schema in `response_format` is enforced. */
  readonly keepsOutputSchema: boolean;
  /** Models that reason refuse a temperature. */
  readonly reasoningRefusesTemperature: boolean;
  /** Accepts `prompt_cache_key`, on both APIs. */
  readonly takesCacheKey: boolean;
}

/** OpenAI itself. Source of 40: microsoft/autogen#6377. */
export const openaiDialect: ChatDialect = {
  outputLimit: 'max_completion_tokens',
  maxCallIdLength: 40,
  alternates: false,
  returnsReasoning: false,
  signsToolCalls: false,
  returnsReasoningDetails: false,
  keepsOutputSchema: true,
  reasoningRefusesTemperature: true,
  takesCacheKey: true,
};

/** Any other server: the older name of the limit, and the strictest length of ids. */
export const compatibleDialect: ChatDialect = {
  ...openaiDialect,
  outputLimit: 'max_tokens',
  keepsOutputSchema: false,
  reasoningRefusesTemperature: false,
  takesCacheKey: false,
};
