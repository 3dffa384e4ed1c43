/** Options of an MCP server, and its tools. */
import type { Tool } from '../tool';

/** A server that runs as a program on this machine, over standard input and output. */
export interface StdioServer {
  readonly type: 'stdio';
  readonly command: string;
  readonly args?: readonly string[];
  /** Added to the SDK's short list of harmless variables; the worker's environment is not passed. */
  readonly env?: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

/** A server that is reached over streamable HTTP. */
export interface HttpServer {
  readonly type: 'http';
  readonly url: string;
  readonly headers?: Readonly<Record<string, string>>;
}

/** Which server, and how its tools are used. */
export interface McpOptions {
  /** Prefix of the tools' names. */
  readonly name: string;
  readonly transport: StdioServer | HttpServer;
  /** Milliseconds that a call may take. Default 60,000. */
  readonly callTimeoutMs?: number;
  /** Approval of all its tools. Default `never`. */
  readonly approval?: 'never' | 'always';
  /** Its tools start programs that the model chooses, as a shell does; as in `defineTool`. Default false. */
  readonly runsPrograms?: boolean;
  /** Who decides when the server is lost during a call that must not be repeated. Default `tell-model`. */
  readonly onUnknown?: Tool['onUnknown'];
}

/** The tools that a server had when it was connected. */
export interface McpTools {
  readonly tools: readonly Tool[];
  /** Which tools were left out, and why: each is also a warning of the process. */
  readonly dropped: readonly string[];
  /** Closes the connection, and ends the server if it was started here. */
  close(): Promise<void>;
}
