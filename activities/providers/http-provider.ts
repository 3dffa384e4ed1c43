/** What all providers over HTTP have in common: their name and key, and the check of both. */
import { providerFailure } from './failure/provider-failure';
import { rememberSecret } from '../untrusted/known-secrets';
import type { Provider } from './provider';
import type { SettingRules } from './settings/setting-rules';
import { settingsProblem } from './settings/setting-rules';

/** Which server a provider reaches, and as whom. */
export interface ProviderSetup extends Required<Pick<Provider, 'name' | 'vendor' | 'wire'>> {
  readonly apiKey: string;
  readonly baseUrl: string;
  /** False for local servers that take any key. */
  readonly needsKey: boolean;
}

/** A provider that sends its requests with `send`, and maps the settings of its routes by these rules. */
export function httpProvider(
  setup: ProviderSetup,
  rulesOf: (model: string) => SettingRules,
  send: Provider['send'],
): Provider {
  const { name, vendor, wire, apiKey } = setup;
  rememberSecret(apiKey);
  return {
    name,
    vendor,
    wire,
    problem: () => setupProblem(setup),
    routeProblem: (model, settings) => settingsProblem(settings, rulesOf(model)),
    send,
    classifyError: (thrown) => providerFailure(thrown, { route: name, apiKey }),
  };
}

/** Options of the SDKs: their own limit must never be the first to fire, and they neither retry nor log. */
export const sdkOptions = { timeout: 2 ** 31 - 1, maxRetries: 0, logLevel: 'off' } as const;

/** What is wrong and how to correct it, or undefined. Contract: the text never contains the key. */
function setupProblem({ name, apiKey, baseUrl, needsKey }: ProviderSetup): string | undefined {
  if (!/^[a-z0-9][a-z0-9._-]*$/i.test(name))
    return `Provider name "${name}" must be letters, digits, "-", "_" and "." only, as it becomes part of route names.`;
  if (needsKey && apiKey.trim() === '')
    return `Provider "${name}" has no API key. Pass \`apiKey\`, or set the provider's key variable for the worker.`;
  if (/[^\x21-\x7e]/.test(apiKey))
    return `The API key of provider "${name}" contains white space or characters that a header cannot carry. Copy it again.`;
  const url = URL.parse(baseUrl);
  if (url === null || !/^https?:$/.test(url.protocol))
    return `The base URL of provider "${name}" is not an http(s) URL. Write it like https://host/path.`;
  if (url.username !== '' || url.password !== '')
    return `The base URL of provider "${name}" contains credentials. Pass \`apiKey\` or \`headers\` instead.`;
  return undefined;
}
