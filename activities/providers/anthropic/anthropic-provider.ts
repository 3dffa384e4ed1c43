/** Anthropic's Messages API, and servers that speak it. */
import type { InfraError } from '../../../workflows/core/failure';
import type { ModelReply, ModelRequest, Provider, SendOptions } from '../provider';
import { configProblem } from '../provider-config';
import { providerFailure } from '../failure/provider-failure';
import { sendOnce } from '../stream/send-once';
import { AnthropicReplyAssembly } from './reply';
import { withPrefix } from './bound-prefix';
import { anthropicRequest, promptPrefix, type AnthropicThinking } from './request';

/** Configuration of a provider that speaks Anthropic's wire. Nothing is read from the environment. */
export interface AnthropicProviderConfig {
  /** Name in chains. Default `anthropic`. */
  readonly name?: string;
  readonly apiKey?: string;
  /** Default: the vendor's own. */
  readonly baseUrl?: string;
  /** Who makes the reasoning, where the server is not Anthropic's. Default `anthropic`. */
  readonly vendor?: string;
  readonly thinking?: AnthropicThinking;
  /** Sent with each request; gateways ask for such. */
  readonly headers?: Readonly<Record<string, string>>;
}

/**
 * A provider on Anthropic's wire.
 *
 * Errors: construction never throws; `problem()` tells what is wrong.
 */
export function anthropicProvider(config: AnthropicProviderConfig = {}): Provider {
  const name = config.name ?? 'anthropic';
  const vendor = config.vendor ?? 'anthropic';
  const apiKey = config.apiKey ?? '';
  const baseUrl = config.baseUrl ?? 'https://api.anthropic.com';
  const send = async (request: ModelRequest, options: SendOptions): Promise<ModelReply> => {
    const reply = await sendOnce(
      {
        assembly: new AnthropicReplyAssembly(vendor, request.model),
        headers: { ...config.headers, 'x-api-key': apiKey },
        context: { route: `${name}/${request.model}`, apiKey },
        open: async (fetch, signal) => {
          const { Anthropic } = await import('@anthropic-ai/sdk');
          // Not `messages.create`: that one writes to the console about old models at every call.
          return new Anthropic({
            apiKey,
            baseURL: baseUrl,
            maxRetries: 0,
            logLevel: 'off',
            fetch,
            timeout: sdkTimeoutMs(options),
          }).post<AsyncIterable<unknown>>('/v1/messages', {
            body: anthropicRequest(request, {
              vendor,
              ...(config.thinking === undefined ? {} : { thinking: config.thinking }),
            }),
            stream: true,
            signal,
          });
        },
      },
      options,
    );
    if (!reply.blocks.some((block) => block.type === 'reasoning')) return reply;
    return (request.note ?? '').trim() === ''
      ? withPrefix(reply, promptPrefix(request, vendor))
      : withoutReasoning(reply);
  };
  return {
    name,
    vendor,
    wire: 'anthropic',
    problem: () => configProblem({ name, apiKey, baseUrl, needsKey: true }),
    send,
    classifyError: (thrown: unknown): InfraError =>
      providerFailure(thrown, { route: name, apiKey, nowMs: Date.now() }),
  };
}

/**
 * Newer models bind a thought to everything before it, and no later request has the note: the thought would be refused there.
 *
 * Source: ADR 0016.
 */
function withoutReasoning(reply: ModelReply): ModelReply {
  return { ...reply, blocks: reply.blocks.filter((block) => block.type !== 'reasoning') };
}

/** The SDK's own limit must never be the first to fire. */
function sdkTimeoutMs(options: SendOptions): number {
  return options.firstByteMs + 60_000;
}
