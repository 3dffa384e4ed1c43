/** Answers of an MCP server, broken in their bytes: a call ends with a result that was sent, or with an error. */
import { createServer } from 'node:http';
import { InfraException } from '../../../activities/lifecycle/infra-exception';
import { UserError } from '../../../activities/lifecycle/user-error';
import type { McpTools } from '../../../activities/tools/mcp/connect-mcp';
import { connectMcp } from '../../../activities/tools/mcp/connect-mcp';
import type { ToolContext } from '../../../activities/tools/tool';
import { ToolError } from '../../../activities/tools/tool-error';
import { listenOnLoopback } from '../../loopback';
import type { Finding, FuzzArea, FuzzInput, OpenFuzzArea } from '../fuzz-area';
import { crashOf, hanging, settled } from '../fuzz-area';
import { byteMutations, changeJson, drawMutations, mutated } from '../mutations';

/** Which of the server's answers is broken. */
const answers = ['initialize', 'tools/list', 'tools/call', 'tools/call'] as const;

const results: Readonly<Record<string, object>> = {
  initialize: {
    protocolVersion: '2025-06-18',
    capabilities: { tools: {} },
    serverInfo: { name: 'fuzz', version: '1' },
  },
  'tools/list': {
    tools: [
      {
        name: 'charge',
        description: 'Charges an account.',
        inputSchema: { type: 'object', properties: { amount: { type: 'number' } } },
      },
    ],
  },
  'tools/call': {
    content: [{ type: 'text', text: 'charged 120 to account 7' }],
    structuredContent: { charged: 120 },
  },
};

const context: Omit<ToolContext, 'signal'> = {
  runId: 'fuzz',
  agent: 'fuzz',
  tenant: 'default',
  workspace: undefined,
  context: undefined,
  toolCallId: 'call-1',
  idempotencyKey: 'key-1',
  attempt: 1,
  progress: () => undefined,
  readBlob: () => Promise.reject(new ToolError('nothing is stored')),
};

/** Errors that the product declares: of a worker's start, of a tool, of the world. */
function isDeclared(thrown: unknown): boolean {
  return (
    thrown instanceof ToolError || thrown instanceof UserError || thrown instanceof InfraException
  );
}

/** What is false about an output: text that no byte of the answer says. */
function falseOutput(sent: string, output: unknown): Finding | undefined {
  const whole = typeof output === 'string' ? output : '';
  const isWhole = whole.includes('charged 120 to account 7');
  return isWhole && !sent.includes('charged 120 to account 7')
    ? { kind: 'false success', what: `nobody sent ${whole.slice(0, 200)}` }
    : undefined;
}

/** Connects, and calls the first tool. */
async function use(url: string): Promise<unknown> {
  let mcp: McpTools | undefined;
  try {
    mcp = await connectMcp({
      name: 'fuzz',
      transport: { type: 'http', url },
      tools: { '*': { timeoutMs: 2_000 } },
    });
    const { signal } = new AbortController();
    return await mcp.tools[0]?.execute({ amount: 120 }, { ...context, signal });
  } finally {
    await mcp?.close();
  }
}

async function open(): Promise<OpenFuzzArea> {
  let broken: FuzzInput | undefined;
  let sent = '';
  const server = createServer((incoming, response) => {
    let text = '';
    incoming.on('data', (chunk: Buffer) => {
      text += chunk.toString();
    });
    incoming.on('end', () => {
      if (incoming.method !== 'POST') {
        response.writeHead(405).end();
        return;
      }
      const { id, method } = JSON.parse(text) as { readonly id?: number; readonly method: string };
      const result = results[method];
      if (result === undefined || id === undefined) {
        response.writeHead(202).end();
        return;
      }
      const frame = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id, result }));
      const isBroken = broken !== undefined && answers[broken.base] === method;
      const bytes = isBroken ? mutated(frame, broken?.mutations ?? []) : frame;
      if (isBroken) sent = bytes.toString();
      response.writeHead(200, { 'content-type': 'application/json' }).end(bytes);
    });
  });
  const { url, stop } = await listenOnLoopback(server);
  return {
    draw: (random) => ({
      base: Math.floor(random() * answers.length),
      mutations: drawMutations([...byteMutations, changeJson, changeJson, changeJson], random),
    }),
    attempt: async (input) => {
      broken = input;
      const ended = await settled(use(`${url}/mcp`));
      if (ended === 'hang') return hanging;
      if ('thrown' in ended) return isDeclared(ended.thrown) ? undefined : crashOf(ended.thrown);
      return answers[input.base] === 'tools/call' ? falseOutput(sent, ended.value) : undefined;
    },
    close: stop,
  };
}

/** The area. */
export const mcpFramesArea: FuzzArea = {
  name: 'mcp-frames',
  about: 'answers of an MCP server over HTTP',
  open,
};
