/** Which models the demo runs on: those of the environment's keys, else the emulator's. */
import type { Provider, RouteDefinition } from '../../activities/index';
import { anthropicProvider, openaiProvider, UserError } from '../../activities/index';
import type { Environment } from '../../workers/index';

/** Providers and the chain that uses them. */
export interface DemoModels {
  readonly providers: readonly Provider[];
  readonly chain: readonly [RouteDefinition, ...RouteDefinition[]];
}

const anthropicModel = 'claude-sonnet-4-5';
const openaiModel = 'gpt-5';

/** Context window assumed for a server that only its base URL is known of. */
const modestWindowTokens = 32_768;

/** Whether the environment names a real model's account. */
export function hasRealModel({ anthropic, openai }: Environment): boolean {
  return [anthropic, openai].some(
    ({ apiKey, baseUrl }) => apiKey !== undefined || baseUrl !== undefined,
  );
}

/** Both vendors played by the emulator at this URL, each through its real SDK. */
export function emulatedModels(emulatorUrl: string): DemoModels {
  const apiKey = 'none';
  return {
    providers: [
      anthropicProvider({ apiKey, baseUrl: emulatorUrl }),
      openaiProvider({ api: 'responses', apiKey, baseUrl: `${emulatorUrl}/v1` }),
    ],
    chain: [
      { provider: 'anthropic', model: anthropicModel },
      { provider: 'openai', model: openaiModel },
    ],
  };
}

/**
 * The models of the environment: ANTHROPIC_API_KEY, OPENAI_API_KEY, their _BASE_URL, and HOLDFAST_MODEL for the choice.
 *
 * Errors: `UserError` if a compatible server is named but none of its models.
 */
export function realModels({ anthropic, openai, models }: Environment): DemoModels {
  const providers: Provider[] = [];
  const routes: RouteDefinition[] = [];
  if (anthropic.apiKey !== undefined || anthropic.baseUrl !== undefined) {
    providers.push(anthropicProvider({ apiKey: 'none', ...anthropic }));
    routes.push({ provider: 'anthropic', model: anthropicModel });
  }
  if (openai.baseUrl !== undefined) {
    providers.push(openaiProvider({ api: 'chat', needsKey: false, ...openai }));
  } else if (openai.apiKey !== undefined) {
    providers.push(openaiProvider({ api: 'responses', apiKey: openai.apiKey }));
    routes.push({ provider: 'openai', model: openaiModel });
  }
  const isCompatible = (provider: string): boolean =>
    provider === 'openai' && openai.baseUrl !== undefined;
  const chosen = models.map((route) => ({
    ...route,
    ...(isCompatible(route.provider) ? { windowTokens: modestWindowTokens } : {}),
  }));
  const [first, ...others] = chosen.length > 0 ? chosen : routes;
  if (first === undefined)
    throw new UserError(
      'OPENAI_BASE_URL names a server but none of its models: set HOLDFAST_MODEL, such as HOLDFAST_MODEL=openai/qwen3-coder.',
    );
  return { providers, chain: [first, ...others] };
}
