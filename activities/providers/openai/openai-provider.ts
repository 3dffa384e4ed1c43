/** OpenAI's Responses and Chat Completions APIs, and any server that speaks one of them. */
import type { ObservedFetch } from '../stream/observed-fetch';
import type { ModelReply, ModelRequest, Provider, SendOptions } from '../provider';
import { httpProvider, sdkTimeoutMs } from '../http-provider';
import { boundReply } from '../request/bound-prefix';
import { sendOnce } from '../stream/send-once';
import { compatibleDialect, openaiDialect, type ChatDialect } from './chat-dialect';
import { ChatReplyAssembly } from './chat-reply';
import { chatPrefix, chatRequest } from './chat-request';
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
  /** Default: OpenAI's own for the name `openai`, else what all compatible servers accept. */
  readonly dialect?: ChatDialect;
  /** False for local servers that take any key. Default true. */
  readonly needsKey?: boolean;
  /** Sent with each request, as some gateways require. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * A provider on one of OpenAI's wires.
 *
 * Errors: construction never throws; `problem()` returns what is wrong.
 */
export function openaiProvider(config: OpenAIProviderConfig): Provider {
  const { api, name = 'openai', apiKey = '', needsKey = true } = config;
  const { vendor = name, baseUrl = 'https://api.openai.com/v1' } = config;
  const { dialect = name === 'openai' ? openaiDialect : compatibleDialect } = config;
  // Local servers take any key, yet a header must not be empty.
  const sentKey = apiKey === '' ? 'none' : apiKey;
  const send = async (request: ModelRequest, options: SendOptions): Promise<ModelReply> => {
    const { model } = request;
    const connect = (fetch: ObservedFetch['fetch']) => client(sentKey, baseUrl, options, fetch);
    const common = {
      headers: { ...config.headers, authorization: `Bearer ${sentKey}` },
      context: { route: `${name}/${model}`, apiKey },
    };
    if (api === 'responses') {
      const body = responsesRequest(request, vendor, dialect);
      return sendOnce(
        {
          ...common,
          assembly: new ResponsesReplyAssembly(vendor, model),
          open: async (fetch, signal) => (await connect(fetch)).responses.create(body, { signal }),
        },
        options,
      );
    }
    const body = chatRequest(request, vendor, dialect);
    const reply = await sendOnce(
      {
        ...common,
        assembly: new ChatReplyAssembly(vendor, model),
        open: async (fetch, signal) =>
          (await connect(fetch)).chat.completions.create(body, { signal }),
      },
      options,
    );
    return boundReply(reply, request, () => chatPrefix(request, vendor, dialect), isBound);
  };
  return httpProvider({ name, vendor, wire: api, apiKey, baseUrl, needsKey }, send);
}

/** Sets every option that the SDK would otherwise read from the environment. */
async function client(
  apiKey: string,
  baseURL: string,
  options: SendOptions,
  fetch: ObservedFetch['fetch'],
) {
  const { OpenAI } = await import('openai');
  const noneOfTheEnvironment = {
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
  };
  const timeout = sdkTimeoutMs(options);
  return new OpenAI({
    ...noneOfTheEnvironment,
    ...{ apiKey, baseURL, fetch, timeout, maxRetries: 0, logLevel: 'off' },
  });
}
