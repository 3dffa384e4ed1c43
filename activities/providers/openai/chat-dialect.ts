/** How servers that speak OpenAI's Chat Completions differ from each other in what they ask for. */

/** One server's dialect. */
export interface ChatDialect {
  /** Name of the output limit. */
  readonly outputLimit: 'max_tokens' | 'max_completion_tokens';
  /** Longest tool call id that the server takes. */
  readonly maxCallIdLength: number;
  /** User messages may not follow each other: local chat templates refuse that. */
  readonly alternates: boolean;
  /** The model's reasoning text must come back beside its tool calls (DeepSeek). */
  readonly returnsReasoning: boolean;
  /** Tool calls carry a thought signature that must come back (Gemini). */
  readonly signsToolCalls: boolean;
  /** The model's reasoning comes as details that must come back (OpenRouter). */
  readonly returnsReasoningDetails: boolean;
  /** `response_format` with a JSON schema is kept. */
  readonly keepsOutputSchema: boolean;
  /** Models that reason refuse a temperature. */
  readonly reasoningRefusesTemperature: boolean;
  /** Takes `prompt_cache_key`, on either wire. */
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

/** Any other server: the older name of the limit, and the strictest length of an id. */
export const compatibleDialect: ChatDialect = {
  ...openaiDialect,
  outputLimit: 'max_tokens',
  keepsOutputSchema: false,
  reasoningRefusesTemperature: false,
  takesCacheKey: false,
};
