/** Makes the route of a run of what its author wrote, and refuses what its provider could not send. */
import type { ModelPrice } from '../../workflows/core/budget/spend';
import type { RouteConfig } from '../../workflows/core/failover/state';
import { defined } from '../../workflows/core/json';
import { UserError } from '../lifecycle/user-error';
import { mediaOfModel } from '../models/media-by-model';
import { priceOf, windowOf } from '../models/model-catalog';
import type { PriceTable, WindowTable } from '../models/model-tables';
import { checkPrices } from '../models/model-tables';
import type { Provider } from '../providers/provider';
import { routeMediaOf } from '../providers/request/request-limits';
import type { ModelSettings } from '../providers/settings/model-settings';
import type { RouteDefinition } from './agent';

/** A route with its model's settings, which only activities read: the run's config holds them, its history does not. */
export interface ResolvedRoute extends RouteConfig {
  readonly settings?: ModelSettings;
}

/** What routes are resolved with. */
export interface RouteParts {
  readonly providers: ReadonlyMap<string, Provider>;
  readonly prices: PriceTable;
  readonly windows: WindowTable;
}

/** Default limit of one reply in tokens (ADR 0009). */
const defaultMaxOutputTokens = 8_192;
/** The same for a model that reasons at length. Source: OpenAI's reasoning guide asks for 25,000 tokens beside the answer's. */
const reasoningMaxOutputTokens = 32_768;
/** Share of the window that this default takes at most: the rest is for the conversation. */
const reasoningWindowShare = 0.25;
/** Tokens that a reasoning budget leaves for the reply. */
const leastReplyTokens = 1_024;

/** Writing to a cache that is kept for an hour costs twice the input. Source: Anthropic's prompt caching guide. */
const hourCacheTimes = 2;

/** Tiers that are not sold at the prices of the catalog. */
const ownPriceTiers: readonly unknown[] = ['flex', 'scale', 'priority'];

function settingsOf(route: RouteDefinition): ModelSettings {
  const { reasoning, temperature, topP, stopSequences, serviceTier } = route;
  const { parallelToolCalls, promptCache, extraBody, extraHeaders } = route;
  const sampling = { temperature, topP, stopSequences };
  const sent = { serviceTier, parallelToolCalls, promptCache, extraBody, extraHeaders };
  return defined({ reasoning, ...sampling, ...sent });
}

function checkSettings(
  where: string,
  provider: Provider,
  { model }: RouteDefinition,
  settings: ModelSettings,
): void {
  const names = Object.keys(settings);
  if (names.length === 0) return;
  if (provider.routeProblem === undefined)
    throw new UserError(
      `${where}: provider "${provider.name}" takes no settings (${names.join(', ')}); leave them out.`,
    );
  const problem = provider.routeProblem(model, settings);
  if (problem !== undefined) throw new UserError(`${where}: ${problem}`);
}

/** The limit of one reply, reasoning included. */
function outputLimit(
  where: string,
  { reasoning, maxOutputTokens }: RouteDefinition,
  windowTokens: number,
): number {
  if (reasoning === undefined) return maxOutputTokens ?? defaultMaxOutputTokens;
  if ('effort' in reasoning) {
    if (maxOutputTokens !== undefined) return maxOutputTokens;
    if (['none', 'minimal', 'low'].includes(reasoning.effort)) return defaultMaxOutputTokens;
    const share = Math.floor(windowTokens * reasoningWindowShare);
    return Math.min(reasoningMaxOutputTokens, Math.max(defaultMaxOutputTokens, share));
  }
  const { budgetTokens } = reasoning;
  const limit = maxOutputTokens ?? defaultMaxOutputTokens + budgetTokens;
  if (limit >= budgetTokens + leastReplyTokens) return limit;
  throw new UserError(
    `${where}: reasoning.budgetTokens ${budgetTokens} leaves no room for the reply in maxOutputTokens ${limit}; set maxOutputTokens to at least ${budgetTokens + leastReplyTokens}, or a smaller budget.`,
  );
}

function priceFor(
  where: string,
  route: RouteDefinition,
  table: PriceTable,
): ModelPrice | undefined {
  if (route.prices !== undefined) return checkPrices(`${where}, prices`, route.prices);
  if (ownPriceTiers.includes(route.serviceTier)) return undefined;
  const price = priceOf(route.provider, route.model, table);
  if (price === undefined || route.promptCache !== '1h') return price;
  const { longPrompt } = price;
  return {
    ...price,
    cacheWrite: hourCacheTimes * price.input,
    ...(longPrompt && {
      longPrompt: { ...longPrompt, cacheWrite: hourCacheTimes * longPrompt.input },
    }),
  };
}

/**
 * Resolves one route of an agent.
 *
 * Errors: `UserError` for an unknown provider, a provider without key, a model without window, and settings that the provider cannot
 * send; with thing, value and remedy.
 */
export function resolveRoute(
  agent: string,
  route: RouteDefinition,
  { providers, prices, windows }: RouteParts,
): ResolvedRoute {
  const where = `Agent "${agent}", route "${route.provider}/${route.model}"`;
  const provider = providers.get(route.provider);
  if (provider === undefined)
    throw new UserError(
      `${where}: no provider is called "${route.provider}"; this worker has ${[...providers.keys()].join(', ') || 'none'}. Give createActivities that provider, or change the chain.`,
    );
  const problem = provider.problem();
  if (problem !== undefined) throw new UserError(`${where}: ${problem}`);
  const windowTokens = route.windowTokens ?? windowOf(route.provider, route.model, windows);
  if (windowTokens === undefined)
    throw new UserError(
      `${where}: the context window of this model is not known; set windowTokens on the route, or give createActivities a row of windows.`,
    );
  const settings = settingsOf(route);
  checkSettings(where, provider, route, settings);
  return {
    provider: route.provider,
    model: route.model,
    toolProtocol: route.toolProtocol ?? 'native',
    maxOutputTokens: outputLimit(where, route, windowTokens),
    windowTokens,
    media: routeMediaOf(route.media ?? mediaOfModel(provider.vendor, route.model), provider.wire),
    ...(route.onRefusedRequest === 'end-run' ? { onRefusedRequest: 'end-run' } : {}),
    ...(Object.keys(settings).length === 0 ? {} : { settings }),
    ...defined({ thinkingMs: route.thinkingMs, price: priceFor(where, route, prices) }),
  };
}
