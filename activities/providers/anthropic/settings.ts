/** Maps settings to fields of Anthropic's Messages API. */
import { claudeThinking } from '../../models/model-traits';
import type { ModelSettings } from '../settings/model-settings';
import type { Mapped, SettingRules } from '../settings/setting-rules';
import { extraBodyRule, extraHeadersRule } from '../settings/setting-rules';

/** Fields that the adapter alone decides about. */
const ownedFields = [
  'model',
  'messages',
  'system',
  'tools',
  'tool_choice',
  'stream',
  'max_tokens',
  'thinking',
  'cache_control',
  'output_format',
  'output_config.format',
  'output_config.effort',
];

function reasoningFields(
  reasoning: NonNullable<ModelSettings['reasoning']>,
  model: string,
): Mapped {
  const { budget, effort: hasEffort } = claudeThinking(model);
  if ('budgetTokens' in reasoning)
    return budget
      ? { thinking: { type: 'enabled', budget_tokens: reasoning.budgetTokens } }
      : `is not taken by ${model}, which thinks as much as its effort says; give { effort: 'high' } or another one.`;
  const { effort } = reasoning;
  if (effort === 'none') return hasEffort ? { thinking: { type: 'disabled' } } : {};
  if (effort === 'minimal') return `is no effort of Claude models; give { effort: 'low' }.`;
  return hasEffort
    ? { thinking: { type: 'adaptive' }, output_config: { effort } }
    : `is not taken by ${model}, which has a budget instead; give { budgetTokens: 4096 } or another number.`;
}

const noSampling = (): string =>
  "is not taken by Anthropic's API, which has no sampling settings; leave it out.";

/** The rules for a model. The caller places the cache's marks, and leaves out what is only for requests with tools. */
export function anthropicSettings(model: string): SettingRules {
  return {
    reasoning: (reasoning) => reasoningFields(reasoning, model),
    temperature: noSampling,
    topP: noSampling,
    stopSequences: (texts) => ({ stop_sequences: [...texts] }),
    serviceTier: (tier) =>
      tier === 'auto' || tier === 'standard_only'
        ? { service_tier: tier }
        : `is no tier of Anthropic's; give 'auto' or 'standard_only'.`,
    parallelToolCalls: (mayCallMore) =>
      mayCallMore ? {} : { tool_choice: { type: 'auto', disable_parallel_tool_use: true } },
    promptCache: (kept) =>
      kept === '24h'
        ? "is not kept by Anthropic's cache; give '1h', or leave it out for 5 minutes."
        : {},
    extraBody: extraBodyRule(ownedFields),
    extraHeaders: extraHeadersRule,
  };
}
