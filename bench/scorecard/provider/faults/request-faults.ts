/** Refusals that lie in the request: too long, filtered, malformed. No retry of the same bytes cures them. */
import { failedOver, stoppedForAll } from '../fault-builders';
import type { ProviderFault } from '../provider-fault';
import type { Refusal } from '../vendor-bodies';
import { anthropic, gemini, openai, page, rowsOf } from '../vendor-bodies';

/** Too long by the vendor's own count for every route of the chain. */
const overflowEverywhere: readonly Refusal[] = [
  [
    'anthropic',
    400,
    'prompt too long',
    anthropic('invalid_request_error', 'prompt is too long: 210000 tokens > 200000 maximum'),
  ],
  [
    'chat',
    400,
    'Gemini context',
    gemini(
      400,
      'INVALID_ARGUMENT',
      'The input token count (1200000) exceeds the maximum number of tokens allowed (1048576).',
    ),
  ],
];

/** Too long for this route, whose window is therefore smaller than thought; the next route's is larger. */
const overflowHere: readonly Refusal[] = [
  [
    'anthropic',
    413,
    'request too large',
    anthropic('request_too_large', 'Request exceeds the maximum size'),
  ],
  ['anthropic', 413, "nginx's page", page('413 Request Entity Too Large')],
  [
    'responses',
    400,
    'context window',
    openai(
      'Your input exceeds the context window of this model. Please adjust your input and try again.',
      'invalid_request_error',
      'context_length_exceeded',
    ),
  ],
  [
    'responses',
    429,
    'larger than the bucket',
    openai(
      'Request too large for gpt-5 on tokens per min (TPM): Limit 30000, Requested 41000.',
      'tokens',
      'rate_limit_exceeded',
    ),
  ],
  [
    'chat',
    400,
    'vLLM context',
    {
      object: 'error',
      message:
        "This model's maximum context length is 4096 tokens. However, you requested 5000 tokens",
      type: 'BadRequestError',
      code: 400,
    },
  ],
  [
    'chat',
    400,
    'llama.cpp context',
    {
      error: {
        code: 400,
        message: 'the request exceeds the available context size. try increasing it',
        type: 'exceed_context_size_error',
      },
    },
  ],
  [
    'chat',
    413,
    'Groq bucket',
    openai(
      'Request too large on tokens per minute (TPM): Limit 6000, Requested 9000',
      'tokens',
      'rate_limit_exceeded',
    ),
  ],
];

const filtered: readonly Refusal[] = [
  [
    'anthropic',
    400,
    'output filter',
    anthropic('invalid_request_error', 'Output blocked by content filtering policy'),
  ],
  [
    'responses',
    400,
    'policy',
    openai(
      'Invalid prompt: your prompt was flagged as potentially violating our usage policy.',
      'invalid_request_error',
      'invalid_prompt',
    ),
  ],
  [
    'chat',
    400,
    'Azure filter',
    {
      error: {
        code: 'content_filter',
        message:
          "The response was filtered due to the prompt triggering Azure OpenAI's content management policy.",
        innererror: { code: 'ResponsibleAIPolicyViolation' },
      },
    },
  ],
  ['chat', 400, 'DeepSeek risk', openai('Content Exists Risk', 'invalid_request_error', null)],
  [
    'chat',
    403,
    'OpenRouter moderation',
    {
      error: {
        code: 403,
        message: 'Your chosen model requires moderation and your input was flagged for "violence"',
      },
    },
  ],
];

const malformed: readonly Refusal[] = [
  [
    'anthropic',
    400,
    'roles',
    anthropic(
      'invalid_request_error',
      'messages: roles must alternate between "user" and "assistant"',
    ),
  ],
  [
    'responses',
    400,
    'unsupported parameter',
    openai(
      "Unsupported parameter: 'temperature' is not supported with this model.",
      'invalid_request_error',
      'unsupported_parameter',
    ),
  ],
  [
    'responses',
    404,
    'lost reasoning item',
    openai(
      "Item with id 'rs_0123' not found. Items are not persisted when `store` is set to false.",
      'invalid_request_error',
      null,
    ),
  ],
  [
    'chat',
    400,
    'long call id',
    openai(
      "Invalid 'messages[3].tool_calls[0].id': string too long. Expected a string with maximum length 40, but got a string with length 41 instead.",
      'invalid_request_error',
      'string_above_max_length',
    ),
  ],
  [
    'chat',
    422,
    "proxy's detail",
    { detail: [{ loc: ['body', 'messages'], msg: 'field required' }] },
  ],
];

/** Rows of this kind. */
export function requestFaults(): readonly ProviderFault[] {
  return [
    ...rowsOf(stoppedForAll, 'context_overflow', overflowEverywhere),
    ...rowsOf(failedOver, 'context_overflow', overflowHere),
    ...rowsOf(failedOver, 'content_filter', filtered),
    ...rowsOf(failedOver, 'format', malformed),
  ];
}
