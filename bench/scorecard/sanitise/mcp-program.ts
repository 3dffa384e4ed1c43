/** A real MCP server over stdio whose tools give the section's inputs, as output and as errors. */
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';
import { sanitizeInputs } from './sanitise-inputs';

async function main(): Promise<void> {
  const server = new McpServer({ name: 'inputs', version: '1' });
  for (const name of ['give', 'fail']) {
    const config = {
      description: 'Gives an input.',
      inputSchema: { place: z.number() },
      annotations: { readOnlyHint: true },
    };
    server.registerTool(name, config, ({ place }) => ({
      content: [{ type: 'text', text: sanitizeInputs[place]?.text ?? '' }],
      isError: name === 'fail',
    }));
  }
  await server.connect(new StdioServerTransport());
}

main().catch((thrown: unknown) => {
  process.stderr.write(`${String(thrown)}\n`);
  process.exitCode = 1;
});
