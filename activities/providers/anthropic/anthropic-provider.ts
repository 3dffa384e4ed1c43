/** Anthropic's Messages API, and servers that speak it. */
import type Anthropic from '@anthropic-ai/sdk';
import { rememberSecretsOf } from '../../untrusted/known-secrets';
import type { ModelReply, ModelRequest, Provider, SendOptions } from '../provider';
import { httpProvider, sdkOptions } from '../http-provider';
import { boundReply } from '../request/bound-prefix';
import { withDialectChecked } from '../request/refused-dialect';
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
}

/**
 * A provider on Anthropic's wire.
 *
 * Errors: construction never throws; `problem()` returns what is wrong.
 */
export function anthropicProvider(config: AnthropicProviderConfig = {}): Provider {
  const { name = 'anthropic', vendor = 'anthropic', apiKey = '', headers } = config;
  const { baseUrl = 'https://api.anthropic.com' } = config;
  rememberSecretsOf(headers);
  const send = async (request: ModelRequest, options: SendOptions): Promise<ModelReply> => {
    const bodyOf = (each: ModelRequest): Anthropic.MessageCreateParamsStreaming =>
      anthropicRequest(each, { vendor });
    const body = bodyOf(request);
    const call: WireCall = {
      assembly: new AnthropicReplyAssembly(vendor, request.model),
      headers: { ...request.settings?.extraHeaders, ...headers, 'x-api-key': apiKey },
      context: { route: `${name}/${request.model}`, apiKey },
      open: async (fetch, signal) => {
        const sdk = await import('@anthropic-ai/sdk');
        const client = new sdk.Anthropic({ ...sdkOptions, apiKey, baseURL: baseUrl, fetch });
        // Not `messages.create`, which writes to the console about old models at every call.
        return client.post<AsyncIterable<unknown>>('/v1/messages', { body, signal, stream: true });
      },
    };
    const reply = await withDialectChecked(request, bodyOf, () => sendOnce(call, options));
    return boundReply(reply, request, () => promptPrefix(request, vendor));
  };
  const setup = { name, vendor, wire: 'anthropic', apiKey, baseUrl, needsKey: true } as const;
  return httpProvider(setup, anthropicSettings, send);
}
