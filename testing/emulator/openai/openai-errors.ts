/** Error shapes that both OpenAI wires share. */
import type { JsonObject } from '../../../workflows/core/json';
import type { VendorError } from '../step';

interface Shape {
  readonly type: string;
  readonly code: string | null;
  readonly message: string;
}

const shapes: Readonly<Record<number, Shape>> = {
  401: {
    type: 'invalid_request_error',
    code: 'invalid_api_key',
    message:
      'Incorrect API key provided: sk-****. You can find your API key at https://platform.openai.com/account/api-keys.',
  },
  402: {
    type: 'insufficient_quota',
    code: 'insufficient_quota',
    message: 'You exceeded your current quota, please check your plan and billing details.',
  },
  403: {
    type: 'invalid_request_error',
    code: 'missing_scope',
    message: 'You have insufficient permissions for this operation. Missing scopes: model.request.',
  },
  404: {
    type: 'invalid_request_error',
    code: 'model_not_found',
    message: 'The model `gpt-unknown` does not exist or you do not have access to it.',
  },
  413: {
    type: 'invalid_request_error',
    code: null,
    message: 'Maximum content size limit exceeded',
  },
  429: {
    type: 'requests',
    code: 'rate_limit_exceeded',
    message:
      'Rate limit reached for requests per min (RPM): Limit 3, Used 3, Requested 1. Please try again in 20s.',
  },
  500: {
    type: 'server_error',
    code: null,
    message: 'The server had an error while processing your request. Sorry about that!',
  },
  503: {
    type: 'service_unavailable_error',
    code: 'server_is_overloaded',
    message: 'Our servers are currently overloaded. Please try again later.',
  },
};

/** "Overloaded" is one fault in scripts; OpenAI says it with its own status. */
const sameAs: Readonly<Record<number, number>> = { 529: 503 };

/** Type, code and message that the vendor uses for a status. */
export function openAiShape(error: VendorError): Shape {
  const usual = shapes[sameAs[error.status] ?? error.status] ?? {
    type: error.status < 500 ? 'invalid_request_error' : 'server_error',
    code: null,
    message: 'Error',
  };
  return {
    type: error.type ?? usual.type,
    code: error.code === undefined ? usual.code : error.code,
    message: error.message ?? usual.message,
  };
}

/** `{ error: { message, type, param, code } }`. */
export function openAiErrorBody(error: VendorError): JsonObject {
  const { message, type, code } = openAiShape(error);
  return { error: { message, type, param: error.param ?? null, code } };
}

/** Heads that OpenAI sends with every answer. */
export function openAiErrorHeaders(requestId: string): Readonly<Record<string, string>> {
  return {
    'x-request-id': requestId,
    'openai-organization': 'emulator',
    'openai-version': '2020-10-01',
    server: 'cloudflare',
  };
}

/** No key at all; Azure OpenAI takes it in a header of its own. */
export function refuseOpenAiHeaders(
  headers: Readonly<Record<string, string>>,
): VendorError | undefined {
  if ((headers['authorization'] ?? '').startsWith('Bearer ')) return undefined;
  if (headers['api-key'] !== undefined) return undefined;
  return {
    status: 401,
    type: 'invalid_request_error',
    code: null,
    message:
      "You didn't provide an API key. You need to provide your API key in an Authorization header using Bearer auth (i.e. Authorization: Bearer YOUR_KEY), " +
      "or as the password field (with blank username) if you're accessing the API from your browser and are prompted for a username and password. " +
      'You can obtain an API key from https://platform.openai.com/account/api-keys.',
  };
}

/** A body that is not JSON. */
export function refuseOpenAiText(): VendorError {
  return {
    status: 400,
    code: null,
    message:
      "We could not parse the JSON body of your request. (HINT: This likely means you aren't using your HTTP library correctly. " +
      'The OpenAI API expects a JSON payload, but what was sent was not valid JSON. If you have trouble figuring out how to fix this, ' +
      'please contact us through our help center at help.openai.com.)',
  };
}
