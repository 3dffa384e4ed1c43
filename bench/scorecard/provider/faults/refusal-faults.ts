/** Refusals that one vendor alone gives, in the words of public reports, and answers that are blamed on the wrong thing. */
import { fault } from '../../../../testing/emulator/script';
import type { WireName } from '../../../../testing/emulator/wire';
import { failedOver, keptFromOthers, refusedByBoth, spent, stoppedAtOnce } from '../fault-builders';
import type { ProviderFault } from '../provider-fault';
import type { Refusal } from '../vendor-bodies';
import { answered, anthropic, gemini, openai, page, rowsOf } from '../vendor-bodies';

const invalid = 'invalid_request_error';
const wires: readonly WireName[] = ['anthropic', 'responses', 'chat'];

/** Source: anthropics/claude-code#19631, #24630; rikkahub/rikkahub#1433; kortix-ai/suna#646; zed-industries/zed#44875; others by name. */
const requestRefused: readonly Refusal[] = [
  [
    'anthropic',
    400,
    'image of 8 MB',
    anthropic(invalid, 'messages.2.content.0.image.source.base64: image exceeds 5 MB maximum'),
  ],
  [
    'anthropic',
    400,
    'image of 9000 pixels',
    anthropic(invalid, 'At least one of the image dimensions exceed max allowed size: 8000 pixels'),
  ],
  [
    'anthropic',
    400,
    'schema with oneOf',
    anthropic(
      invalid,
      'tools.0.custom.input_schema: input_schema does not support oneOf at the top level',
    ),
  ],
  [
    'responses',
    400,
    'image that it cannot parse',
    openai('Invalid image.', invalid, 'image_parse_error'),
  ],
  [
    'responses',
    400,
    'schema that is not strict',
    openai(
      "Invalid schema for function 'note': In context=(), 'additionalProperties' is required to be supplied and to be false.",
      invalid,
      'invalid_function_parameters',
    ),
  ],
  [
    'chat',
    400,
    'no images at all',
    openai(
      'Failed to deserialize the JSON body into the target type: messages[1]: unknown variant `image_url`, expected `text`',
      invalid,
      invalid,
    ),
  ],
  [
    'chat',
    400,
    'a text model behind a router',
    {
      error: {
        message: 'Provider returned error',
        code: 400,
        metadata: { raw: '{"detail":"Details: DeepSeek-V3 is not a multimodal model"}' },
      },
    },
  ],
  [
    'chat',
    400,
    'schema keyword that Gemini does not know',
    gemini(
      400,
      'INVALID_ARGUMENT',
      'Invalid JSON payload received. Unknown name "const": Cannot find field.',
    ),
  ],
  [
    'chat',
    422,
    'field that Mistral forbids',
    {
      detail: [
        { type: 'extra_forbidden', loc: ['body', 'x'], msg: 'Extra inputs are not permitted' },
      ],
    },
  ],
];

/** Source: compl-ai/compl-ai#20; gpt4free/g4f.dev#81; BerriAI/litellm#20610. */
const filtered: readonly Refusal[] = [
  [
    'anthropic',
    400,
    'guardrail of a gateway',
    anthropic(invalid, 'Request blocked by the Bedrock guardrail.'),
  ],
  [
    'responses',
    400,
    'safety system',
    openai(
      'Your request was rejected as a result of our safety system.',
      invalid,
      'moderation_blocked',
    ),
  ],
  [
    'chat',
    400,
    "Microsoft's filter",
    openai(
      "The response was filtered due to the prompt triggering Microsoft's content management policy.",
      'null',
      'content_filter',
    ),
  ],
  ['chat', 403, "Zscaler's guard", openai('Content blocked by Zscaler AI Guard', 'None', '403')],
];

/** Source: amd/gaia#3766; Anantys-oss/koan#2412; MoonshotAI/Kimi-K2#5; FoundationAgents/OpenManus#438; zhayujie/CowAgent#2910. */
const money: readonly Refusal[] = [
  [
    'anthropic',
    400,
    'limit of a workspace',
    anthropic(
      invalid,
      'You have reached your specified workspace API usage limits. You will regain access on 2027-01-01 at 00:00 UTC.',
    ),
  ],
  [
    'chat',
    412,
    'Fireworks suspended',
    openai(
      'Account is suspended, possibly due to reaching the monthly spending limit or failure to pay past invoices.',
      'error',
      'PRECONDITION_FAILED',
    ),
  ],
  [
    'chat',
    403,
    'xAI out of credits',
    { code: 'forbidden', error: 'You have run out of credits or need a subscription.' },
  ],
  [
    'chat',
    403,
    'SiliconFlow balance',
    { code: 30011, message: 'Your paid balance is insufficient. Please top up and try again.' },
  ],
  [
    'chat',
    403,
    'Moonshot quota',
    openai(
      'exceeded current quota, please check your plan and billing details',
      'exceeded_current_quota_error',
      null,
    ),
  ],
  [
    'chat',
    429,
    'Zhipu balance',
    { error: { code: '1113', message: '余额不足或无可用资源包,请充值。' } },
  ],
];

