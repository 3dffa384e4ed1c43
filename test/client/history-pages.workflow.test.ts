/** Histories whose events do not fit into one message: read whole, at the cost of a few refusals; no page is kept. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { Connection, WorkflowClient } from '@temporalio/client';
import { connect } from '../../client/connect';
import { historyPages } from '../../client/history/pages';
import { agentRunWorkflow } from '../../workflows/contract';
import type { DevServer } from '../support/temporal';
import { startDevServer, uniqueName } from '../support/temporal';

const signals = 20;
const signalBytes = 300_000;

let server: DevServer;
let workflowId: string;
beforeAll(async () => {
  server = await startDevServer();
  const handle = await server.client.start(agentRunWorkflow, {
    // No worker polls it: the history is what is written here.
    taskQueue: uniqueName('nobody'),
    workflowId: uniqueName('large'),
    args: [{ request: { agent: 'nobody', goal: 'Wait.' } }],
  });
  for (let sent = 0; sent < signals; sent += 1)
    await handle.signal('addMessage', { text: 'x'.repeat(signalBytes) });
  workflowId = handle.workflowId;
});
afterAll(async () => {
  await server.client.getHandle(workflowId).terminate();
  await server.close();
});

/** A connection whose answers hold three signals at most; it asks once for what is too large. */
function connectForLittle(): Promise<Connection> {
  return Connection.connect({
    address: server.address,
    channelArgs: { 'grpc.max_receive_message_length': 3 * signalBytes },
    interceptors: [],
  });
}

test('a connection of `connect` takes six megabytes at once', async () => {
  const client = await connect({ address: server.address });
  try {
    const before = Date.now();
    await expect(client.run(workflowId).transcriptHead()).rejects.toThrow(/no transcript yet/);
    // Refused as too large, the SDK alone would ask ten times, for half a minute.
    expect(Date.now() - before).toBeLessThan(20_000);
  } finally {
    await client.close();
  }
});

test('a connection that takes less gets smaller pages, and asks for no page twice once it knows', async () => {
  const connection = await connectForLittle();
  try {
    const client = new WorkflowClient({ connection });
    let asked = 0;
    const workflowService = new Proxy(client.workflowService, {
      get(service, name) {
        if (name === 'getWorkflowExecutionHistory') asked += 1;
        return Reflect.get(service, name) as unknown;
      },
    });
    const counted = new Proxy(client, {
      get: (real, name) =>
        name === 'workflowService' ? workflowService : (Reflect.get(real, name) as unknown),
    });
    let events = 0;
    let pages = 0;
    for await (const page of historyPages(counted, { workflowId })) {
      pages += 1;
      events += page.length;
    }
    expect(events).toBeGreaterThan(signals);
    expect(asked - pages).toBeLessThanOrEqual(4);
  } finally {
    await connection.close();
  }
});

test('no page stays in memory, even if the signal that would have ended the reading lives on', async () => {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  const connection = await connectForLittle();
  try {
    const client = new WorkflowClient({ connection });
    const signal = AbortSignal.any([new AbortController().signal]);
    const pages: WeakRef<object>[] = [];
    for await (const page of historyPages(client, { workflowId }, { signal }))
      pages.push(new WeakRef(page));
    expect(pages.length).toBeGreaterThan(5);
    await nextTurn();
    collect();
    // The last answer may still be on its way out.
    const kept = pages.filter((page) => page.deref() !== undefined);
    expect(kept.length).toBeLessThanOrEqual(1);
  } finally {
    await connection.close();
  }
});
