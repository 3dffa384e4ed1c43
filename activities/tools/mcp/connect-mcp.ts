/** Tools of MCP servers. The SDK is loaded with the first server, because most workers have none. */
import type { McpOptions, McpTools } from './mcp-options';

/**
 * Connects to an MCP server and makes tools of its current tools; later changes of its list are ignored.
 *
 * Contract: definitions are sanitized and bounded; a tool that cannot be used is left out. The next call starts or reconnects a server that crashed. The caller closes.
 * Errors: `UserError` for a server name or URL that cannot be used; `InfraException` `tool_infrastructure` if the server cannot
 * be reached or does not list its tools.
 */
export async function connectMcp(options: McpOptions): Promise<McpTools> {
  const { mcpServerTools } = await import('./mcp-server-tools.ts');
  return mcpServerTools(options);
}

export type { McpOptions, McpTools } from './mcp-options';
