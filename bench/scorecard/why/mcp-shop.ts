/** A real MCP server over HTTP with one tool, which can be ended. */
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';

/** A server that listens. */
export interface McpShop {
  readonly url: string;
  /** Safe to repeat. */
  stop(): Promise<void>;
}

/** Answers one request: the server keeps no sessions. */
async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const server = new McpServer({ name: 'shop', version: '1' });
  server.registerTool('orders', { description: 'Lists the orders.' }, () => ({
    content: [{ type: 'text', text: 'order 17' }],
  }));
  const transport = new StreamableHTTPServerTransport({});
  await server.connect(transport);
  await transport.handleRequest(request, response);
}

/** Starts the server on any free port of loopback. */
export async function startMcpShop(): Promise<McpShop> {
  const http = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  const { port } = http.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    stop: async () => {
      if (!http.listening) return;
      const closed = once(http, 'close');
      http.close();
      http.closeAllConnections();
      await closed;
    },
  };
}
