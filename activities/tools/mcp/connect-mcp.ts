/** Tools of MCP servers; their SDK is loaded by the first server that is connected, since most workers have none. */
import type { Tool } from '../tool';
import type { HttpServer, StdioServer } from './mcp-connection';

/** Which server, and how its tools are used. */
export interface McpOptions {
  /** Begins the names of the server's tools. */
  readonly name: string;
  readonly transport: StdioServer | HttpServer;
  /** Milliseconds that a call may take. Default 60,000. */
  readonly callTimeoutMs?: number;
  /** Approval of all its tools. Default `never`. */
  readonly approval?: 'never' | 'always';
  /** Who decides when the server is lost in the middle of a call that may not be repeated. Default `tell-model`. */
  readonly onUnknown?: Tool['onUnknown'];
}

/** The tools that a server had when it was connected. */
export interface McpTools {
  readonly tools: readonly Tool[];
  /** Ends the connection, and the server if it is a program that was started here. */
  close(): Promise<void>;
}

/**
 * Connects to an MCP server and makes tools of its tools, as they are now: later changes of the server's list change nothing.
 *
 * Contract: a server that crashed is started or reached anew by the next call. The caller closes.
 * Errors: `UserError` for a server name or URL that cannot be used; `InfraException` `tool_infrastructure` if the server cannot
 * be reached or does not list its tools.
 */
export async function connectMcp(options: McpOptions): Promise<McpTools> {
  const { mcpServerTools } = await import('./mcp-server-tools.ts');
  return mcpServerTools(options);
}
