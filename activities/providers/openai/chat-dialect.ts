/** How servers that speak Chat Completions differ, as data (ADR 0046). */
import type { SchemaSubset } from '../request/tool-schema';
import { geminiSchemas, moonshotSchemas } from '../request/tool-schema';

/** How a model's thoughts go back to the server that made them. */
export type ReturnedThoughts =
  /** As text in a field of the message: of each message of the model, or of those that call tools. Where it has none, a text says so. */
  | {
      readonly as: 'text';
      readonly field: 'reasoning_content' | 'reasoning' | 'thinking';
      readonly on: 'every-message' | 'tool-calls';
    }
  /** As a signature in each call's `extra_content` (Gemini). */
  | { readonly as: 'call-signatures' }
  /** As `reasoning_details`, to the same model after the same prompt (OpenRouter). */
  | { readonly as: 'details' };

/** How one server differs from what all of them accept. A field that is absent has its default. */
export interface ChatDialect {
  /**
   * The ids of tool calls. `nine`: exactly nine letters or digits, which Mistral demands and every server takes. `short`: any of up
   * to 40 characters. An id that does not fit is sent as its digest, the same in every request. Default `nine`.
   */
  readonly callIds?: 'short' | 'nine';
  /**
   * The order of messages that the server takes. `merged`: no two messages of one role follow each other, so they are sent as one.
   * `bridged`: in addition, no user message follows a tool result, so a short message of the model is sent between. Default `free`.
   */
  readonly turns?: 'free' | 'merged' | 'bridged';
  /** Where the instructions stand; some chat templates (Gemma 2) know no system role. Default `message`. */
  readonly system?: 'message' | 'first-user';
  /** Content of a message that only calls tools. Default `null`. */
  readonly emptyContent?: null | '';
  /** Field of the output limit. Default `max_tokens`. */
  readonly outputLimit?: 'max_tokens' | 'max_completion_tokens';
  /** Whether the server takes a temperature: `unless-reasoning` goes by the model's name. Default `always`. */
  readonly temperature?: 'always' | 'unless-reasoning' | 'never';
  /** False if the server counts tokens in every stream and refuses `stream_options`. Default true. */
  readonly asksForUsage?: boolean;
  /**
   * Fields of OpenAI's own that the server takes: the key of the prompt cache, on both APIs, a JSON schema that the reply's text must
   * fit, and what routes can set.
   */
  readonly extras?: readonly (
    | 'prompt_cache_key'
    | 'response_format'
    | 'service_tier'
    | 'prompt_cache_retention'
    | 'parallel_tool_calls'
  )[];
  /**
   * How the server is told how much to reason: by `reasoning_effort`, by `reasoning` (OpenRouter), by turning `thinking` off (Kimi)
   * and giving an effort beside it (DeepSeek), or by `enable_thinking` and `thinking_budget` (Qwen). Default `reasoning_effort`.
   */
  readonly reasoning?:
    'reasoning_effort' | 'reasoning' | 'thinking' | 'thinking-and-effort' | 'enable_thinking';
  /** Default: thoughts are not sent back. */
  readonly thoughts?: ReturnedThoughts;
  /** What `<think>` at the beginning of a reply's text is. Default `thought`. */
  readonly thinkTags?: 'thought' | 'text';
  /** The JSON Schema that the server takes for a tool's input. Default: all of it. */
  readonly toolSchemas?: SchemaSubset;
}

/**
 * The dialects of known servers. Never sent to any of them, since some refuse it: the role `developer`, `tool_choice`, a system
 * message that is not the first; `parallel_tool_calls` only where a route sets it.
 *
 * Source: each server's own refusals, as `testing/emulator/openai-chat/servers` plays them.
 */
export const chatDialects = {
  /** OpenAI itself. */
  openai: {
    callIds: 'short',
    outputLimit: 'max_completion_tokens',
    temperature: 'unless-reasoning',
    extras: [
      'prompt_cache_key',
      'response_format',
      'service_tier',
      'prompt_cache_retention',
      'parallel_tool_calls',
    ],
    thinkTags: 'text',
  },
  /** Any other server. */
  compatible: {},
  gemini: { turns: 'merged', thoughts: { as: 'call-signatures' }, toolSchemas: geminiSchemas },
  deepseek: {
    thoughts: { as: 'text', field: 'reasoning_content', on: 'every-message' },
    reasoning: 'thinking-and-effort',
  },
  qwen: { turns: 'merged', reasoning: 'enable_thinking', extras: ['parallel_tool_calls'] },
  openrouter: {
    thoughts: { as: 'details' },
    reasoning: 'reasoning',
    extras: ['service_tier', 'parallel_tool_calls'],
  },
  /** Mistral's API, and its chat templates on vLLM, llama.cpp, MLX and others. */
  mistral: {
    turns: 'bridged',
    emptyContent: '',
    asksForUsage: false,
    extras: ['parallel_tool_calls'],
  },
  /** Moonshot's API, and Kimi models on other hosts. */
  kimi: {
    temperature: 'never',
    reasoning: 'thinking',
    thoughts: { as: 'text', field: 'reasoning_content', on: 'tool-calls' },
    toolSchemas: moonshotSchemas,
  },
  ollama: { turns: 'merged', emptyContent: '' },
  vllm: { turns: 'merged', emptyContent: '', extras: ['parallel_tool_calls'] },
} as const satisfies Readonly<Record<string, ChatDialect>>;
