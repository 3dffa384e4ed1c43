/** Refusals that lie in the account: money, keys, models, a day's quota. No retry cures them; another route does. */
import type { WireName } from '../../../../testing/emulator/wire';
import { failedOver } from '../fault-builders';
import { scorecardKey } from '../judge-fault';
import type { ProviderFault } from '../provider-fault';
import type { Refusal } from '../vendor-bodies';
import { answered, anthropic, gemini, openai, page, rowsOf } from '../vendor-bodies';

const quota = 'You exceeded your current quota, please check your plan and billing details.';
const credit =
  'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.';

/** Money, under whatever status it comes. */
const billing: readonly Refusal[] = [
  ['anthropic', 400, 'credit too low', anthropic('invalid_request_error', credit)],
  [
    'anthropic',
    400,
    'own usage limit reached',
    anthropic(
      'invalid_request_error',
      'You have reached your specified API usage limits. You will regain access on 2027-01-01 at 00:00 UTC.',
    ),
  ],
  ['anthropic', 402, 'billing_error', anthropic('billing_error', 'Payment required.')],
  ['anthropic', 403, 'credit too low', anthropic('permission_error', credit)],
  ['anthropic', 429, 'credit too low', anthropic('rate_limit_error', credit)],
  [
    'responses',
    429,
    'insufficient_quota',
    openai(quota, 'insufficient_quota', 'insufficient_quota'),
  ],
  ['chat', 429, 'insufficient_quota', openai(quota, 'insufficient_quota', 'insufficient_quota')],
  [
    'responses',
    400,
    'billing hard limit',
    openai(
      'Billing hard limit has been reached',
      'invalid_request_error',
      'billing_hard_limit_reached',
    ),
  ],
  [
    'chat',
    402,
    'OpenRouter credits',
    {
      error: {
        code: 402,
        message:
          'This request requires more credits, or fewer max_tokens. You requested up to 1024 tokens.',
      },
    },
  ],
  [
    'chat',
    402,
    'DeepSeek balance',
    openai('Insufficient Balance', 'unknown_error', 'invalid_request_error'),
  ],
  [
    'chat',
    403,
    'DashScope arrears',
    {
      code: 'Arrearage',
      message: 'Access denied, please make sure your account is in good standing.',
      request_id: 'e0a0',
    },
  ],
  [
    'chat',
    429,
    'Gemini quota of zero',
    gemini(429, 'RESOURCE_EXHAUSTED', `${quota} limit: 0, model: gemini-3-pro`),
  ],
  [
    'chat',
    500,
    'gateway wraps no credit',
    openai(
      `litellm.APIError: AnthropicException - ${JSON.stringify(anthropic('invalid_request_error', credit))}`,
      'None',
      '500',
    ),
  ],
];

const auth: readonly Refusal[] = [
  ['anthropic', 401, 'wrong key', anthropic('authentication_error', 'invalid x-api-key')],
  [
    'anthropic',
    403,
    'permission',
    anthropic(
      'permission_error',
      'Your API key does not have permission to use the specified resource.',
    ),
  ],
  [
    'anthropic',
    400,
    'disabled organization',
    anthropic('invalid_request_error', 'This organization has been disabled.'),
  ],
  [
    'responses',
    403,
    'country',
    openai(
      'Country, region, or territory not supported',
      'request_forbidden',
      'unsupported_country_region_territory',
    ),
  ],
  [
    'chat',
    400,
    'Gemini key',
    gemini(400, 'INVALID_ARGUMENT', 'API key not valid. Please pass a valid API key.', [
      { '@type': 'type.googleapis.com/google.rpc.ErrorInfo', reason: 'API_KEY_INVALID' },
    ]),
  ],
  ['chat', 403, "firewall's page", page('Attention Required! | Cloudflare')],
];

const missingModel: readonly Refusal[] = [
  ['anthropic', 404, 'model', anthropic('not_found_error', 'model: claude-sonnet-5')],
  [
    'responses',
    404,
    'model',
    openai(
      'The model `gpt-5` does not exist or you do not have access to it.',
      'invalid_request_error',
      'model_not_found',
    ),
  ],
  [
    'responses',
    403,
    'no access to the model',
    openai(
      'Project `proj_score` does not have access to model `gpt-5`',
      'invalid_request_error',
      'model_not_found',
    ),
  ],
  [
    'chat',
    400,
    'DeepSeek model',
    openai('Model Not Exist', 'invalid_request_error', 'invalid_request_error'),
  ],
  [
    'chat',
    404,
    'Ollama model',
    openai('model "gpt-5" not found, try pulling it first', 'api_error', null),
  ],
];

/** A day's quota: a minute's rest does not cure it, so the route is left at once. */
const dailyQuota: readonly Refusal[] = [
  [
    'chat',
    429,
    'Gemini quota per day',
    gemini(429, 'RESOURCE_EXHAUSTED', quota, [
      {
        '@type': 'type.googleapis.com/google.rpc.QuotaFailure',
        violations: [{ quotaId: 'GenerateRequestsPerDayPerProjectPerModel-FreeTier' }],
      },
      { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '1s' },
    ]),
  ],
  [
    'responses',
    429,
    'requests per day',
    openai(
      'Rate limit reached for gpt-5 on requests per day (RPD): Limit 200, Used 200, Requested 1. Please try again in 7m12s.',
      'requests',
      'rate_limit_exceeded',
    ),
  ],
];

/** A vendor that echoes the key that it refuses. */
function echoedKey(wire: WireName): ProviderFault {
  const message = `Incorrect API key provided: ${scorecardKey}. You can find your API key at https://platform.openai.com/account/api-keys.`;
  const body = openai(message, 'invalid_request_error', 'invalid_api_key');
  return failedOver('401 wrong key, echoed', wire, answered(401, body), 'auth');
}

/** Rows of this kind. */
export function accountFaults(): readonly ProviderFault[] {
  return [
    ...rowsOf(failedOver, 'billing', billing),
    ...rowsOf(failedOver, 'auth', auth),
    ...rowsOf(failedOver, 'model_not_found', missingModel),
    ...rowsOf(failedOver, 'rate_limit', dailyQuota),
    ...rowsOf(failedOver, 'unknown', [['chat', 418, 'nobody knows', 'short and stout']]),
    echoedKey('responses'),
    echoedKey('chat'),
  ];
}
