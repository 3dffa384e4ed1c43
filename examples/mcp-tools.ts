/** Example: an agent with tools and documents of an MCP server. Its author says which tools, with what effect, and when to ask. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';
import type { McpTools } from '../activities/index';
import { connectMcp, createActivities, defineAgent } from '../activities/index';
import type { RunResult } from '../client/index';
import { reply } from '../testing/index';
import { createWorker } from '../workers/index';
import { approveAll } from './custom-tool';
import type { OfflineWorld } from './offline-world';
import { inOfflineWorld, runAsProgram } from './offline-world';

/** What the shop's server did. */
const refunds: string[] = [];

/** The server of a shop, made with MCP's own SDK: it knows nothing of Holdfast. */
function shopServer(): McpServer {
  const server = new McpServer({ name: 'shop', version: '1.0.0' });
  const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] });
  const order = z.string();
  server.registerTool('get_order', { inputSchema: { order } }, (input) =>
    text(`${input.order}: 80 euros, paid. See policy://refunds.`),
  );
  server.registerTool(
    'refund_order',
    { inputSchema: { order, euros: z.number() } },
    ({ order: id, euros }) => {
      refunds.push(`${id}: ${euros} euros`);
      return text('refunded');
    },
  );
  server.registerTool('delete_customer', { inputSchema: { order } }, () => text('deleted'));
  server.registerResource('refunds', 'policy://refunds', {}, ({ href }) => ({
    contents: [{ uri: href, text: 'Refunds are possible for 30 days.' }],
  }));
  return server;
}

/** Serves it over streamable HTTP on loopback. */
async function serveShop(): Promise<{ readonly url: string; readonly close: () => void }> {
  const http = createServer((request, response) => {
    const transport = new StreamableHTTPServerTransport();
    void shopServer()
      .connect(transport)
      .then(() => transport.handleRequest(request, response));
  });
  await new Promise<void>((resolve) => {
    http.listen(0, '127.0.0.1', resolve);
  });
  const { port } = http.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    close: () => {
      http.closeAllConnections();
      http.close();
    },
  };
}

function connectShop(url: string): Promise<McpTools> {
  return connectMcp({
    name: 'shop',
    transport: { type: 'http', url },
    allow: ['get_*', 'refund_order'],
    tools: {
      'get_*': { effect: 'read' },
      refund_order: { rename: 'refund', approval: ({ euros }) => Number(euros) > 50 },
    },
    resources: true,
  });
}

/** Refunds an order after a look at the shop's policy; code plays the person who approves. */
export async function refundByMcp(
  world: OfflineWorld,
): Promise<{ readonly result: RunResult; readonly refunds: readonly string[] }> {
  const { connection, client, taskQueue, store, provider, emulator } = world;
  emulator.script([
    reply.toolCalls([{ name: 'shop_get_order', input: { order: 'A-17' } }]),
    reply.toolCalls([{ name: 'shop_read_resource', input: { uri: 'policy://refunds' } }]),
    reply.toolCalls([{ name: 'shop_refund', input: { order: 'A-17', euros: 80 } }]),
    reply.text('A-17 is refunded.'),
  ]);
  const server = await serveShop();
  const shop = await connectShop(server.url);
  const agent = defineAgent({
    name: 'refunder',
    instructions: 'You refund orders as asked.',
    chain: [{ provider: 'anthropic', model: 'claude-sonnet-4-5' }],
    tools: [shop],
  });
  const worker = await createWorker({
    connection,
    taskQueue,
    activities: createActivities({ store, providers: [provider], agents: [agent] }),
  });
  try {
    return await worker.runUntil(async () => {
      const run = await client.start({ agent: 'refunder', goal: 'Refund A-17.' });
      await approveAll(run);
      return { result: await run.result(), refunds };
    });
  } finally {
    await shop.close();
    server.close();
  }
}

async function main(): Promise<void> {
  const { result } = await inOfflineWorld('mcp-tools', refundByMcp);
  console.log(`${result.status}: ${refunds.join(', ')}`);
}

if (require.main === module) runAsProgram(main);
