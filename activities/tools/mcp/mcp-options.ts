/** Options of an MCP server, and its tools. */
import type { ToolEffect } from '../../../workflows/core/tools/ports';
import type { Tool, ToolSource } from '../tool';

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
  /**
   * Sent with every request. A function is asked with each new session, and again once the server refuses what it gave (401):
   * the way for tokens that expire. It has 30 s.
   */
  readonly headers?:
    | Readonly<Record<string, string>>
    | (() => Readonly<Record<string, string>> | Promise<Readonly<Record<string, string>>>);
}

/** Effects that a tool of a server can have: a probe is code, which a server cannot give. */
type McpEffect = Exclude<ToolEffect, 'reconcilable'>;

/** Which server, and how its tools are used. */
export interface McpOptions {
  /** Prefix of the tools' names. */
  readonly name: string;
  readonly transport: StdioServer | HttpServer;
  /**
   * Whether the server's own word counts for what its tools do (`readOnlyHint`, `idempotentHint`). Default false: a call of any
   * tool that `effects` does not name has effects and never runs twice.
   */
  readonly trustHints?: boolean;
  /** Effects by the server's own name of a tool. They win over its hints. */
  readonly effects?: Readonly<Record<string, McpEffect>>;
  /** Milliseconds that a call may take. Default 60,000. */
  readonly callTimeoutMs?: number;
  /** Milliseconds that `connectMcp` waits for the server. Default 10,000. Its tools come later if it is later. */
  readonly startTimeoutMs?: number;
  /** Whether `connectMcp` rejects if the server is not there in that time. Default false. */
  readonly required?: boolean;
  /** Approval of all its tools. Default `never`. */
  readonly approval?: 'never' | 'always';
  /** Its tools start programs that the model chooses, as a shell does; as in `defineTool`. Default false. */
  readonly runsPrograms?: boolean;
  /** Who decides when it is unknown whether a call took effect. Default `tell-model`. */
  readonly onUnknown?: Tool['onUnknown'];
}

/** A server's tools, as it listed them last. Give the agent this object, not its `tools`: then it gets those that come later, too. */
export interface McpTools extends ToolSource {
  /** Which tools were left out, and why: each is also a warning of the process. */
  readonly dropped: readonly string[];
  /** Closes the connection, and ends the server if it was started here. */
  close(): Promise<void>;
}
