/** Refusals of thoughts that a request sends back: recognized in the vendors' words, and worth a repeat only if that differs. */
import { once } from 'node:events';
import type { Server } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { anthropicProvider } from '../../../activities/providers/anthropic/anthropic-provider';
import { openaiProvider } from '../../../activities/providers/openai/openai-provider';
import { presetProvider } from '../../../activities/providers/presets';
import type { ModelRequest, Provider } from '../../../activities/providers/provider';
import type { InfraError } from '../../../workflows/core/failure';
import type { JsonObject, JsonValue } from '../../../workflows/core/json';
import type { Message } from '../../../workflows/core/message';
import {
  failureOf,
  requestFor,
  sendOptions,
  testKey,
  userMessage,
} from '../support/provider-bench';

/** A server that refuses everything in the same words: the seals of these requests are no emulator's. */
let server: Server;
let answer: { readonly status: number; readonly body: JsonValue };
let bodies: string[];
let baseUrl: string;
beforeEach(async () => {
  bodies = [];
  server = createServer((request, response) => {
    text(request)
      .then((body) => {
        bodies.push(body);
        response.writeHead(answer.status, { 'content-type': 'application/json' });
        response.end(JSON.stringify(answer.body));
      })
      .catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  baseUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

/** A conversation in which the vendor thought before its call. */
function afterThought(vendor: string, opaque: JsonObject, model: string): readonly Message[] {
  return [
    userMessage('Read a.txt'),
    {
      role: 'assistant',
      vendor,
      model,
      blocks: [
        { type: 'reasoning', vendor, text: 'I should look.', opaque },
        { type: 'tool-call', toolCallId: 'r_1_0', name: 'read_file', input: { path: 'a.txt' } },
      ],
    },
    {
      role: 'tool',
      results: [
        {
          type: 'tool-result',
          toolCallId: 'r_1_0',
          name: 'read_file',
          content: 'x',
          isError: false,
        },
      ],
    },
  ];
}

const account = { apiKey: testKey };
const requests: Readonly<Record<string, readonly [(baseUrl: string) => Provider, ModelRequest]>> = {
  responses: [
    (url) => openaiProvider({ ...account, api: 'responses', baseUrl: url }),
    requestFor('responses', {
      messages: afterThought(
        'openai',
        { id: 'rs_1', encryptedContent: 'gAAAblob', summary: [] },
        'gpt-5',
      ),
    }),
  ],
  anthropic: [
    (url) => anthropicProvider({ ...account, baseUrl: url }),
    requestFor('anthropic', {
      messages: afterThought('anthropic', { signature: 'c2ln' }, 'claude-opus-5-5'),
    }),
  ],
  unsigned: [
    (url) => anthropicProvider({ ...account, name: 'deepseek', vendor: 'deepseek', baseUrl: url }),
    requestFor('anthropic', {
      model: 'deepseek-v4-pro',
      messages: afterThought('deepseek', { signature: '' }, 'deepseek-v4-pro'),
    }),
  ],
  kimi: [
    (url) => openaiProvider({ ...account, name: 'moonshot', api: 'chat', baseUrl: url }),
    requestFor('chat', { model: 'kimi-k2.6', messages: afterThought('moonshot', {}, 'kimi-k2.6') }),
  ],
  gemini: [
    (url) => presetProvider('gemini', { ...account, baseUrl: url }),
    requestFor('chat', {
      model: 'gemini-3',
      messages: afterThought(
        'gemini',
        { toolCallExtras: [{ index: 0, content: { google: { thought_signature: 'sig' } } }] },
        'gemini-3',
      ),
    }),
  ],
  deepseek: [
    (url) => presetProvider('deepseek', { ...account, baseUrl: url }),
    requestFor('chat', {
      model: 'deepseek-chat',
      messages: afterThought('deepseek', {}, 'deepseek-chat'),
    }),
  ],
};

/** What a refusal of this status and body becomes. */
async function refused(
  name: string,
  status: number,
  body: JsonValue,
): Promise<readonly [InfraError, ModelRequest, Provider]> {
  const [providerAt, request] = requests[name] ?? [];
  if (providerAt === undefined || request === undefined) throw new Error(`no request ${name}`);
  answer = { status, body };
  const provider = providerAt(baseUrl);
  return [await failureOf(provider.send(request, sendOptions())), request, provider];
}

const openAiError = (message: string, code: string | null = null): JsonObject => ({
  error: { message, type: 'invalid_request_error', param: null, code },
});

describe('a refusal', () => {
  it.each<readonly [string, string, number, JsonValue, InfraError['thoughts']]>([
    [
      'of encrypted content (t2-replay-01)',
      'responses',
      400,
      openAiError(
        'The encrypted content gAAA...blob could not be verified. Reason: Encrypted content could not be decrypted or parsed.',
        'invalid_encrypted_content',
      ),
      'omitted',
    ],
    [
      'of encrypted content of one item (smallmain/vscode-unify-chat-provider#178)',
      'responses',
      400,
      openAiError(
        'The encrypted content for item rs_0a18 could not be verified. Reason: Encrypted content could not be decrypted or parsed.',
      ),
      'omitted',
    ],
    [
      'of encrypted content, behind a gateway that says 500',
      'responses',
      500,
      openAiError('litellm.BadRequestError: {"error":{"code":"invalid_encrypted_content"}}'),
      'omitted',
    ],
    [
      'of encrypted content by xAI (Wei-Shaw/sub2api#4535)',
      'responses',
      400,
      {
        code: 'invalid-argument',
        error:
          'Could not decrypt the provided encrypted_content. Ensure the value is the unmodified encrypted_content from a previous response.',
      },
      'omitted',
    ],
    [
      'of encrypted content, in other words of xAI (chenyme/grok2api#688)',
      'responses',
      400,
      openAiError(
        'Could not decode the compaction blob. Ensure it is unmodified from the compact response.',
      ),
      'omitted',
    ],
    [
      'of an item that a router doubled (OpenRouterTeam/ai-sdk-provider#254)',
      'responses',
      400,
      openAiError(
        'Duplicate item found with id rs_0ad20f1f8629dc53. Remove duplicate items from your input and try again.',
      ),
      'omitted',
    ],
    [
      'of encrypted content that smells of money and a filter',
      'responses',
      400,
      openAiError(
        'Could not decrypt the provided encrypted_content: content blocked by guardrail, check your plan and billing details.',
      ),
      'omitted',
    ],
    [
      'of the field, without quotes',
      'deepseek',
      400,
      openAiError('Unrecognized request argument supplied: reasoning_content'),
      'omitted',
    ],
    [
      'of an item without its partner (openai/openai-agents-python#2669)',
      'responses',
      400,
      openAiError(
        "Item 'rs_68a1' of type 'reasoning' was provided without its required following item.",
      ),
      'omitted',
    ],
    [
      'of a signature (anthropics/claude-code#10627)',
      'anthropic',
      400,
      {
        type: 'error',
        error: {
          type: 'invalid_request_error',
          message: 'messages.1.content.0: Invalid `signature` in `thinking` block',
        },
      },
      'omitted',
    ],
    [
      'of a signature behind Vertex (lbjlaq/Antigravity-Manager#498)',
      'anthropic',
      400,
      {
        error: {
          code: 400,
          message:
            '{"type":"error","error":{"type":"invalid_request_error","message":"messages.1.content.0: Invalid `signature` in `thinking`       block"}}',
          status: 'INVALID_ARGUMENT',
        },
      },
      'omitted',
    ],
    [
      'of a changed thought (anthropics/claude-code#63284)',
      'anthropic',
      400,
      {
        type: 'error',
        error: {
          type: 'invalid_request_error',
          message:
            'messages.3.content.8: `thinking` or `redacted_thinking` blocks in the latest assistant message cannot be modified.',
        },
      },
      'omitted',
    ],
    [
      'of a message without its thought (decolua/9router#2397)',
      'unsigned',
      400,
      {
        error: {
          message: 'The `content[].thinking` in the thinking mode must be passed back to the API.',
          type: 'invalid_request_error',
        },
      },
      'with-text',
    ],
    [
      'of a call without its thought (t2-compat-03)',
      'kimi',
      400,
      {
        error: {
          message:
            'thinking is enabled but reasoning_content is missing in assistant tool call message at index 2',
          type: 'invalid_request_error',
        },
      },
      'with-text',
    ],
    [
      'of a call without its thought, behind a router (OnesoftQwQ/opencode-go-copilot#1)',
      'kimi',
      400,
      {
        error: {
          message: 'Provider returned error',
          code: 400,
          metadata: {
            raw: '{"error":{"message":"thinking is enabled but reasoning_content is missing in assistant tool call message at index 3","type":"invalid_request_error"}}',
            provider_name: 'Moonshot',
          },
        },
      },
      'with-text',
    ],
    [
      'of a message without its thought (zed-industries/zed#55321)',
      'kimi',
      400,
      openAiError('The `reasoning_content` in the thinking mode must be passed back to the API.'),
      'with-text',
    ],
    [
      'of a call without a signature (GewoonJaap/gemini-cli-openai#156)',
      'kimi',
      400,
      [
        {
          error: {
            code: 400,
            message:
              'Unable to submit request because function call `x` in the 5. content block is missing a `thought_signature`.',
            status: 'INVALID_ARGUMENT',
          },
        },
      ],
      'with-signatures',
    ],
    [
      'of a signature of Gemini',
      'gemini',
      400,
      [
        {
          error: { code: 400, message: 'Corrupted thought signature.', status: 'INVALID_ARGUMENT' },
        },
      ],
      'omitted',
    ],
    [
      'of a field that the server does not know (BerriAI/litellm#30835)',
      'deepseek',
      422,
      {
        object: 'error',
        message: {
          detail: [
            {
              type: 'extra_forbidden',
              loc: ['body', 'messages', 1, 'assistant', 'reasoning_content'],
              msg: 'Extra inputs are not permitted',
              input: 'x',
            },
          ],
        },
        type: 'invalid_request_error',
      },
      'omitted',
    ],
  ])('%s by %s', async (_title, who, status, body, thoughts) => {
    const [failure, request, provider] = await refused(who, status, body);
    expect(failure).toMatchObject({ code: 'format', thoughts });
    if (thoughts === undefined) throw new Error('the row names what is asked for');
    const again = await failureOf(provider.send({ ...request, thoughts }, sendOptions()));
    expect(again.thoughts).toBeUndefined();
    const [first, second] = bodies;
    expect(second).not.toBe(first);
    // Calls and results stay.
    expect(second).toContain('a.txt');
    expect(second?.includes('I should look')).toBe(thoughts === 'with-text');
    expect(second).not.toMatch(/gAAAblob|c2ln|"sig"/);
  });

  it.each<readonly [string, JsonValue]>([
    ['kimi', openAiError('Invalid `signature` in `thinking` block')],
    [
      'deepseek',
      openAiError('reasoning_content is missing in assistant tool call message at index 2'),
    ],
  ])('by %s that no repeat would change is not repeated', async (who, body) => {
    const [failure] = await refused(who, 400, body);
    expect(failure).toMatchObject({ code: 'format' });
    expect(failure.thoughts).toBeUndefined();
  });

  it.each<readonly [string, number, JsonValue]>([
    ['another field', 400, openAiError("Unknown parameter: 'messages[0].colour'.")],
    [
      'reasoning that costs too much',
      402,
      openAiError('Insufficient credits for reasoning tokens.', 'insufficient_quota'),
    ],
    [
      'an unknown effort',
      400,
      openAiError(
        "Unsupported value: 'reasoning_effort' does not support 'minimal' with this model.",
      ),
    ],
    [
      'a long prompt',
      400,
      openAiError("This model's maximum context length is 8 tokens.", 'context_length_exceeded'),
    ],
  ])('of %s says nothing about thoughts', async (_name, status, body) => {
    const [failure] = await refused('responses', status, body);
    expect(failure.thoughts).toBeUndefined();
  });
});
