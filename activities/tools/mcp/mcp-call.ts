/** One call of an MCP tool: when it may be made again, and what is known about it where it brought no result (ADR 0043). */
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { StreamableHTTPError } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { ErrorCode, McpError } from '@modelcontextprotocol/sdk/types.js';
import type { Client } from '@modelcontextprotocol/sdk/client/index.js';
import type { RequestOptions } from '@modelcontextprotocol/sdk/shared/protocol.js';
import type { ToolContext } from '../tool';
import type { ToolErrorCode } from '../tool-error';
import { ToolError } from '../tool-error';
import { streamEnded } from './bounded-fetch';
import { HeadersProblem } from './credential-headers';
import type { McpConnection, McpSession } from './mcp-connection';
import { NotReached, wordsOf } from './mcp-connection';
import { UnreadableAnswer } from './mcp-frame';

/** What a call is made with. */
export interface McpCall {
  readonly connection: McpConnection;
  readonly server: string;
  /** What is called, in errors: the server's own name of the tool. */
  readonly tool: string;
  readonly isRead: boolean;
  /** It may run again with the same idempotency key. */
  readonly isRepeatable: boolean;
  readonly timeoutMs: number;
}

/**
 * What a failed call says about itself. `never-ran`: nobody looked at it, or the session is gone. `refused`: the server looked at
 * the request and did nothing. `failed`: the server says that the tool failed. `unreadable`: it answered, in no form that can be
 * read. `lost` and `timeout`: nobody knows.
 */
type CallEnd =
  | 'never-ran'
  | 'refused'
  | 'throttled'
  | 'unauthorized'
  | 'failed'
  | 'unreadable'
  | 'lost'
  | 'timeout';

/**
 * Sentences of a server that does not know the session any more: nobody looked at the call. Those of the SDKs for TypeScript and
 * Python, FastMCP, mcp-go, Spring AI, and gateways before them; under a status of 400, 404, 410, 500 or 503, and as JSON-RPC error.
 */
const lostSession =
  /\b(?:no(?: valid| such)?|invalid|missing|unknown|unrecognized|expired|stale|terminated|could not find) (?:or \w{1,20} )?(?:mcp[- ])?session|\bsession(?:[- _]?id)?(?: [\w-]{1,64})? (?:header )?(?:is |was |has been |has )?(?:not found|required|missing|invalid|unknown|expired|terminated|closed|does not exist)\b|\bno transport found for session|\b(?:server|session) (?:is )?not initialized\b/i;

/** Codes under which servers say so in a JSON-RPC error; a tool's own "session not found" has another one. */
const sessionCodes: ReadonlySet<unknown> = new Set([-32_000, -32_001, ErrorCode.InvalidRequest]);

/**
 * Sentences of a server that ran the tool, and then could not write its result down: its own check of the output, or JSON.
 * Those of the SDKs for TypeScript and Python, FastMCP, and pydantic.
 */
const resultNotWritten =
  /\boutput validation error\b|\binvalid structured content\b|\bhas an output schema but\b|\boutputSchema defined but\b|\bdoes not match (?:the tool's |its )?output schema\b|\bnot JSON serializable\b|\bunable to serialize\b|\berror serializing\b|\bInvalid tools\/call result\b|\bcircular structure to JSON\b/i;

/** Codes of JSON-RPC by which a server refuses a request before it runs anything. */
const refusals: ReadonlySet<unknown> = new Set([
  ErrorCode.ParseError,
  ErrorCode.InvalidRequest,
  ErrorCode.MethodNotFound,
  ErrorCode.InvalidParams,
]);

/** Codes of a connection that was never made. */
const unconnectedCodes: ReadonlySet<unknown> = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
]);

/** Whether a text says that the tool ran and its result was lost on the way. */
export function saysResultNotWritten(text: string): boolean {
  return resultNotWritten.test(text.slice(0, 2_000));
}

const fieldOf = (thrown: unknown, key: string): unknown =>
  typeof thrown === 'object' && thrown !== null ? Reflect.get(thrown, key) : undefined;

/** What the SDK says for an answer without content. */
const withoutContent = -1;

function endByStatus(status: unknown, message: string): CallEnd {
  if (status === withoutContent) return 'unreadable';
  if (status === 401 || status === 403) return 'unauthorized';
  if (status === 404 || status === 410 || lostSession.test(message)) return 'never-ran';
  if (status === 429) return 'throttled';
  const isRefusal = typeof status === 'number' && status >= 300 && status < 500 && status !== 408;
  return isRefusal ? 'refused' : 'lost';
}

