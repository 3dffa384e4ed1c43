/** Requests to the gateway, broken in their bytes and sent over a socket: it refuses them, and goes on to serve. */
import { connect } from 'node:net';
import { Client } from '@temporalio/client';
import { AgentClient } from '../../../client/index';
import { createGateway } from '../../../server/gateway';
import { makeToken } from '../../../server/http/access-tokens';
import { createLogger } from '../../../workers/logging';
import type { Finding, FuzzArea, OpenFuzzArea } from '../fuzz-area';
import { crashOf, hanging, settled } from '../fuzz-area';
import { byteMutations, drawMutations, mutated } from '../mutations';
import { runId, serverWith, unavailable } from './history-server';

function requestsOf(token: string): readonly string[] {
  const request = (line: string, body?: object): string => {
    const text = body === undefined ? '' : JSON.stringify(body);
    return [
      `${line} HTTP/1.1`,
      'host: gateway',
      `authorization: Bearer ${token}`,
      ...(body === undefined
        ? []
        : ['content-type: application/json', `content-length: ${Buffer.byteLength(text)}`]),
      'connection: close',
      '',
      text,
    ].join('\r\n');
  };
  return [
    request('POST /v1/runs', { agent: 'worker', goal: 'Work — 世界.', context: { a: [1, null] } }),
    request(`POST /v1/runs/${runId}/messages`, { text: 'A "quoted" message\n' }),
    request(`POST /v1/runs/${runId}/approvals/a1`, { decision: 'approve', digest: 'd' }),
    request(`GET /v1/runs?status=running&limit=10`),
    request(`GET /v1/runs/${runId}/events?after=1.2.3`),
    request(`GET /v1/runs/${runId}`),
  ];
}

/** Sends the bytes, says that no more will come, and reads what comes back until the end. */
function exchanged(port: number, bytes: Buffer): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let text = '';
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      resolve(text);
    });
    socket.end(bytes);
  });
}

/** Statuses of what is really not there: a server that is down, and what HTTP has no other word for. */
const declaredStatuses = [501, 503, 505];

function judged(answer: string): Finding | undefined {
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(answer)?.[1] ?? 0);
  return status >= 500 && !declaredStatuses.includes(status)
    ? { kind: 'crash', what: answer.slice(0, 800) }
    : undefined;
}

async function open(): Promise<OpenFuzzArea> {
  const client = new AgentClient(new Client({ connection: serverWith([], unavailable) }), {
    taskQueue: 'fuzz',
  });
  const { token, entry } = makeToken({ name: 'fuzz', role: 'operate' });
  const gateway = await createGateway({
    client,
    tokens: [entry],
    log: createLogger('error', { write: () => true }),
    version: '0.0.0',
    limits: { requestsPerMinute: 10_000_000, failuresPerMinute: 10_000_000 },
  });
  const url = new URL(await gateway.app.listen({ port: 0, host: '127.0.0.1' }));
  const port = Number(url.port);
  const bases = requestsOf(token);
  const health = Buffer.from('GET /healthz HTTP/1.1\r\nhost: gateway\r\nconnection: close\r\n\r\n');
  return {
    draw: (random) => ({
      base: Math.floor(random() * bases.length),
      mutations: drawMutations(byteMutations, random),
    }),
    attempt: async ({ base, mutations }) => {
      const bytes = mutated(Buffer.from(bases[base] ?? ''), mutations);
      const ended = await settled(exchanged(port, bytes));
      if (ended === 'hang') return hanging;
      if ('thrown' in ended) return crashOf(ended.thrown);
      const finding = judged(ended.value);
      if (finding !== undefined) return finding;
      const alive = await settled(exchanged(port, health));
      return alive !== 'hang' && 'value' in alive && alive.value.startsWith('HTTP/1.1 200')
        ? undefined
        : { kind: 'crash', what: 'the gateway does not answer any more' };
    },
    close: () => gateway.close(),
  };
}

/** The area. */
export const gatewayRequestsArea: FuzzArea = {
  name: 'gateway-requests',
  about: 'requests to the gateway, over a socket',
  open,
};
