/** The vendors' words for each reason: exact codes, and sentences that no other failure uses. */
import type { FailoverReason } from '../../../workflows/core/limits';

/** One reason and the words that identify it. Codes are compared in lower case. */
export interface ReasonWords {
  readonly reason: FailoverReason;
  readonly codes: ReadonlySet<string>;
  readonly text: RegExp;
}

/** One pattern for several, in any case. */
const anyOf = (...patterns: readonly RegExp[]): RegExp =>
  new RegExp(patterns.map(({ source }) => source).join('|'), 'i');

const words = (reason: FailoverReason, codes: string, text: RegExp): ReasonWords => ({
  reason,
  codes: new Set(codes.split(/\s+/)),
  text,
});

/** No money left, under any status or type. Source: bodies in test/providers/fixtures; case billing-01. */
export const moneyWords = words(
  'billing',
  `insufficient_quota billing_error billing_not_active billing_hard_limit_reached insufficient_balance insufficient_credits
   insufficient_funds payment_required payment_required_error arrearage allocationquota.freetieronly credits_exhausted
   budget_exceeded exceeded_current_quota_error credit_balance_exhausted billing_disabled access_terminated_error`,
  anyOf(
    /credit balance is too low|insufficient (?:account )?(?:balance|credits?|funds)|requires more credits/,
    /can only afford|payment required|out of credits|overdue[- ]payment|billing hard limit/,
    /specified (?:workspace )?api usage limits|spend(?:ing)? (?:limit|cap)\b/,
    /budget (?:limit )?(?:has been |was |is )?(?:exceeded|exhausted|reached)/,
    /exceeded (?:your|the|its) budget|over budget\b|extra usage is required|draw from (?:your )?extra usage/,
    /(?:no|any|all available|enough) credits\b|credit limit exceeded/,
    /(?:enough|sufficient|negative|no) (?:account |paid )?balance/,
    /(?:balance|credits?) (?:is |are |was |has been |have been )?(?:insufficient|not enough|too low|exhausted|depleted|negative)/,
    /余额不足|欠费|payment[ _]instrument|credit card on file|positive balance|(?:past|unpaid) invoices?/,
    /requires billing to be enabled|\bbilling\b.{0,60}\b(?:not enabled|disabled|closed|inactive)/,
    /(?:please|must|to) (?:top[- ]up|recharge)|usage limit for this billing/,
    /monthly (?:included credits|budget|cap)\b|you have no quota|account is not active.{0,40}billing/,
    /free (?:tier|quota) of the model has been exhausted/,
    /\bkey limit exceeded|(?:used up|exhausted) your free (?:trial|tier)|(?:free )?trial (?:quota |period )?(?:has )?(?:ended|expired)/,
  ),
);

