/** OpenAI's Responses and Chat Completions APIs, and any server that speaks one of them. */
import type * as SdkModule from 'openai';
import { rememberSecretsOf } from '../../untrusted/known-secrets';
import type { ModelReply, ModelRequest, Provider, SendOptions } from '../provider';
import type { AccountClient } from '../http-provider';
import { httpProvider, sdkOptions, streamed } from '../http-provider';
import { boundReply } from '../request/bound-prefix';
import { withDialectChecked } from '../request/refused-dialect';
import type { SettingRules } from '../settings/setting-rules';
import type { ObservedFetch } from '../stream/observed-fetch';
import { sendOnce, type WireCall } from '../stream/send-once';
import { chatDialects, type ChatDialect } from './chat-dialect';
import { ChatReplyAssembly } from './chat-reply';
import { chatPrefix, chatRequest } from './chat-request';
import { chatSettings, responsesSettings } from './openai-settings';
import { isBound } from './reasoning-details';
import { ResponsesReplyAssembly } from './responses-reply';
import { responsesRequest } from './responses-request';

/** Configuration of a provider that speaks one of OpenAI's wires. Nothing is read from the environment. */
export interface OpenAIProviderConfig {
  /** Name in chains. Default `openai`. */
  readonly name?: string;
  readonly api: 'responses' | 'chat';
  readonly apiKey?: string;
  /** Address of any OpenAI-compatible server, with its `/v1` or the like. Default: OpenAI's own. */
  readonly baseUrl?: string;
  /** Whose reasoning the server takes. Default: the provider's name. */
  readonly vendor?: string;
  /** Default: the one of `chatDialects` with the provider's name, else what all compatible servers accept. */
  readonly dialect?: ChatDialect;
  /** False for local servers that take any key. Default true. */
  readonly needsKey?: boolean;
  /** Sent with each request, as some gateways require. */
  readonly headers?: Readonly<Record<string, string>>;
  /** For an account at Azure OpenAI. `apiKey` is then not sent, but kept out of texts; the dialect is OpenAI's. @experimental */
  readonly client?: AccountClient;
}

const optionNames = Object.keys({
  ...{ name: true, api: true, apiKey: true, baseUrl: true, vendor: true, dialect: true },
  ...{ needsKey: true, headers: true, client: true },
} satisfies Readonly<Record<keyof OpenAIProviderConfig, true>>);

/**
 * A provider on one of OpenAI's wires.
 *
 * Errors: construction never throws; `problem()` returns what is wrong.
 */
export function openaiProvider(config: OpenAIProviderConfig): Provider {
  const { api, name = 'openai', apiKey = '', needsKey = true } = config;
  const { vendor = name, baseUrl = 'https://api.openai.com/v1' } = config;
  const { client, dialect = client === undefined ? dialectOf(name) : chatDialects.openai } = config;
  rememberSecretsOf(config.headers);
  // Local servers take any key, yet a header must not be empty.
  const sentKey = apiKey === '' ? 'none' : apiKey;
  const clientWith = (fetch: ObservedFetch['fetch']): ReturnType<AccountClient> => {
    if (client !== undefined) return client({ ...sdkOptions, fetch });
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- jest has no import() in CommonJS (ADR 0029).
    const { OpenAI } = require('openai') as typeof SdkModule;
    const own = { ...sdkOptions, apiKey: sentKey, baseURL: baseUrl, fetch };
    return new OpenAI({ ...notFromEnvironment, ...own });
  };
  const send = async (request: ModelRequest, options: SendOptions): Promise<ModelReply> => {
    const { model } = request;
    const isChat = api === 'chat';
    const bodyOf = (each: ModelRequest): object =>
      isChat ? chatRequest(each, vendor, dialect) : responsesRequest(each, vendor, dialect);
    const body = bodyOf(request);
    const extra = { ...request.settings?.extraHeaders, ...config.headers };
    const call: WireCall = {
      // A client that signs gets them itself, so that they are a part of what it signs.
      headers: client === undefined ? { ...extra, authorization: `Bearer ${sentKey}` } : {},
      signsItself: client !== undefined,
      context: { route: `${name}/${model}`, apiKey },
      assembly: isChat
        ? new ChatReplyAssembly(vendor, model, dialect)
        : new ResponsesReplyAssembly(vendor, model),
      open: async (fetch, signal) =>
        streamed(clientWith(fetch), isChat ? '/chat/completions' : '/responses', {
          body,
          signal,
          headers: extra,
          signsItself: client !== undefined,
        }),
    };
    const reply = await withDialectChecked(request, bodyOf, () => sendOnce(call, options));
    if (!isChat) return reply;
    return boundReply(reply, request, () => chatPrefix(request, vendor, dialect), isBound);
  };
  const rulesOf = (model: string): SettingRules =>
    api === 'chat' ? chatSettings(model, dialect) : responsesSettings(model);
  const account = client && { client, baseUrl: config.baseUrl };
  const address = { apiKey, baseUrl, needsKey, account };
  const given = { config, known: optionNames };
  return httpProvider({ name, vendor, wire: api, given, ...address }, rulesOf, send);
}

function dialectOf(name: string): ChatDialect {
  const known: Readonly<Record<string, ChatDialect>> = chatDialects;
  return Object.hasOwn(known, name) ? (known[name] ?? {}) : chatDialects.compatible;
}

/** Options that the SDK would otherwise read from the environment. */
const notFromEnvironment = {
  adminAPIKey: null,
  organization: null,
  project: null,
  webhookSecret: null,
};
