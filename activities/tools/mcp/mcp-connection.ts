/** The connection to an MCP server: connects when needed, and again after the server is gone. */
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import {
  StreamableHTTPClientTransport,
  StreamableHTTPError,
} from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { ErrorCode, ToolListChangedNotificationSchema } from '@modelcontextprotocol/sdk/types.js';
import { packageVersion } from '../../lifecycle/package-version';
import { rememberSecretsOf } from '../../untrusted/known-secrets';
import { sanitizeText } from '../../untrusted/sanitizer';
import { boundedFetch } from './bounded-fetch';
import type { RememberedHeaders } from './credential-headers';
import { credentialHeaders, HeadersProblem } from './credential-headers';
import type { HttpServer, McpOptions, StdioServer } from './mcp-options';
import { StdioTransport } from './stdio-transport';

/** Milliseconds to connect. */
const connectTimeoutMs = 30_000;
/** How a stream that broke is asked for again: 1 s, 1.5 s … 5 s, then the call is left to its time limit. */
const reconnectionOptions = {
  initialReconnectionDelay: 1_000,
  reconnectionDelayGrowFactor: 1.5,
  maxReconnectionDelay: 5_000,
  maxRetries: 5,
};
/** Characters of a server's words that are cleaned, from their end. */
const seenChars = 8_192;
/** Characters of them that an error says. */
const saidChars = 600;

function messageIn(thrown: unknown): string {
  // The SDK names no status where a refusal has no body.
  if (thrown instanceof StreamableHTTPError && (thrown.code ?? 0) > 0)
    return `HTTP ${thrown.code ?? ''}: ${thrown.message}`;
  return typeof thrown === 'object' && thrown !== null && 'message' in thrown
    ? String(thrown.message)
    : String(thrown);
}

/** A server's words, or an error's, for an error: with the cause, which alone says why a `fetch failed`. */
export function wordsOf(thrown: unknown): string {
  const cause: unknown =
    typeof thrown === 'object' && thrown !== null && 'cause' in thrown ? thrown.cause : undefined;
  const [said, why] = [messageIn(thrown), cause === undefined ? '' : messageIn(cause)];
  const text = said.includes(why.trim()) ? said : `${said}: ${why}`;
  return sanitizeText(text.slice(-seenChars), { maxChars: saidChars });
}

/** What a person checks after a failed connection: what it was refused for, else the place of the server. */
function remedyFor(thrown: unknown): string {
  if (thrown instanceof HeadersProblem) return 'Check this function.';
  const isRefused = thrown instanceof StreamableHTTPError && [401, 403].includes(thrown.code ?? 0);
  if (isRefused || thrown instanceof UnauthorizedError)
    return 'Check the headers that it is given.';
  return "Check its command or URL on the worker's machine.";
}

/** The server cannot be reached, so no call was made. */
export class NotReached extends Error {
  override readonly name = 'NotReached';
}

/** One connection, from `initialize` to its end. */
export interface McpSession {
  readonly client: Client;
  /** Why it ended, in words and sanitized; undefined while it lasts. */
  ending(): string | undefined;
  /** The server sent what none may send, and was cut off. */
  isCutOff(): boolean;
  /** Runs a call. A session that is left is closed after the last of them. */
  use<Result>(call: () => Promise<Result>): Promise<Result>;
  /** Takes no further call: the next one gets a new session. */
  leave(): void;
}

/** Provides sessions. */
export interface McpConnection {
  /** The session that lasts, or a new one. Errors: `NotReached`. */
  session(): Promise<McpSession>;
  close(): Promise<void>;
}

/** What happens in a session. */
export interface SessionEvents {
  /** Called with each new session, before any call; it fails if this fails. */
  readonly onSession: (client: Client) => Promise<void>;
  /** The server says that its list of tools has changed. */
  readonly onListChanged: (client: Client) => void;
}

interface Line {
  readonly transport: Transport;
  /** What it sent that none may send. */
  readonly problem: () => string | undefined;
  /** How it ended, with its own words. */
  readonly ending: () => string | undefined;
}

