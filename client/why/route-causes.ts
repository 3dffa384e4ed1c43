/** What is wrong with the routes of a run, and what cures each. */
import { routeName } from '../../workflows/core/failover/provider-health';
import type { RouteConfig } from '../../workflows/core/failover/state';
import type { FailoverReason } from '../../workflows/core/limits';
import type { NextStep, WhyFacts } from './explanation';
import { utcTime } from './next-steps';

/** The variable that has a provider's key, where the command line makes the provider. */
const keyVariables: Readonly<Record<string, string>> = {
  anthropic: 'ANTHROPIC_API_KEY',
  openai: 'OPENAI_API_KEY',
};

function keyOf(provider: string): string {
  return keyVariables[provider] ?? `the key of provider "${provider}" (its apiKey)`;
}

/** What people can do about a route; undefined where only time helps. */
const remedies: { readonly [Reason in FailoverReason]?: (route: RouteConfig) => string } = {
  auth: ({ provider }) => `Set ${keyOf(provider)} to a valid key, and restart the workers.`,
  billing: ({ provider }) =>
    `Add credit to the account at ${provider}, or raise its quota; or give the agent a route of another provider.`,
  model_not_found: ({ provider, model }) =>
    `Give the agent a model that ${provider} has, instead of "${model}".`,
  rate_limit: ({ provider }) =>
    `If it happens often: raise the rate limit at ${provider}, or add a route of another provider.`,
};

/** A route that failed, with its reason. */
function failedRoutes({ state }: WhyFacts) {
  return (state.snapshot?.chain ?? []).flatMap((route) => {
    const health = state.health.routes[routeName(route)];
    const reason = health?.lastErrorReason;
    return health === undefined || reason === undefined ? [] : [{ route, health, reason }];
  });
}

/** Each route with its reason, the vendor's words, and until when it cools down. */
export function routeTexts(facts: WhyFacts): readonly string[] {
  return failedRoutes(facts).map(({ route, health, reason }) => {
    const { lastError = 'no error recorded', cooldownUntilMs } = health;
    const until =
      cooldownUntilMs > facts.nowMs
        ? `, cools down until ${utcTime(cooldownUntilMs, facts.nowMs)}`
        : '';
    return `${routeName(route)}: ${reason}${until} (${lastError.replace(/\.$/, '')})`;
  });
}

/** What to do about each of them, each once. */
export function routeSteps(facts: WhyFacts): readonly NextStep[] {
  const texts = failedRoutes(facts).flatMap(({ route, reason }) => remedies[reason]?.(route) ?? []);
  return [...new Set(texts)].map((text) => ({ text }));
}

/** The reason that no route can answer for: the first one that people must cure, else the first one. */
export function reasonOfRoutes(facts: WhyFacts): FailoverReason | undefined {
  const reasons = failedRoutes(facts).map(({ reason }) => reason);
  return reasons.find((reason) => reason in remedies) ?? reasons[0];
}

/** When the first route that failed may be asked again, if that is in the future. */
export function routesFreeAtMs(facts: WhyFacts): number | undefined {
  const until = failedRoutes(facts).map(({ health }) => health.cooldownUntilMs);
  const firstMs = Math.min(...until);
  return until.length > 0 && firstMs > facts.nowMs ? firstMs : undefined;
}