/** Source: continuedev/continue#6185; openai/openai-python#414. A transient failure: all tries are spent on it, whatever its status. */
const capacity: readonly Refusal[] = [
  [
    'chat',
    400,
    "Mistral's tier",
    openai('Service tier capacity exceeded for this model.', invalid, null),
  ],
  ['anthropic', 400, 'overload in prose', anthropic(invalid, 'The model is currently overloaded.')],
  ['responses', 422, 'at capacity', openai('The engine is at full capacity.', invalid, null)],
];

/** Addresses where nothing is. Source: microsoft/autogen#3953; OpenHands/OpenHands#485; meilisearch/documentation#3294. */
const noAddress: readonly Refusal[] = [
  ['anthropic', 404, 'path', anthropic('not_found_error', 'Not Found')],
  ['responses', 404, 'Azure endpoint', { error: { code: '404', message: 'Resource not found' } }],
  ['chat', 404, '/v1 is missing', openai('Invalid URL (POST /chat/completions)', invalid, null)],
  ['chat', 404, "FastAPI's detail", { detail: 'Not Found' }],
  ['chat', 404, "a web server's page", page('404: This page could not be found')],
  ['chat', 405, 'no POST', { detail: 'Method Not Allowed' }],
];

/** What the end must blame, on the only route. */
const blamed: readonly (readonly [Refusal, RegExp])[] = [
  [
    [
      'responses',
      403,
      'region',
      openai(
        'Country, region, or territory not supported',
        'request_forbidden',
        'unsupported_country_region_territory',
      ),
    ],
    /not available in this country or region.*neither the key nor the model/i,
  ],
  [
    ['anthropic', 403, 'region in two words', anthropic('forbidden', 'Request not allowed')],
    /not available in this country or region/,
  ],
  [
    [
      'chat',
      403,
      "Azure's firewall",
      { error: { code: '403', message: 'Access denied due to Virtual Network/Firewall rules.' } },
    ],
    /network of this worker.*allow-list/,
  ],
  [
    ['chat', 403, "Cloudflare's page", page('Just a moment...')],
    /a proxy, a firewall or a login page answered/,
  ],
  [
    [
      'chat',
      400,
      'restricted organization',
      openai('Organization has been restricted.', invalid, 'organization_restricted'),
    ],
    /has disabled this account/,
  ],
];

/** Whom an answer names must not be in the end. Source: BuilderIO/micro-agent#86; OpenHands/OpenHands#9259. */
function namedCustomers(): readonly ProviderFault[] {
  const organization = 'org-gvAzf6Q9pR7y2UAiI9owd3LF';
  const uuid = '0dccdde6-f924-4f1b-bb3b-92ef846e0a5b';
  const project = 'proj_JMo3Q9spNIEWhSxusokLegJY';
  return [
    failedOver(
      '401 with an organization',
      'responses',
      answered(
        401,
        openai(`No such organization: ${organization}.`, invalid, 'invalid_organization'),
      ),
      'auth',
      { forbids: [organization] },
    ),
    stoppedAtOnce(
      '403 with an organization',
      'anthropic',
      answered(403, anthropic('permission_error', `organization (${uuid}) may not do this`)),
      'auth',
      { forbids: [uuid] },
    ),
    stoppedAtOnce(
      '403 with a project',
      'responses',
      answered(
        403,
        openai(`Project \`${project}\` does not have access to model \`gpt-5\``, invalid, null),
      ),
      'model_not_found',
      { forbids: [project], says: /does not let this account use the model/ },
    ),
  ];
}

const refusal = fault.http(400, { error: { message: 'This request is not for me.' } });
const filter = fault.http(400, {
  error: { message: 'Output blocked by content filtering policy' },
});

/** Whom a refusal goes to. */
function everywhere(): readonly ProviderFault[] {
  return wires.flatMap((wire) => [
    refusedByBoth('refused here and there', wire, [refusal, 'format'], [refusal, 'format']),
    refusedByBoth(
      'refused here, filtered there',
      wire,
      [refusal, 'format'],
      [filter, 'content_filter'],
    ),
    keptFromOthers('refused, and kept from others', wire, refusal, 'format'),
    keptFromOthers('filtered, and kept from others', wire, filter, 'content_filter'),
    failedOver('refused after a tool', wire, refusal, 'format', { afterTool: 'first' }),
  ]);
}

/** Rows of this kind. */
export function refusalFaults(): readonly ProviderFault[] {
  return [
    ...rowsOf(failedOver, 'format', requestRefused),
    ...rowsOf(failedOver, 'content_filter', filtered),
    ...rowsOf(failedOver, 'billing', money),
    ...rowsOf(spent, 'overloaded', capacity),
    ...rowsOf(failedOver, 'network', noAddress),
    ...blamed.map(([[wire, status, about, body], says]) =>
      stoppedAtOnce(`${status} ${about}, only route`, wire, answered(status, body), 'auth', {
        says,
      }),
    ),
    ...namedCustomers(),
    ...everywhere(),
  ];
}
