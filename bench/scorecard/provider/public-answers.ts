/** Answers of vendors that public issues report, byte by byte; ids and names in them are made up. */
import type { RawHttpInput, RawSseInput } from './recorded-answer';

/** Answers by status and body, under the id of their case among the recorded public failures. */
export const publicHttpAnswers = {
  // Source: anthropics/claude-code#66314.
  'billing-01': {
    status: 400,
    headers: {
      'content-type': 'application/json',
      'request-id': 'req_011CTESTaaaabbbbccccdddd',
      server: 'cloudflare',
      'cf-ray': '9e0000000000abcd-IAD',
      'x-should-retry': 'false',
    },
    body: {
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message:
          'Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.',
      },
      request_id: 'req_011CTESTaaaabbbbccccdddd',
    },
  },
  // Source: anthropics/anthropic-sdk-typescript#357.
  'rate_limit-01': {
    status: 429,
    headers: {
      'content-type': 'application/json',
      'request-id': 'req_011CTESTaaaabbbbccccdddd',
      server: 'cloudflare',
      'cf-ray': '9e0000000000abcd-IAD',
      'x-should-retry': 'true',
      date: 'Tue, 26 Mar 2024 19:59:59 GMT',
      'anthropic-ratelimit-requests-limit': '5',
      'anthropic-ratelimit-requests-remaining': '0',
      'anthropic-ratelimit-requests-reset': '2024-03-26T20:00:00Z',
      'anthropic-ratelimit-tokens-limit': '25000',
      'anthropic-ratelimit-tokens-remaining': '16000',
      'anthropic-ratelimit-tokens-reset': '2024-03-26T20:00:30Z',
    },
    body: {
      type: 'error',
      error: {
        type: 'rate_limit_error',
        message: "This request would exceed your account's rate limit. Please try again later.",
      },
      request_id: 'req_011CTESTaaaabbbbccccdddd',
    },
  },
  // Source: docker/docker-agent#569.
  'context_overflow-01': {
    status: 400,
    headers: {
      'content-type': 'application/json',
      'request-id': 'req_011CTESTaaaabbbbccccdddd',
      server: 'cloudflare',
      'cf-ray': '9e0000000000abcd-IAD',
      'x-should-retry': 'false',
    },
    body: {
      type: 'error',
      error: {
        type: 'invalid_request_error',
        message:
          'input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` and try again',
      },
      request_id: 'req_011CTESTaaaabbbbccccdddd',
    },
  },
  // Source: continuedev/continue#9634.
  'auth_model-01': {
    status: 401,
    headers: {
      'content-type': 'application/json; charset=utf-8',
      'x-request-id': 'req_00000000000000000000000000000abc',
      server: 'cloudflare',
      'cf-ray': '9e0000000000abcd-IAD',
    },
    body: {
      error: {
        message:
          'Incorrect API key provided: sk-proj-****************************************************************Zt9Q. You can find your API key at https://platform.openai.com/account/api-keys.',
        type: 'invalid_request_error',
        param: null,
        code: 'invalid_api_key',
      },
    },
  },
} as const satisfies Record<string, RawHttpInput>;

/** Answers that begin as a stream. */
export const publicStreams = {
  // Source: anthropics/anthropic-sdk-python#1258.
  'overloaded-01': {
    headers: {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-cache',
      'anthropic-ratelimit-unified-status': 'allowed',
      'request-id': 'req_011CTESTaaaabbbbccccdddd',
    },
    events: [
      'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_01TESTaaaaaaaaaaaaaaaaaa","type":"message","role":"assistant","model":"claude-sonnet-4-5-20250929","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":812,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1,"service_tier":"standard"}}}',
      'event: ping\ndata: {"type": "ping"}',
      'event: error\ndata: {"type":"error","error":{"details":null,"type":"overloaded_error","message":"Overloaded"},"request_id":"req_011CTESTaaaabbbbccccdddd"}',
    ],
    end: 'eof',
  },
  // Source: vercel/ai#9775.
  'transport-01': {
    headers: { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' },
    events: [
      'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_01TESTaaaaaaaaaaaaaaaaaa","type":"message","role":"assistant","model":"claude-sonnet-4-5-20250929","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":812,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1,"service_tier":"standard"}}}',
      'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_01TESTaaaaaaaaaaaaaaaaaa","name":"write_file","input":{}}}',
      'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\\"path\\":\\"src/big.ts\\",\\"content\\":\\"export const a"}}',
    ],
    end: 'error',
    error: {
      name: 'TypeError',
      message: 'terminated',
      cause: { name: 'SocketError', message: 'other side closed', code: 'UND_ERR_SOCKET' },
    },
  },
  // Source: anthropics/anthropic-sdk-typescript#893 (PR #920).
  'stream_end-01': {
    headers: { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' },
    events: [
      'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_01TESTaaaaaaaaaaaaaaaaaa","type":"message","role":"assistant","model":"claude-sonnet-4-5-20250929","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":812,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1,"service_tier":"standard"}}}',
      'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}',
      'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"The migration has three steps. First, "}}',
      'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"back up the "}}',
    ],
    end: 'eof',
  },
  // Source: pydantic/pydantic-ai#3118.
  'tool_call-01': {
    headers: { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' },
    events: [
      'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_01TESTaaaaaaaaaaaaaaaaaa","type":"message","role":"assistant","model":"claude-sonnet-4-5-20250929","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":812,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1,"service_tier":"standard"}}}',
      'event: content_block_start\ndata: {"type":"content_block_start","index":0,"content_block":{"type":"tool_use","id":"toolu_01TESTaaaaaaaaaaaaaaaaaa","name":"write_long_text","input":{}}}',
      'event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"input_json_delta","partial_json":"{\\"title\\": \\"example with retry\\""}}',
      'event: content_block_stop\ndata: {"type":"content_block_stop","index":0}',
      'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"max_tokens","stop_sequence":null},"usage":{"output_tokens":1024}}',
      'event: message_stop\ndata: {"type":"message_stop"}',
    ],
    end: 'eof',
  },
  // Source: tailcallhq/forgecode#3640.
  'stop_reason-01': {
    headers: { 'content-type': 'text/event-stream; charset=utf-8', 'cache-control': 'no-cache' },
    events: [
      'event: message_start\ndata: {"type":"message_start","message":{"id":"msg_01TESTaaaaaaaaaaaaaaaaaa","type":"message","role":"assistant","model":"claude-fable-5","content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":812,"cache_creation_input_tokens":0,"cache_read_input_tokens":0,"output_tokens":1,"service_tier":"standard"}}}',
      'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":"refusal","stop_sequence":null,"stop_details":{"type":"refusal","category":"cyber"}},"usage":{"output_tokens":0}}',
      'event: message_stop\ndata: {"type":"message_stop"}',
    ],
    end: 'eof',
  },
} as const satisfies Record<string, RawSseInput>;
