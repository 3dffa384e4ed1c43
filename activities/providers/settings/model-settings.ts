/** Settings of a route's model calls, in vendor-neutral words. Each wire has rules that map them (`setting-rules.ts`). */
import type { JsonObject } from '../../../workflows/core/json';

/** How much a model reasons before it answers, least first. No model knows all of them. */
export const reasoningEfforts = [
  'none',
  'minimal',
  'low',
  'medium',
  'high',
  'xhigh',
  'max',
] as const;

type ReasoningEffort = (typeof reasoningEfforts)[number];

/** Classes of service, with prices of their own at OpenAI beside `auto` and `default`; `standard_only` is Anthropic's. */
export const serviceTiers = [
  'auto',
  'default',
  'flex',
  'scale',
  'priority',
  'standard_only',
] as const;

type ServiceTier = (typeof serviceTiers)[number];

/** How long a vendor keeps the prompts that it has cached, where the route does not leave that to the vendor. */
export const promptCaches = ['off', '1h', '24h'] as const;

/**
 * What a route asks of its model beside the conversation. A setting that the route's provider cannot send is refused when the
 * worker starts. Default of each: the vendor's own.
 */
export interface ModelSettings {
  /**
   * How much the model reasons: by effort, or by a budget of tokens (Claude up to 4.6, Qwen, OpenRouter). Tokens of reasoning are
   * output: `maxOutputTokens` counts them, and they are paid for as such.
   */
  readonly reasoning?: { readonly effort: ReasoningEffort } | { readonly budgetTokens: number };
  /** 0 to 2. Models that reason and Anthropic's API take none. */
  readonly temperature?: number;
  /** Above 0, at most 1: the share of likely tokens that is sampled from. Where `temperature` is refused, this is too. */
  readonly topP?: number;
  /** Texts that end the reply. At most 4; OpenAI's Responses API and its reasoning models take none. */
  readonly stopSequences?: readonly string[];
  /** Tiers `flex`, `scale` and `priority` have prices of their own: set `prices` on the route under a budget in money. */
  readonly serviceTier?: ServiceTier;
  /** False: at most one tool call in a reply. */
  readonly parallelToolCalls?: boolean;
  /** Anthropic: `off`, or kept for an hour at a higher price of writing (`1h`); OpenAI: kept for a day (`24h`). */
  readonly promptCache?: (typeof promptCaches)[number];
  /**
   * Fields of the vendor's request body that have no setting here, such as `{ verbosity: 'low' }`. What Holdfast sends itself cannot
   * be overwritten.
   */
  readonly extraBody?: JsonObject;
  /** Headers of the request, such as `anthropic-beta`. Not for secrets: the run's config keeps them. */
  readonly extraHeaders?: Readonly<Record<string, string>>;
}

/** The settings that are about the account and the connection: they hold for every request on a route, also for the runtime's own. */
export function accountSettings({
  serviceTier,
  promptCache,
  extraBody,
  extraHeaders,
}: ModelSettings): ModelSettings {
  return {
    ...(serviceTier === undefined ? {} : { serviceTier }),
    ...(promptCache === undefined ? {} : { promptCache }),
    ...(extraBody === undefined ? {} : { extraBody }),
    ...(extraHeaders === undefined ? {} : { extraHeaders }),
  };
}
