/** Maps settings to fields of OpenAI's two APIs, and of the servers that speak Chat Completions in their own way. */
import { isReasoningModel } from '../../models/model-traits';
import type { ModelSettings } from '../settings/model-settings';
import type { Mapped, SettingRules } from '../settings/setting-rules';
import { extraBodyRule, extraHeadersRule } from '../settings/setting-rules';
import type { ChatDialect } from './chat-dialect';

type Reasoning = NonNullable<ModelSettings['reasoning']>;
type Extra = NonNullable<ChatDialect['extras']>[number];

const toolFields = ['tools', 'tool_choice', 'stream', 'stream_options'];

/** Fields that the adapter alone decides about. */
const ownedByChat = [
  ...['model', 'messages', 'n', 'max_tokens', 'max_completion_tokens', 'response_format'],
  ...['functions', 'function_call', 'modalities', 'audio'],
  ...toolFields,
];
const ownedByResponses = [
  ...['model', 'input', 'instructions', 'store', 'include', 'max_output_tokens', 'text.format'],
  ...['previous_response_id', 'conversation', 'prompt', 'background', 'context_management'],
  ...['reasoning.effort', ...toolFields],
];

/** Most stop sequences. Source: OpenAI's API reference, as other servers have it. */
const mostStops = 4;

const takesNone = (): string => 'is not taken by this model; leave it out.';

/** Whether a server takes a temperature for this model; if not, it takes no `top_p` either. */
function takesSampling(model: string, { temperature }: ChatDialect): boolean {
  return temperature === 'unless-reasoning' ? !isReasoningModel(model) : temperature !== 'never';
}

function noBudget(who: string): string {
  return `is no budget that ${who} takes; give an effort, such as { effort: 'high' }.`;
}

function notReasoning(model: string): string {
  return `is not taken by ${model}, which does not reason; leave it out.`;
}

/** How each kind of server is told how much to reason. Source: the vendors' guides to reasoning, each under its name. */
const chatReasoning: Readonly<
  Record<NonNullable<ChatDialect['reasoning']>, (reasoning: Reasoning) => Mapped>
> = {
  reasoning_effort: (reasoning) =>
    'effort' in reasoning ? { reasoning_effort: reasoning.effort } : noBudget('`reasoning_effort`'),
  // OpenRouter, "Reasoning Tokens".
  reasoning: (reasoning) => ({
    reasoning:
      'effort' in reasoning ? { effort: reasoning.effort } : { max_tokens: reasoning.budgetTokens },
  }),
  // DeepSeek, "Thinking Mode": its own list of efforts takes all words.
  'thinking-and-effort': (reasoning) => {
    if (!('effort' in reasoning)) return noBudget('DeepSeek');
    const { effort } = reasoning;
    return effort === 'none'
      ? { thinking: { type: 'disabled' } }
      : { thinking: { type: 'enabled' }, reasoning_effort: effort };
  },
  // Moonshot, "Thinking models": on unless it is off.
  thinking: (reasoning) =>
    'effort' in reasoning && reasoning.effort === 'none'
      ? { thinking: { type: 'disabled' } }
      : "is not taken by Kimi, which only turns reasoning off ({ effort: 'none' }); else leave it out.",
  // Alibaba Cloud, "Deep thinking".
  enable_thinking: (reasoning) => {
    if ('budgetTokens' in reasoning)
      return { enable_thinking: true, thinking_budget: reasoning.budgetTokens };
    return reasoning.effort === 'none'
      ? { enable_thinking: false }
      : "is not taken by Qwen, which has a budget instead; give { budgetTokens: 4096 } or another number, or { effort: 'none' }.";
  },
};

/** A field of OpenAI's own, for servers that are known to take it. */
function extra(dialect: ChatDialect, name: Extra, fields: Mapped): Mapped {
  return dialect.extras?.includes(name) === true
    ? fields
    : `is not known to be taken by this server; if it is, give it as extraBody: { ${name}: … }.`;
}

function tierFields(tier: NonNullable<ModelSettings['serviceTier']>): Mapped {
  return tier === 'standard_only'
    ? "is a tier of Anthropic's; give 'auto', 'default', 'flex', 'scale' or 'priority'."
    : { service_tier: tier };
}

function cacheFields(kept: NonNullable<ModelSettings['promptCache']>): Mapped {
  return kept === '24h'
    ? { prompt_cache_retention: kept }
    : "is not a choice of OpenAI's, which caches by itself; give '24h', or leave it out.";
}

/** The rules of the Chat Completions API for a model, in a server's dialect. */
export function chatSettings(model: string, dialect: ChatDialect): SettingRules {
  const isOpenAi = dialect.temperature === 'unless-reasoning';
  const [samples, reasons] = [takesSampling(model, dialect), !isOpenAi || isReasoningModel(model)];
  return {
    reasoning: (reasoning) =>
      reasons
        ? chatReasoning[dialect.reasoning ?? 'reasoning_effort'](reasoning)
        : notReasoning(model),
    temperature: samples ? (temperature) => ({ temperature }) : takesNone,
    topP: samples ? (topP) => ({ top_p: topP }) : takesNone,
    stopSequences: (texts) => {
      if (isOpenAi && isReasoningModel(model)) return takesNone();
      return texts.length > mostStops
        ? `has ${texts.length} texts; give at most ${mostStops}.`
        : { stop: [...texts] };
    },
    serviceTier: (tier) => extra(dialect, 'service_tier', tierFields(tier)),
    parallelToolCalls: (mayCallMore) =>
      extra(dialect, 'parallel_tool_calls', { parallel_tool_calls: mayCallMore }),
    promptCache: (kept) => extra(dialect, 'prompt_cache_retention', cacheFields(kept)),
    extraBody: extraBodyRule(ownedByChat),
    extraHeaders: extraHeadersRule,
  };
}

/** The rules of the Responses API for a model. */
export function responsesSettings(model: string): SettingRules {
  const reasons = isReasoningModel(model);
  return {
    reasoning: (reasoning) => {
      if (!reasons) return notReasoning(model);
      return 'effort' in reasoning
        ? { reasoning: { effort: reasoning.effort } }
        : noBudget('OpenAI');
    },
    temperature: reasons ? takesNone : (temperature) => ({ temperature }),
    topP: reasons ? takesNone : (topP) => ({ top_p: topP }),
    stopSequences: () =>
      "is not taken by OpenAI's Responses API; leave it out, or use the API 'chat'.",
    serviceTier: tierFields,
    parallelToolCalls: (mayCallMore) => ({ parallel_tool_calls: mayCallMore }),
    promptCache: cacheFields,
    extraBody: extraBodyRule(ownedByResponses),
    extraHeaders: extraHeadersRule,
  };
}
