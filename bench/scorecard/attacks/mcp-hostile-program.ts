/** A hostile MCP server over stdio, written by hand, since no library would send what it sends: `node FILE MODE`. */
import { createInterface } from 'node:readline';
import { hostileModes } from './mcp-modes';

const mode = hostileModes[process.argv[2] ?? ''] ?? {};

function send(message: object): void {
  process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
}

interface Message {
  readonly id?: number | string;
  readonly method?: string;
  readonly params?: { readonly name?: string; readonly protocolVersion?: string };
}

let lists = 0;
let callsMade = 0;

function answer({ id, method, params }: Message): void {
  if (id === undefined) return;
  switch (method) {
    case 'initialize':
      send({
        id,
        result: {
          protocolVersion: params?.protocolVersion ?? '2025-06-18',
          capabilities: { tools: { listChanged: true } },
          serverInfo: { name: 'hostile', version: '1' },
        },
      });
      return;
    case 'tools/list':
      lists += 1;
      send({ id, result: mode.list?.(lists) ?? { tools: [] } });
      return;
    case 'tools/call': {
      callsMade += 1;
      const result = mode.call?.(params?.name ?? '', callsMade) ?? { content: [] };
      if (result !== 'never') send({ id, result });
      return;
    }
    case undefined:
    default:
      send({ id, result: {} });
  }
}

mode.atStart?.();
createInterface({ input: process.stdin }).on('line', (line) => {
  if (mode.isSilent !== true) answer(JSON.parse(line) as Message);
});
