/** A real MCP server over HTTP with one tool, which can be ended. */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import type { LoopbackServer } from '../../loopback';
import { listenOnLoopback } from '../../loopback';

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
export async function startMcpShop(): Promise<LoopbackServer> {
  const http = createServer((request, response) => {
    answer(request, response).catch(() => response.destroy());
  });
  const { url, stop } = await listenOnLoopback(http);
  return { url: `${url}/mcp`, stop };
}