function endByError({ code, message, data }: McpError, isClosed: boolean): CallEnd {
  if (isClosed || data === streamEnded) return 'lost';
  // The SDK's own code for a time limit; a server's answer with it may be about something else.
  const isTimeout = code === (ErrorCode.RequestTimeout as number);
  if (isTimeout && /\btim(?:ed|e)[ -]?out\b|timeout exceeded/i.test(message)) return 'timeout';
  if (sessionCodes.has(code) && lostSession.test(message)) return 'never-ran';
  if (saysResultNotWritten(message)) return 'unreadable';
  return refusals.has(code) ? 'refused' : 'failed';
}

function endOf(thrown: unknown, session: McpSession): CallEnd {
  if (thrown instanceof UnauthorizedError || thrown instanceof HeadersProblem)
    return 'unauthorized';
  const isClosed = session.ending() !== undefined;
  if (thrown instanceof McpError) return endByError(thrown, isClosed);
  const isUnreadable = thrown instanceof UnreadableAnswer || thrown instanceof SyntaxError;
  if (isUnreadable || fieldOf(thrown, 'name') === 'ZodError') return 'unreadable';
  if (thrown instanceof StreamableHTTPError) return endByStatus(thrown.code, thrown.message);
  const isUnconnected = unconnectedCodes.has(fieldOf(fieldOf(thrown, 'cause'), 'code'));
  return isUnconnected || fieldOf(thrown, 'message') === 'Not connected' ? 'never-ran' : 'lost';
}

const codes: { readonly [End in CallEnd]: ToolErrorCode } = {
  'never-ran': 'tool_execution_failed',
  refused: 'tool_execution_failed',
  throttled: 'rate_limit',
  unauthorized: 'auth_failed',
  failed: 'tool_execution_failed',
  unreadable: 'tool_execution_failed',
  lost: 'tool_execution_failed',
  timeout: 'tool_timeout',
};

/** Where a call that changes something may have taken effect. */
const unknownWhy: { readonly [End in CallEnd]?: string } = {
  unreadable: 'the server answered in a form that cannot be read, and ',
  lost: 'the server was lost during the call, and ',
  timeout: '',
};

/** The error of a call that ended without a result that can be read. */
export function callError(
  call: Pick<McpCall, 'server' | 'tool' | 'isRead'>,
  end: CallEnd,
  reason: string,
  cause?: unknown,
): ToolError {
  const message = `${call.tool} of MCP server "${call.server}": ${reason}`;
  const why = unknownWhy[end];
  if (call.isRead || why === undefined)
    return new ToolError(message, {
      code: codes[end],
      recoverable: end !== 'unauthorized',
      cause,
    });
  return new ToolError(`${message}; ${why}whether it took effect is unknown`, {
    code: 'outcome_unknown',
    cause,
  });
}

/** The session of a call. Errors: `ToolError`: the service behind the tool is down, which the model may work around. */
async function sessionFor({ connection, tool }: McpCall): Promise<McpSession> {
  try {
    return await connection.session();
  } catch (thrown) {
    if (!(thrown instanceof NotReached)) throw thrown;
    throw new ToolError(`${tool} was not called: ${thrown.message}`, {
      hint: 'Its server cannot be reached at the moment; your parameters are not the cause. Go on without this tool, or try it again later.',
      cause: thrown,
    });
  }
}

/** Characters of a server's progress that are cleaned. */
const progressChars = 1_000;

/** What a call asks the server, with requests under its signal and its time limit. */
export type Ask<Result> = (client: Client, options: RequestOptions) => Promise<Result>;

function requestOptions(
  { timeoutMs }: McpCall,
  { signal, progress }: Pick<ToolContext, 'signal' | 'progress'>,
): RequestOptions {
  return {
    signal,
    timeout: timeoutMs,
    maxTotalTimeout: timeoutMs,
    onprogress: ({ message }) => {
      progress((message ?? '').slice(0, progressChars));
    },
  };
}

/**
 * Makes a call; once more on a new session if nobody looked at the first one, or if the connection was lost and the call may
 * be repeated.
 *
 * Contract: a result came: the call is done, whatever it looks like.
 * Errors: `ToolError`; the reason of the signal.
 */
export async function callMcp<Result>(
  call: McpCall,
  context: Pick<ToolContext, 'signal' | 'progress'>,
  ask: Ask<Result>,
): Promise<Result> {
  const options = requestOptions(call, context);
  for (let isSecond = false; ; isSecond = true) {
    const session = await sessionFor(call);
    try {
      return await session.use(() => ask(session.client, options));
    } catch (thrown) {
      context.signal.throwIfAborted();
      const end = endOf(thrown, session);
      if (end === 'lost' || end === 'never-ran') session.leave();
      const mayRepeat =
        end === 'never-ran' || (end === 'lost' && call.isRepeatable && !session.isCutOff());
      const why = end === 'lost' ? (session.ending() ?? wordsOf(thrown)) : wordsOf(thrown);
      if (isSecond || !mayRepeat) throw callError(call, end, why, thrown);
    }
  }
}
