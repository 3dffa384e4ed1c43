/** One connection to an MCP server: connects when needed, and reconnects after the server is gone. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { InfraException } from '../../lifecycle/infra-exception';
import { packageVersion } from '../../lifecycle/package-version';
import type { HttpServer, StdioServer } from './mcp-options';
import { rememberSecretsOf } from '../../untrusted/known-secrets';
import { sanitizeText } from '../../untrusted/sanitizer';

/** Milliseconds to connect and to list the tools. */
const connectTimeoutMs = 30_000;

/** Provides a connected client. */
export interface McpConnection {
  /** The client that is connected, or a new one. Once it is closed, the next call reconnects. */
  client(): Promise<Client>;
  close(): Promise<void>;
}

function transportTo(server: StdioServer | HttpServer): Transport {
  rememberSecretsOf(server.type === 'stdio' ? server.env : server.headers);
  if (server.type === 'stdio') {
    return new StdioClientTransport({
      command: server.command,
      args: [...(server.args ?? [])],
      stderr: 'ignore',
      ...(server.env && { env: { ...server.env } }),
      ...(server.cwd !== undefined && { cwd: server.cwd }),
    });
  }
  return new StreamableHTTPClientTransport(new URL(server.url), {
    requestInit: { headers: { ...server.headers } },
  });
}

function notReached(name: string, thrown: unknown): InfraException {
  const reason = thrown instanceof Error ? thrown.message : String(thrown);
  return new InfraException(
    {
      code: 'tool_infrastructure',
      message: `MCP server "${name}" cannot be reached: ${sanitizeText(reason, { maxChars: 300 })}. Check its command or URL on the worker's machine.`,
    },
    { cause: thrown },
  );
}

/**
 * Makes a connection that connects at the first call of `client`.
 *
 * Errors: `client` rejects with `InfraException` `tool_infrastructure` if the server cannot be started or reached.
 */
export function mcpConnection(name: string, server: StdioServer | HttpServer): McpConnection {
  let current: Promise<Client> | undefined;
  const connect = (): Promise<Client> => {
    const client = new Client({ name: 'holdfast', version: packageVersion() });
    const forget = (): void => {
      if (current === connecting) current = undefined;
    };
    client.onclose = forget;
    const connecting = client
      .connect(transportTo(server), { timeout: connectTimeoutMs })
      .then(() => client)
      .catch(async (thrown: unknown) => {
        forget();
        await client.close().catch(() => undefined);
        throw notReached(name, thrown);
      });
    return connecting;
  };
  return {
    client: () => (current ??= connect()),
    close: async () => {
      const client = await current?.catch(() => undefined);
      await client?.close();
    },
  };
}
