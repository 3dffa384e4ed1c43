/** How servers that speak OpenAI's Chat Completions differ. */

/** How one server differs from what all of them accept. */
export interface ChatDialect {
  /**
   * OpenAI's own rules: the output limit is `max_completion_tokens`, models that reason refuse a temperature, a JSON schema in
   * `response_format` is enforced, and `prompt_cache_key` is accepted, the last one on both APIs.
   */
  readonly isOpenAi?: boolean;
  /** Consecutive user messages must be merged, as local chat templates refuse them. */
  readonly alternates?: boolean;
  /** The model's reasoning text must be sent back with its tool calls (DeepSeek). */
  readonly returnsReasoning?: boolean;
  /** Tool calls carry a thought signature that must be sent back (Gemini). */
  readonly signsToolCalls?: boolean;
  /** The model's reasoning consists of details that must be sent back (OpenRouter). */
  readonly returnsReasoningDetails?: boolean;
}

/** OpenAI itself. */
export const openaiDialect: ChatDialect = { isOpenAi: true };

/** Any other server. */
export const compatibleDialect: ChatDialect = {};