function stdioLine(server: StdioServer): Line {
  rememberSecretsOf(server.env);
  const transport = new StdioTransport(server);
  return { transport, problem: () => transport.problem, ending: () => transport.ending };
}

function httpLine(server: HttpServer, remembered: RememberedHeaders): Line {
  let problem: string | undefined;
  const headers = credentialHeaders(server.headers, remembered);
  const abort = (why: string): void => {
    problem ??= why;
    void transport.close();
  };
  const transport = new StreamableHTTPClientTransport(new URL(server.url), {
    fetch: boundedFetch({ headers, abort }),
    reconnectionOptions,
  });
  return { transport, problem: () => problem, ending: () => problem };
}

function sessionOf(client: Client, line: Line, forget: () => void): McpSession {
  let [calls, isLeft, isClosed] = [0, false, false];
  const closeIfUnused = (): void => {
    if (isLeft && calls === 0) void client.close().catch(() => undefined);
  };
  client.onclose = () => {
    isClosed = true;
    forget();
  };
  return {
    client,
    ending: () => {
      const why = line.ending();
      if (why !== undefined) return wordsOf(why);
      return isClosed ? 'the connection was closed' : undefined;
    },
    isCutOff: () => line.problem() !== undefined,
    use: async (call) => {
      calls += 1;
      try {
        return await call();
      } finally {
        calls -= 1;
        closeIfUnused();
      }
    },
    leave: () => {
      isLeft = true;
      forget();
      closeIfUnused();
    },
  };
}

/**
 * Answers what a server asks of its client: sampling, elicitation, roots, tasks. None of them is declared, so only a server that
 * is wrong asks.
 */
function refuse({ method }: { readonly method: string }): never {
  const message = `${method} is not supported: this client runs without a person and lends no model; finish the call without it, or let it fail`;
  throw Object.assign(new Error(message), { code: ErrorCode.MethodNotFound });
}

/** Whether a connection was there and broke. */
function isBroken(thrown: unknown): boolean {
  return /ECONNRESET|EPIPE|UND_ERR_SOCKET|other side closed/.test(wordsOf(thrown));
}

/**
 * Makes a connection that connects at the first call of `session`.
 *
 * Errors: `session` rejects with `NotReached` if the server cannot be started or reached, or `onSession` fails.
 */
export function mcpConnection(
  { name, transport: server }: Pick<McpOptions, 'name' | 'transport'>,
  { onSession, onListChanged }: SessionEvents,
): McpConnection {
  const remembered: RememberedHeaders = [];
  const open = new Set<Client>();
  let current: Promise<McpSession> | undefined;
  const startSession = async (forget: () => void): Promise<McpSession> => {
    const line = server.type === 'stdio' ? stdioLine(server) : httpLine(server, remembered);
    const client = new Client({ name: 'holdfast', version: packageVersion() });
    client.fallbackRequestHandler = refuse;
    open.add(client);
    const session = sessionOf(client, line, forget);
    try {
      await client.connect(line.transport, { timeout: connectTimeoutMs });
      client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
        onListChanged(client);
      });
      await onSession(client);
      return session;
    } catch (thrown) {
      const why = line.ending() ?? thrown;
      open.delete(client);
      delete client.onclose;
      await client.close().catch(() => undefined);
      throw new NotReached(
        `MCP server "${name}" cannot be reached: ${wordsOf(why)}. ${remedyFor(thrown)}`,
        { cause: thrown },
      );
    }
  };
  const connect = (): Promise<McpSession> => {
    const forget = (): void => {
      if (current === connecting) current = undefined;
    };
    // A kept connection may have been closed while nobody used it: a new one is tried once.
    const connecting = startSession(forget)
      .catch((thrown: unknown) => {
        if (server.type === 'stdio' || !isBroken(thrown)) throw thrown;
        return startSession(forget);
      })
      .catch((thrown: unknown) => {
        forget();
        throw thrown;
      });
    return connecting;
  };
  return {
    session: () => (current ??= connect()),
    close: async () => {
      const closing = [...open].map((client) => client.close().catch(() => undefined));
      open.clear();
      await Promise.all(closing);
    },
  };
}