/** The prompt, or the prompt with its reply, is too long. Source: bodies of vendors and local servers; case context_overflow-01. */
export const overflowWords = words(
  'context_overflow',
  `context_length_exceeded exceed_context_size_error request_too_large model_max_prompt_tokens_exceeded context_window_exceeded
   contextwindowexceedederror context_overflow prompt_too_long input_too_long`,
  anyOf(
    /prompt is too long|prompt too long|exceed(?:s|ed)?\b.{0,40}\bcontext (?:limit|length|size|window)/,
    /context (?:window|length|limit) (?:exceeded|exceeds)|maximum context length/,
    /maximum (?:input|prompt) (?:length|tokens)/,
    /exceeds the (?:maximum number of tokens|available context size|model's context)/,
    /input (?:token count|length).{0,60}exceeds|range of input length should be|input is too long/,
    /too many (?:input )?tokens(?!,? (?:per|please wait))/,
    /(?:reduce|decrease|shorten) the length of (?:the|your) (?:messages|prompt|input)/,
    /tokens exceed the configured limit|ran out of room in the model's context|maximum length \d{6,}/,
    /request too large for|larger than the (?:maximum )?context/,
    /request (?:entity|body|payload)? ?(?:is )?too large/,
  ),
);

/** The vendor's filter, or a gateway's guardrail, blocked the input or the output. */
export const filterWords = words(
  'content_filter',
  `content_filter content_filter_error content_policy_violation responsibleaipolicyviolation data_inspection_failed
   datainspectionfailed safety prohibited_content invalid_prompt moderation_blocked cyber_policy_violation sensitive_content content_policy
   contentpolicyviolationerror guardrail_intervened`,
  anyOf(
    /content filter(?:ing)?\b|content management policy|content exists risk/,
    /flagged as potentially violating|input was flagged|violat\w{1,8} (?:our )?(?:usage|content) polic/,
    /inappropriate content|blocked (?:due to|by|for) (?:safety|content|prohibited|.{0,40}guardrail)/,
    /guardrails? (?:intervened|blocked)|content blocked|rejected as a result of our safety/,
    /considered high risk|sensitive (?:words?|content|information)|prompt injection|敏感/,
    /['"]content_filter['"]|ResponsibleAIPolicyViolation|ContentPolicyViolationError|data[_ ]inspection/,
  ),
);

/** Codes that name their reason exactly; the innermost body that has one decides. */
export const codeWords: readonly ReasonWords[] = [
  words(
    'model_not_found',
    `model_not_found model_not_available model_not_supported modelnotfound model_not_exist deploymentnotfound invalid_model
     unknown_model model_decommissioned model_deprecated model_permission_blocked_org model_permission_blocked_project
     model_terms_required`,
    anyOf(
      /\bmodel\b.{0,120}(?:does not exist|not found|not exist\b|is not available|has been (?:deprecated|decommissioned|retired|shut down))/,
      /not a valid model|unknown model|invalid model name|model identifier is invalid/,
      /no endpoints (?:found|available)|on-demand throughput isn.t supported/,
      /is blocked at the (?:organi[sz]ation|project) level|(?:not|n.t) have access to (?:the )?model/,
      /models\/\S{1,200} is not found|the model ['"`]?[^\s'"`]{1,200}['"`]? is not supported/,
    ),
  ),
  words(
    'auth',
    `authentication_error invalid_api_key incorrect_api_key permission_error permission_denied permissiondenied unauthenticated
     unauthorized api_key_invalid invalid_authentication invalid_authentication_error account_deactivated invalid_organization
     unsupported_country_region_territory accessdenied access_denied invalidapikey forbidden token_expired expired_token
     insufficient_permissions missing_scope authenticationerror permissiondeniederror ip_not_authorized organization_restricted
     accessdeniedexception permissions_error consumer_suspended service_disabled`,
    anyOf(
      /(?:incorrect|invalid) (?:x-)?api[- ]?key|api key not valid/,
      /api key (?:is )?(?:missing|expired|invalid|not found|required)|no auth credentials/,
      /\bunauthori[sz]ed\b|authentication (?:fails?|failed|is required|required)/,
      /organization must be verified|is not authorized to perform|oauth token (?:has )?(?:expired|revoked)/,
      /missing bearer/,
    ),
  ),
  words(
    'overloaded',
    `overloaded_error overloaded engine_overloaded engine_overloaded_error service_unavailable service_unavailable_error serviceunavailable unavailable
     server_overloaded slow_down insufficient_system_resource upstream_error bad_gateway model_overloaded no_capacity nocapacity
     capacity_exceeded service_tier_capacity_exceeded provider_unavailable modelnotreadyexception`,
    anyOf(
      /overloaded|at (?:full |maximum )?capacity|no capacity/,
      /capacity (?:has been |was |is )?(?:exceeded|exhausted|reached)/,
      /(?:exceeded|out of|insufficient) capacity|server (?:is )?(?:too )?busy/,
      /(?:currently|temporarily) unavailable|service unavailable|internal server error|bad gateway/,
      /high demand/,
    ),
  ),
  words(
    'rate_limit',
    `rate_limit_error rate_limit_exceeded rate_limit rate_limited ratelimitexceeded ratelimiterror resource_exhausted
     too_many_requests toomanyrequests throttlingexception throttling throttling.ratequota throttling.allocationquota
     limit_requests limit_burst_rate rate_limit_reached_error concurrency_limit_exceeded`,
    /rate[- ]?limit|too many (?:concurrent )?requests|quota exceeded|exceeded.{0,40}quota|throttl|resource (?:has been )?exhausted/i,
  ),
  words(
    'timeout',
    'timeout_error timeout deadline_exceeded request_timeout gateway_timeout timeouterror upstream_timeout',
    /timed out|time[- ]?out\b|deadline exceeded/i,
  ),
];

/** Sentences about a limit that a request met, where the status does not say so. */
export const limitSentence = anyOf(
  /rate[- ]?limit(?:s|ed|ing)? (?:was |has been |is )?(?:reached|exceeded|hit)/,
  /(?:reached|exceed\w{0,6}|hit).{0,40}rate[- ]?limit|too many (?:concurrent )?requests/,
  /\bquota\b.{0,40}\b(?:exceeded|exhausted|reached|depleted|used up)|exceed\w{0,6}.{0,40}quota/,
  /(?:out of|insufficient|no) quota/,
  /(?:request|token|usage) limit (?:has been |was )?(?:reached|exceeded)|\blimit exhausted/,
);

/** Where the worker is: the vendor does not serve the country, region or data center. Source: OpenAI, Gemini, Bedrock, Anthropic ("Request not allowed"). */
export const regionText = anyOf(
  /(?:countr(?:y|ies)|region|territory|location)\b.{0,40}\bnot (?:yet |currently )?(?:supported|available|allowed|served)/,
  /not (?:yet |currently )?(?:available|supported|accessible|offered|allowed) (?:in|from) (?:your|this|the|unsupported) (?:current )?(?:countr|region|location|territor|area|data ?cent)/,
  /(?:your|from this) (?:country|region|location|territory|area)\b.{0,30}\b(?:blocked|prohibited|restricted|banned|denied)/,
  /unsupported[ _](?:countr|region|territor)|^request not allowed\.?$/,
);

/** From where in the network the request came: an allow-list, a firewall, a private endpoint. Source: OpenAI, Azure, Google, Cloudflare. */
export const addressText = anyOf(
  /\bip(?: address(?:es)?)?\b.{0,60}\b(?:not (?:authori[sz]ed|allowed|permitted)|allow-?list|whitelist|restrict(?:ed|ion|ions)|blocked|banned|denied|rejected)/,
  /virtual network\b|firewall rules|public (?:network )?access is disabled|private endpoint/,
);

/** The account as a whole. Source: Anthropic, Groq, Google, Azure. */
export const disabledText = anyOf(
  /\b(?:organi[sz]ation|account|workspace|team|project|consumer|resource)\b.{0,80}\b(?:is|was|has been) (?:temporarily |permanently )?(?:disabled|deactivated|suspended|restricted|banned|terminated|locked)\b/,
);

/** Codes that name one field or value of the request: no sentence beside them is about the vendor. */
export const fieldCode =
  /^(?:invalid_(?!request|argument|parameter|api)|unsupported_(?!country)|missing_|string_|array_|integer_|decimal_|extra_|duplicate_)/;

/**
 * The model or the server takes no image at all, whatever status says it: without the image the route is sound, so it must not rest.
 * Source: openclaw/openclaw#99079 (OpenRouter's 404), llamastash/llamastash#13 (llama.cpp's 500).
 */
export const imageText = anyOf(
  /no endpoints found that support (?:image|vision|multimodal)/,
  /\bimages?(?: inputs?)? (?:is|are) (?:not|only) supported\b|\b(?:does not|doesn't|cannot) (?:support|accept|process) (?:images?|vision|multimodal)\b/,
);

/** Codes that only repeat a 403: the text may say more. */
export const forbiddenCodes: ReadonlySet<string> = new Set([
  ...[
    'forbidden',
    'permission_denied',
    'permissiondenied',
    'permission-denied',
    'permission_error',
  ],
  ...[
    'permissions_error',
    'permissiondeniederror',
    'access_denied',
    'accessdenied',
    'accessdeniedexception',
  ],
]);

/** Codes that say only that something is missing; the text says whether it is the model. */
export const missingCodes: ReadonlySet<string> = new Set([
  'not_found_error',
  'not_found',
  'notfounderror',
  'notfound',
]);

/** Codes that say only that the vendor failed; the status may say more. */
export const troubleWords = words(
  'overloaded',
  'server_error internal_error internal_server_error internalservererror api_error internal',
  /server (?:had an )?error/i,
);

/** Codes that say only that the request was wrong; status and text may say more. */
export const formatWords = words(
  'format',
  `invalid_request_error invalid_request bad_request badrequest badrequesterror bad_request_error invalid_argument
   failed_precondition unprocessable_entity unprocessableentityerror invalid_parameter invalidparameter
   invalid_parameter_error validation_error invalid_value unsupported_value unsupported_parameter missing_required_parameter
   string_above_max_length invalid_json`,
  /item with id .{0,80} not found|previous response/i,
);

/** Error codes of sockets, DNS, TLS and Node's fetch that mean that the connection to the vendor failed. */
export const networkCodes =
  /^(?:ECONNRESET|ECONNREFUSED|ECONNABORTED|EPIPE|ENOTFOUND|EAI_\w+|ENETUNREACH|ENETDOWN|ENETRESET|EHOSTUNREACH|EHOSTDOWN|EADDRNOTAVAIL|ERR_STREAM_PREMATURE_CLOSE|UND_ERR_\w+|EPROTO|CERT_\w+|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_\w+|ERR_TLS_\w+|ERR_SSL_\w+|HPE_\w+|ERR_HTTP2_\w+|ERR_INVALID_URL)$/;

/** Error codes that mean the vendor did not answer in time. */
export const timeoutCodes =
  /^(?:ETIMEDOUT|ESOCKETTIMEDOUT|UND_ERR_HEADERS_TIMEOUT|UND_ERR_BODY_TIMEOUT|UND_ERR_CONNECT_TIMEOUT)$/;

/** Codes of a connection that was never made: name, route, TLS handshake. Source: Node's and undici's error codes. */
export const unsentCodes =
  /^(?:ECONNREFUSED|ENOTFOUND|EAI_\w+|ENETUNREACH|ENETDOWN|EHOSTUNREACH|EHOSTDOWN|EADDRNOTAVAIL|UND_ERR_CONNECT_TIMEOUT|EPROTO|CERT_\w+|DEPTH_ZERO_SELF_SIGNED_CERT|SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_\w+|ERR_TLS_\w+|ERR_SSL_\w+|ERR_INVALID_URL)$/;

/** What Node's fetch and the SDKs say about a failed connection without a code. */
export const networkText = anyOf(
  /^terminated$|fetch failed|socket hang up|other side closed/,
  /connection (?:error|reset|closed|lost|refused)|premature close|network error/,
  /stream ended (?:without|before)|ended without sending any chunks|invalid url/,
);

/** Error codes of a failed connection in a text, as in `connect ECONNREFUSED 10.0.0.1:443`. */
export function connectionCodesIn(text: string): readonly string[] {
  const named = text.match(/\b(?:E[A-Z]{3,}(?:_[A-Z]+)?|EAI_[A-Z]+|UND_ERR_\w+)\b/g) ?? [];
  return named.filter((code) => networkCodes.test(code) || timeoutCodes.test(code));
}

/** A number after a word that shows it is a status: `HTTP/1.1 503`, `"status":503`, `status code 429`. */
const namedStatus = /\b(?:http(?:\/[\d.]+)?|status(?: ?code)?|code|error)[\s:=/"']{0,4}(\d{3})\b/gi;

/** The HTTP statuses in a text. */
export function statusesIn(text: string): readonly number[] {
  return [...text.matchAll(namedStatus)].map(([, status]) => Number(status));
}

/** A quota that is used up, and does not refill within seconds (R-STREAM-1). */
export const spentQuota =
  /quota (?:has been |was |is )?exceeded|exceed\w{0,10} (?:\w{1,40} ){0,4}quota/i;
