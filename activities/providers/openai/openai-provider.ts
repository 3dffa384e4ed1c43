/** OpenAI's Responses and Chat Completions APIs, and any server that speaks one of them. */
import type { InfraError } from '../../../workflows/core/failure';
import type { ObservedFetch } from '../stream/observed-fetch';
import type { ModelReply, ModelRequest, Provider, SendOptions } from '../provider';
import { configProblem } from '../provider-config';
import { providerFailure } from '../failure/provider-failure';
import { sendOnce } from '../stream/send-once';
import { compatibleDialect, openaiDialect, type ChatDialect } from './chat-dialect';
import { ChatReplyAssembly } from './chat-reply';
import { chatPrefix, chatRequest } from './chat-request';
import { withPrompt } from './reasoning-details';
import { ResponsesReplyAssembly } from './responses-reply';
import { responsesRequest } from './responses-request';

/** Configuration of a provider that speaks one of OpenAI's wires. Nothing is read from the environment. */
export interface OpenAIProviderConfig {
  /** Name in chains. Default `openai`. */
  readonly name?: string;
  readonly api: 'responses' | 'chat';
  readonly apiKey?: string;
  /** Default: the vendor's own. Any OpenAI-compatible server, with its `/v1` or the like. */
  readonly baseUrl?: string;
  /** Who makes the reasoning. Default: the provider's name. */
  readonly vendor?: string;
  /** Default: OpenAI's own for the name `openai`, else the common ground of compatible servers. */
  readonly dialect?: ChatDialect;
  /** False for local servers that take any key. Default true. */
  readonly needsKey?: boolean;
  /** Sent with each request; gateways ask for such. */
  readonly headers?: Readonly<Record<string, string>>;
}

interface Resolved {
  readonly name: string;
  readonly vendor: string;
  readonly apiKey: string;
  readonly baseUrl: string;
  readonly dialect: ChatDialect;
}

/**
 * A provider on one of OpenAI's wires.
 *
 * Errors: construction never throws; `problem()` tells what is wrong.
 */
export function openaiProvider(config: OpenAIProviderConfig): Provider {
  const resolved = resolve(config);
  const { name, vendor, apiKey, baseUrl } = resolved;
  return {
    name,
    vendor,
    wire: config.api,
    problem: () => configProblem({ name, apiKey, baseUrl, needsKey: config.needsKey ?? true }),
    send: (request, options) => send(config, resolved, request, options),
    classifyError: (thrown: unknown): InfraError =>
      providerFailure(thrown, { route: name, apiKey, nowMs: Date.now() }),
  };
}

function resolve(config: OpenAIProviderConfig): Resolved {
  const name = config.name ?? 'openai';
  return {
    name,
    vendor: config.vendor ?? name,
    apiKey: config.apiKey ?? '',
    baseUrl: config.baseUrl ?? 'https://api.openai.com/v1',
    dialect: config.dialect ?? (name === 'openai' ? openaiDialect : compatibleDialect),
  };
}

async function send(
  config: OpenAIProviderConfig,
  resolved: Resolved,
  request: ModelRequest,
  options: SendOptions,
): Promise<ModelReply> {
  const { name, vendor, apiKey, dialect } = resolved;
  const connect = (fetch: ObservedFetch['fetch']) => client(resolved, options, fetch);
  const common = {
    headers: { ...config.headers, authorization: `Bearer ${keyToSend(apiKey)}` },
    context: { route: `${name}/${request.model}`, apiKey },
  };
  if (config.api === 'responses') {
    return sendOnce(
      {
        ...common,
        assembly: new ResponsesReplyAssembly(vendor, request.model),
        open: async (fetch, signal) =>
          (await connect(fetch)).responses.create(responsesRequest(request, vendor, dialect), {
            signal,
          }),
      },
      options,
    );
  }
  const reply = await sendOnce(
    {
      ...common,
      assembly: new ChatReplyAssembly(vendor, request.model),
      open: async (fetch, signal) =>
        (await connect(fetch)).chat.completions.create(chatRequest(request, vendor, dialect), {
          signal,
        }),
    },
    options,
  );
  if (!dialect.returnsReasoningDetails) return reply;
  const hasNote = (request.note ?? '').trim() !== '';
  return withPrompt(reply, chatPrefix(request, vendor, dialect), hasNote);
}

/** Every option that the SDK would else read from the environment is given. */
async function client(resolved: Resolved, options: SendOptions, fetch: ObservedFetch['fetch']) {
  const { OpenAI } = await import('openai');
  return new OpenAI({
    apiKey: keyToSend(resolved.apiKey),
    adminAPIKey: null,
    organization: null,
    project: null,
    webhookSecret: null,
    baseURL: resolved.baseUrl,
    maxRetries: 0,
    logLevel: 'off',
    fetch,
    timeout: options.firstByteMs + 60_000,
  });
}

/** Local servers take any key, yet a header must hold something. */
function keyToSend(apiKey: string): string {
  return apiKey === '' ? 'none' : apiKey;
}
