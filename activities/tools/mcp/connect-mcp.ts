/** Tools of MCP servers. The SDK is loaded with the first server, because most workers have none. */
import type { McpOptions, McpTools } from './mcp-options';
import type * as Tools from './mcp-server-tools';

/**
 * Connects to an MCP server and makes tools of its tools.
 *
 * Contract: definitions are sanitized and bounded; a tool that cannot be used is left out. A server that is not there, hangs or
 * fails stops nothing: `problem` and a warning of the process say why it has no tools, and they come when it answers, for runs that
 * start then. A call starts or reconnects a server that is gone. The caller closes.
 * Errors: `UserError` for options that cannot be used; `InfraException` `tool_infrastructure` if a `required` server is not there.
 */
export async function connectMcp(options: McpOptions): Promise<McpTools> {
  // eslint-disable-next-line @typescript-eslint/no-require-imports -- jest has no import() in CommonJS (ADR 0029).
  const { mcpServerTools } = require('./mcp-server-tools') as typeof Tools;
  return mcpServerTools(options);
}

export type { McpOptions, McpTools } from './mcp-options';
