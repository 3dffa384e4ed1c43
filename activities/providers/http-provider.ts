/** What all providers over HTTP have in common: their name and key, and the check of both. */
import { z } from 'zod';
import { providerFailure } from './failure/provider-failure';
import { rememberSecret } from '../untrusted/known-secrets';
import type { Provider } from './provider';
import { encodedBody } from './request/encoded-body';
import type { ObservedFetch } from './stream/observed-fetch';
import type { SettingRules } from './settings/setting-rules';
import { settingsProblem } from './settings/setting-rules';

/** Options of the SDKs: their own limit must never be the first to fire, and they neither retry nor log. */
export const sdkOptions = { timeout: 2 ** 31 - 1, maxRetries: 0, logLevel: 'off' } as const;

/**
 * Makes the vendor's SDK client of one request, for an account at a cloud: `new AzureOpenAI({ ...options, … })`,
 * `new AnthropicBedrock({ ...options, … })`, `new AnthropicVertex({ ...options, … })`. The client knows the address and signs the
 * request; it must use these options, so that the request is sent once and its answer is bounded. @experimental
 */
export type AccountClient = (
  options: typeof sdkOptions & { readonly fetch: ObservedFetch['fetch'] },
) => {
  post(path: string, options: object): PromiseLike<unknown>;
};

/** A request as the SDK's client sends it. */
interface StreamedRequest {
  readonly body: object;
  readonly signal: AbortSignal;
  readonly headers: Readonly<Record<string, string>>;
  /** The client is the author's own, which reads the body to find the address, and signs it. */
  readonly signsItself: boolean;
}

/** Sends a request through a client. Errors: those of the SDK; `TypeError` if the client does not stream. */
export async function streamed(
  client: ReturnType<AccountClient>,
  path: string,
  { body, signal, headers, signsItself }: StreamedRequest,
): Promise<AsyncIterable<unknown>> {
  const encoded = signsItself ? { body, headers: {} } : encodedBody(body);
  const sent = { body: encoded.body, headers: { ...headers, ...encoded.headers } };
  const events = await client.post(path, { ...sent, signal, stream: true });
  // The SDKs type only what a caller asks for.
  return events as AsyncIterable<unknown>;
}

/** Which server a provider reaches, and as whom. */
export interface ProviderSetup extends Required<Pick<Provider, 'name' | 'vendor' | 'wire'>> {
  readonly apiKey: string;
  readonly baseUrl: string;
  /** What the author gave of an account; absent: the vendor's own API, or a server that speaks it. */
  readonly account?: { readonly client: unknown; readonly baseUrl: string | undefined } | undefined;
  /** False for local servers that take any key. */
  readonly needsKey: boolean;
  /** What the author gave, with the names of what there is. */
  readonly given: { readonly config: object; readonly known: readonly string[] };
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

function accountProblem(
  name: string,
  { client, baseUrl }: NonNullable<ProviderSetup['account']>,
): string | undefined {
  if (typeof client !== 'function')
    return `Provider "${name}" has a \`client\` that is not a function. Give one that makes a client: (options) => new AzureOpenAI({ ...options, … }).`;
  if (baseUrl !== undefined)
    return `Provider "${name}" has both \`client\` and \`baseUrl\`. Give the address to the client that \`client\` makes.`;
  return undefined;
}

const stringsByName = z.record(z.string(), z.string());

/** An unknown option, or one of another kind than it must be: no value is shown, since it may be a key. */
function optionProblem(
  name: string,
  { config, known }: ProviderSetup['given'],
): string | undefined {
  const { apiKey, headers, dialect }: Readonly<Record<string, unknown>> = { ...config };
  const unknown = Object.keys(config).find((key) => !known.includes(key));
  if (unknown !== undefined)
    return `Provider "${name}" has the unknown option "${unknown}"; known are ${known.join(', ')}.`;
  if (apiKey !== undefined && typeof apiKey !== 'string')
    return `Provider "${name}" has an \`apiKey\` that is not a string.`;
  if (headers !== undefined && !stringsByName.safeParse(headers).success)
    return `Provider "${name}" has \`headers\` that are not strings by name, such as { 'x-team': 'support' }.`;
  if (dialect !== undefined && typeof dialect !== 'object')
    return `Provider "${name}" has a \`dialect\` that is not an object. Give one of chatDialects, such as chatDialects.mistral, or use presetProvider.`;
  return undefined;
}

/** What is wrong and how to correct it, or undefined. Contract: the text never contains the key. */
function setupProblem(setup: ProviderSetup): string | undefined {
  const { name, wire, apiKey, baseUrl, needsKey, account, given } = setup;
  const wrongOption = optionProblem(name, given);
  if (wrongOption !== undefined) return wrongOption;
  if (!['anthropic', 'responses', 'chat'].includes(wire))
    return `Provider "${name}" has the api ${JSON.stringify(wire)}; give 'responses' or 'chat', which compatible servers speak.`;
  if (!/^[a-z0-9][a-z0-9._-]*$/i.test(name))
    return `Provider name "${name}" must be letters, digits, "-", "_" and "." only, as it becomes part of route names.`;
  if (account !== undefined) return accountProblem(name, account);
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
