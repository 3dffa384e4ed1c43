/** Anthropic's Messages API, and servers that speak it. */
import type * as SdkModule from '@anthropic-ai/sdk';
import type AnthropicSdk from '@anthropic-ai/sdk';
import { rememberSecretsOf } from '../../untrusted/known-secrets';
import type { ModelReply, ModelRequest, Provider, SendOptions } from '../provider';
import type { AccountClient } from '../http-provider';
import { httpProvider, sdkOptions, streamed } from '../http-provider';
import { boundReply } from '../request/bound-prefix';
import { withDialectChecked } from '../request/refused-dialect';
import type { ObservedFetch } from '../stream/observed-fetch';
import { sendOnce, type WireCall } from '../stream/send-once';
import { AnthropicReplyAssembly } from './reply';
import { anthropicRequest, promptPrefix } from './request';
import { anthropicSettings } from './settings';

/** Configuration of a provider that speaks Anthropic's wire. Nothing is read from the environment. */
export interface AnthropicProviderConfig {
  /** Name in chains. Default `anthropic`. */
  readonly name?: string;
  readonly apiKey?: string;
  /** Default: the vendor's own. */
  readonly baseUrl?: string;
  /** Whose reasoning the server takes, if it is not Anthropic's. Default `anthropic`. */
  readonly vendor?: string;
  /** Sent with each request, as some gateways require. */
  readonly headers?: Readonly<Record<string, string>>;
  /** For an account at Amazon Bedrock or Google Vertex. `apiKey` is then not sent, but kept out of texts. @experimental */
  readonly client?: AccountClient;
}

const optionNames = Object.keys({
  ...{ name: true, apiKey: true, baseUrl: true, vendor: true, headers: true, client: true },
} satisfies Readonly<Record<keyof AnthropicProviderConfig, true>>);

/**
 * A provider on Anthropic's wire.
 *
 * Errors: construction never throws; `problem()` returns what is wrong.
 */
export function anthropicProvider(config: AnthropicProviderConfig = {}): Provider {
  const { name = 'anthropic', vendor = 'anthropic', apiKey = '', headers } = config;
  const { baseUrl = 'https://api.anthropic.com', client } = config;
  rememberSecretsOf(headers);
  const clientWith = (fetch: ObservedFetch['fetch']): ReturnType<AccountClient> => {
    if (client !== undefined) return client({ ...sdkOptions, fetch });
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- jest has no import() in CommonJS (ADR 0029).
    const { Anthropic } = require('@anthropic-ai/sdk') as typeof SdkModule;
    return new Anthropic({ ...sdkOptions, apiKey, baseURL: baseUrl, fetch });
  };
  const send = async (request: ModelRequest, options: SendOptions): Promise<ModelReply> => {
    const bodyOf = (each: ModelRequest): AnthropicSdk.MessageCreateParamsStreaming =>
      anthropicRequest(each, { vendor });
    const body = bodyOf(request);
    const extra = { ...request.settings?.extraHeaders, ...headers };
    const call: WireCall = {
      assembly: new AnthropicReplyAssembly(vendor, request.model),
      namesEvents: true,
      // A client that signs gets them itself, so that they are a part of what it signs.
      headers: client === undefined ? { ...extra, 'x-api-key': apiKey } : {},
      signsItself: client !== undefined,
      context: { route: `${name}/${request.model}`, apiKey },
      open: async (fetch, signal) => {
        // Not `messages.create`, which writes to the console about old models at every call.
        return streamed(clientWith(fetch), '/v1/messages', {
          body,
          signal,
          headers: extra,
          signsItself: client !== undefined,
        });
      },
    };
    const reply = await withDialectChecked(request, bodyOf, () => sendOnce(call, options));
    return boundReply(reply, request, () => promptPrefix(request, vendor));
  };
  const account = client && { client, baseUrl: config.baseUrl };
  const address = { apiKey, baseUrl, needsKey: true, account };
  const given = { config, known: optionNames };
  const setup = { name, vendor, wire: 'anthropic', given, ...address } as const;
  return httpProvider(setup, anthropicSettings, send);
}
