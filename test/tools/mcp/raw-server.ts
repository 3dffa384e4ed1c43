/** MCP servers that answer exactly what a test says, over a real HTTP server on loopback: no SDK puts their answers in order. */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { connectMcp } from '../../../activities/tools/mcp/connect-mcp';
import type { McpOptions, McpTools } from '../../../activities/tools/mcp/connect-mcp';
import type { Tool } from '../../../activities/tools/tool';

/** A JSON-RPC request. */
export interface RpcRequest {
  readonly id?: number;
  readonly method: string;
  readonly params?: {
    readonly name?: string;
    readonly arguments?: unknown;
    readonly cursor?: string;
  };
}

/** What a server does with a request: true if it has answered by itself. */
export type Answer = (
  request: RpcRequest,
  response: ServerResponse,
  incoming: IncomingMessage,
) => boolean | Promise<boolean>;

/** A server that listens. */
export interface RawServer {
  readonly url: string;
  /** Calls of tools that reached it. */
  readonly calls: string[];
  /** All requests' methods, in order. */
  readonly methods: string[];
  /** Answers from now on. */
  answer: Answer;
  /** Answers GET, by which clients ask for a stream; absent: there is none. */
  stream?: (response: ServerResponse, incoming: IncomingMessage) => void;
  /** What `initialize` says. */
  initialized: object;
  /** What `tools/list` says. */
  tools: readonly unknown[];
  close(): Promise<void>;
}

export const anyTool = { name: 'charge', inputSchema: { type: 'object' } };

/** Answers with JSON. */
export function sendJson(response: ServerResponse, value: unknown, status = 200): true {
  response.writeHead(status, { 'content-type': 'application/json' });
  response.end(typeof value === 'string' ? value : JSON.stringify(value));
  return true;
}

/** Answers a request with a result. */
export function sendResult(response: ServerResponse, { id }: RpcRequest, result: unknown): true {
  return sendJson(response, { jsonrpc: '2.0', id, result });
}

async function bodyOf(incoming: IncomingMessage): Promise<string> {
  let text = '';
  for await (const chunk of incoming) text += String(chunk);
  return text;
}

/** Starts a server whose session id is one per `initialize`. */
export async function rawServer(answer: Answer, port = 0): Promise<RawServer> {
  let sessions = 0;
  const respond = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const body = await bodyOf(incoming);
    if (incoming.method !== 'POST') {
      if (incoming.method === 'GET' && server.stream) server.stream(response, incoming);
      else response.writeHead(405).end();
      return;
    }
    const request = JSON.parse(body) as RpcRequest;
    server.methods.push(request.method);
    if (request.method === 'tools/call') server.calls.push(request.params?.name ?? '');
    if (await server.answer(request, response, incoming)) return;
    if (request.method === 'initialize') {
      sessions += 1;
      response.setHeader('mcp-session-id', `session-${sessions}`);
      sendResult(response, request, server.initialized);
    } else if (request.method === 'tools/list') {
      sendResult(response, request, { tools: server.tools });
    } else {
      response.writeHead(202).end();
    }
  };
  const http = createServer((incoming, response) => {
    void respond(incoming, response);
  });
  await new Promise<void>((resolve) => {
    http.listen(port, '127.0.0.1', resolve);
  });
  const address = http.address() as AddressInfo;
  const server: RawServer = {
    url: `http://127.0.0.1:${address.port}/mcp`,
    calls: [],
    methods: [],
    answer,
    initialized: {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'raw', version: '1' },
    },
    tools: [anyTool],
    close: async () => {
      http.closeAllConnections();
      await new Promise((resolve) => {
        http.close(resolve);
      });
    },
  };
  return server;
}

/** Connects to a server as `pay`. */
export function connectTo(
  { url }: Pick<RawServer, 'url'>,
  options: Partial<McpOptions> = {},
): Promise<McpTools> {
  return connectMcp({ name: 'pay', transport: { type: 'http', url }, ...options });
}

/** A tool by its name. */
export function toolOf({ tools }: Pick<McpTools, 'tools'>, name: string): Tool {
  const tool = tools.find((each) => each.name === name);
  if (tool === undefined)
    throw new Error(`no tool ${name} among ${tools.map((each) => each.name).join() || 'none'}`);
  return tool;
}

/** The input of a public failure case. */
export function caseInput(id: string): Readonly<Record<string, unknown>> {
  const path = join(__dirname, '../../fixtures/cases/turn2-mcp.jsonl');
  const lines = readFileSync(path, 'utf8').trim().split('\n');
  const cases = lines.map((line) => JSON.parse(line) as { id: string; input: object });
  const found = cases.find((each) => each.id === id);
  if (found === undefined) throw new Error(`no case ${id}`);
  return { ...found.input };
}
