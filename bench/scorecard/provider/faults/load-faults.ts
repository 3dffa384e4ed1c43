/** Refusals that lie in the moment: overload, failures of the vendor, late answers, a minute's limit. A retry cures them. */
import { fault } from '../../../../testing/emulator/script';
import type { WireName } from '../../../../testing/emulator/wire';
import { failedOver, retried, spent, stoppedAtOnce, stoppedWhenSpent } from '../fault-builders';
import type { ProviderFault } from '../provider-fault';
import type { Refusal } from '../vendor-bodies';
import { anthropic, gemini, openai, page, rowsOf } from '../vendor-bodies';

const crowded = 'The engine is currently overloaded, please try again later';
const overloaded: readonly Refusal[] = [
  ['anthropic', 529, 'overloaded', anthropic('overloaded_error', 'Overloaded')],
  ['anthropic', 500, 'api_error', anthropic('api_error', 'Internal server error')],
  ['anthropic', 502, "gateway's page", page('502 Bad Gateway')],
  [
    'responses',
    500,
    'server_error',
    openai(
      'The server had an error while processing your request. Sorry about that!',
      'server_error',
      null,
    ),
  ],
  [
    'responses',
    503,
    'overloaded',
    openai('Our servers are currently overloaded. Please try again later.', 'server_error', null),
  ],
  ['responses', 502, 'empty body', ''],
  ['chat', 429, 'overload as a limit', openai(crowded, 'engine_overloaded_error', null)],
  [
    'chat',
    503,
    'Gemini unavailable',
    gemini(503, 'UNAVAILABLE', 'The model is overloaded. Please try again later.'),
  ],
  [
    'chat',
    429,
    'gateway wraps overload',
    {
      error: {
        code: 429,
        message: 'Provider returned error',
        metadata: {
          raw: JSON.stringify(anthropic('overloaded_error', 'Overloaded')),
          provider_name: 'Anthropic',
        },
      },
    },
  ],
];

const late: readonly Refusal[] = [
  ['anthropic', 504, 'timeout_error', anthropic('timeout_error', 'Request timed out')],
  ['responses', 408, 'request timeout', openai('Request timeout', 'server_error', null)],
  ['chat', 524, "Cloudflare's page", page('524: A timeout occurred')],
  [
    'chat',
    504,
    'Gemini deadline',
    gemini(504, 'DEADLINE_EXCEEDED', 'Deadline expired before operation could complete.'),
  ],
];

const limited: readonly Refusal[] = [
  [
    'anthropic',
    429,
    'requests per minute',
    anthropic(
      'rate_limit_error',
      "This request would exceed your account's rate limit. Please try again later.",
    ),
  ],
  [
    'responses',
    429,
    'tokens per minute',
    openai(
      'Rate limit reached for gpt-5 on tokens per min (TPM): Limit 30000, Used 29000, Requested 2000. Please try again in 20ms.',
      'tokens',
      'rate_limit_exceeded',
    ),
  ],
  [
    'chat',
    429,
    'Bedrock throttling',
    {
      message: 'Too many tokens, please wait before trying again.',
      code: 'ThrottlingException',
    },
  ],
];

const everywhere: readonly WireName[] = ['anthropic', 'responses', 'chat'];

/** What other statuses do where there is nobody to fail over to, and after a tool has run. */
function otherMoments(): readonly ProviderFault[] {
  return everywhere.flatMap((wire) => [
    stoppedAtOnce('401 on the only route', wire, fault.http(401), 'auth'),
    stoppedAtOnce('402 on the only route', wire, fault.http(402), 'billing'),
    stoppedWhenSpent('529 on the only route', wire, fault.http(529), 'overloaded'),
    retried('500 after a tool ran', wire, fault.http(500), 'overloaded', { afterTool: 'first' }),
    failedOver('402 after a tool ran', wire, fault.http(402), 'billing', { afterTool: 'first' }),
    spent('503 after a tool ran', wire, fault.http(503), 'overloaded', { afterTool: 'first' }),
  ]);
}

/** Rows of this kind. */
export function loadFaults(): readonly ProviderFault[] {
  return [
    ...rowsOf(retried, 'overloaded', overloaded),
    ...rowsOf(spent, 'timeout', late),
    ...rowsOf(retried, 'rate_limit', limited),
    ...otherMoments(),
  ];
}
