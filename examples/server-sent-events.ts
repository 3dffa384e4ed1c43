/** Example: a run's timeline and the model's words for browsers, as server-sent events that go on where a connection was lost. */
import { once } from 'node:events';
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createActivities, defineAgent } from '../activities/index';
import type { AgentClient, TextDelta, TimelineEntry } from '../client/index';
import { ClientError } from '../client/index';
import { reply } from '../testing/index';
import { createWorker } from '../workers/index';
import type { OfflineWorld } from './offline-world';
import { inOfflineWorld, runAsProgram } from './offline-world';

/** `GET /runs/<run id>/events`, for the browser's own `EventSource`. A real server first checks who asks for which run. */
export function eventServer(client: AgentClient): Server {
  return createServer((request, response) => {
    sendEvents(client, request, response).catch((thrown: unknown) => {
      if (response.headersSent) return response.destroy();
      const message = thrown instanceof ClientError ? thrown.message : 'internal error';
      return response.writeHead(thrown instanceof ClientError ? 400 : 500).end(message);
    });
  });
}

async function sendEvents(
  client: AgentClient,
  { url = '', headers }: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  const [, runId = ''] = /^\/runs\/([^/]+)\/events$/.exec(url) ?? [];
  const left = new AbortController();
  response.once('close', () => {
    left.abort();
  });
  // What `EventSource` says when it connects again.
  const after = headers['last-event-id'];
  const behind = typeof after === 'string' ? { after } : {};
  const run = client.run(decodeURIComponent(runId));
  for await (const entry of run.events({ text: true, signal: left.signal, ...behind })) {
    if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' });
    // Text has no id, so a browser that comes back gets the text of the reply in progress from its beginning.
    const id = entry.id === undefined ? '' : `id: ${entry.id}\n`;
    const hasRoom = response.write(`${id}data: ${JSON.stringify(entry)}\n\n`);
    // A browser that reads slowly: the next entries wait where they are.
    if (!hasRoom) await once(response, 'drain', { signal: left.signal });
  }
  response.end();
}

type Received = TimelineEntry | TextDelta;

/** What `EventSource` does in a browser. */
async function* received(url: string, lastEventId?: string): AsyncGenerator<Received, void> {
  const headers = lastEventId === undefined ? {} : { 'last-event-id': lastEventId };
  const response = await fetch(url, { headers });
  if (!response.ok || response.body === null) throw new Error(await response.text());
  let held = '';
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const events = (held + text).split('\n\n');
    held = events.pop() ?? '';
    for (const event of events) {
      const [, data = ''] = /^data: (.*)$/m.exec(event) ?? [];
      yield JSON.parse(data) as Received;
    }
  }
}

const writer = defineAgent({
  name: 'writer',
  instructions: 'You write.',
  chain: [{ provider: 'anthropic', model: 'claude-sonnet-4-5' }],
  tools: [],
});

/** What a page shows: the text after each piece of it, and the ids of the entries. */
export async function readInBrowser(
  world: OfflineWorld,
): Promise<{ readonly shown: readonly string[]; readonly ids: readonly string[] }> {
  const { connection, client, taskQueue, store, provider, emulator } = world;
  const slow = { charactersPerDelta: 4, delivery: { writeEveryMs: 60 } };
  emulator.script([reply.text('Waters rise in spring, and fall in autumn.', slow)]);
  const activities = createActivities({ store, providers: [provider], agents: [writer] });
  const worker = await createWorker({ connection, taskQueue, activities });
  const server = eventServer(client).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const shown: string[] = [];
  const ids: string[] = [];
  const take = (entry: Received): void => {
    if (entry.type !== 'TextDelta') ids.push(entry.id);
    // What was shown from `offset` on is replaced: a reply that broke begins again at 0.
    else shown.push((shown.at(-1) ?? '').slice(0, entry.offset) + entry.text);
  };
  try {
    return await worker.runUntil(async () => {
      const { runId } = await client.start(writer, { goal: 'Write about the river.' });
      const url = `http://127.0.0.1:${port}/runs/${runId}/events`;
      // The connection breaks while the reply arrives …
      for await (const entry of received(url)) {
        take(entry);
        if ((shown.at(-1) ?? '').length > 10) break;
      }
      // … and the browser connects again.
      for await (const entry of received(url, ids.at(-1))) take(entry);
      return { shown: shown.map((text) => text.trimEnd()), ids };
    });
  } finally {
    server.close();
    server.closeAllConnections();
  }
}

async function main(): Promise<void> {
  const { shown } = await inOfflineWorld('server-sent-events', readInBrowser);
  console.log(shown.join('\n'));
}

if (require.main === module) runAsProgram(main);
