/** Options of an MCP server, and its tools. */
import type { JsonObject } from '../../../workflows/core/json';
import type { ToolEffect } from '../../../workflows/core/tools/ports';
import type { ApprovalContext, Tool, ToolSource } from '../tool';

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

/** How a tool of a server is used; a field that nobody gives has its default. */
export interface McpToolOptions {
  /**
   * What a repeat does. Default `irreversible`, unless `trustHints` takes the server's word. There is no `reconcilable`: a probe is
   * code, which a server cannot give.
   */
  readonly effect?: Exclude<ToolEffect, 'reconcilable'>;
  /** As in `defineTool`; a rule gets the input that fits the server's schema. Default `never`. */
  readonly approval?:
    'never' | 'always' | ((input: JsonObject, context: ApprovalContext<undefined>) => boolean);
  /** Name for agents, behind `<server>_`, instead of the server's own. Only for one tool, not for a pattern. */
  readonly rename?: string;
  /** Milliseconds that a call may take. Default 60,000. */
  readonly timeoutMs?: number;
  /** It starts programs that the model chooses, as a shell does; as in `defineTool`. Default false. */
  readonly runsPrograms?: boolean;
  /** Who decides when it is unknown whether a call took effect. Default `tell-model`. */
  readonly onUnknown?: Tool['onUnknown'];
}

/** Which server, and how its tools are used. Names of tools are the server's own; in patterns, `*` stands for any characters. */
export interface McpOptions {
  /** Prefix of the tools' names. */
  readonly name: string;
  readonly transport: StdioServer | HttpServer;
  /** Names and patterns of the tools that agents get. Default: all. */
  readonly allow?: readonly string[];
  /** Names and patterns of tools that agents do not get, even if `allow` names them. */
  readonly deny?: readonly string[];
  /**
   * How tools are used, by name or pattern; `*` is for all of them. Of several that match, each field is taken from the name, else
   * from the last pattern that gives it.
   */
  readonly tools?: Readonly<Record<string, McpToolOptions>>;
  /**
   * Whether the server's own word counts for what its tools do (`readOnlyHint`, `idempotentHint`). Default false: a call of any
   * tool without `effect` has effects and never runs twice.
   */
  readonly trustHints?: boolean;
  /** Whether agents get `list_resources` and `read_resource`, if the server offers resources. Default false. */
  readonly resources?: boolean;
  /** Whether agents get `list_prompts` and `get_prompt`, if the server offers prompts. Default false. */
  readonly prompts?: boolean;
  /** Milliseconds that `connectMcp` waits for the server. Default 10,000. Its tools come later if it is later. */
  readonly startTimeoutMs?: number;
  /** Whether `connectMcp` rejects if the server is not there in that time. Default false. */
  readonly required?: boolean;
}

/** A server's tools, as it listed them last. Give the agent this object, not its `tools`: then it gets those that come later, too. */
export interface McpTools extends ToolSource {
  /** Which tools were left out, and why: each is also a warning of the process. */
  readonly dropped: readonly string[];
  /** Closes the connection, and ends the server if it was started here. */
  close(): Promise<void>;
}
