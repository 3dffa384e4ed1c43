/** A client of server-sent events that never gives up: it connects again where it was, as `EventSource` does. */
import { setTimeout as delay } from 'node:timers/promises';

/** What one client received of one run, over all its connections. */
export interface Received {
  readonly runId: string;
  /** Ids in the order in which they came. */
  readonly ids: string[];
  connections: number;
  /** How the run ended; absent until the stream says so. */
  status?: string;
}

/** Milliseconds between two connections, unless the server says otherwise. */
const usualRetryMs = 500;

interface Fields {
  readonly id?: string;
  readonly event?: string;
  readonly data?: string;
  readonly retry?: string;
}

function fieldsOf(block: string): Fields {
  return Object.fromEntries(
    block.split('\n').flatMap((line) => {
      const [, name = '', value = ''] = /^([^:]*):? ?(.*)$/.exec(line) ?? [];
      return name === '' ? [] : [[name, value]];
    }),
  );
}

/** Whose events, and what is called for each. */
interface Followed {
  readonly url: string;
  readonly token: string;
  readonly runId: string;
  readonly onEntry: () => void;
}

/** Follows the run to its end. */
export async function followRun(followed: Followed): Promise<Received> {
  const received: Received = { runId: followed.runId, ids: [], connections: 0 };
  const retry = { ms: usualRetryMs };
  for (;;) {
    try {
      await oneConnection(followed, received, retry);
    } catch {
      // The gateway is gone, or not there yet.
    }
    if (received.status !== undefined) return received;
    await delay(retry.ms);
  }
}

async function oneConnection(
  { url, token, runId, onEntry }: Followed,
  received: Received,
  retry: { ms: number },
): Promise<void> {
  const lastId = received.ids.at(-1);
  const response = await fetch(`${url}/v1/runs/${encodeURIComponent(runId)}/events`, {
    headers: { authorization: `Bearer ${token}`, ...(lastId && { 'last-event-id': lastId }) },
  });
  received.connections += 1;
  if (response.status === 204) received.status = 'ended';
  if (!response.ok || response.body === null) return;
  let held = '';
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const blocks = (held + text).split('\n\n');
    held = blocks.pop() ?? '';
    for (const block of blocks) {
      const fields = fieldsOf(block);
      if (fields.retry !== undefined) retry.ms = Number(fields.retry);
      if (fields.event === 'end') received.status = statusIn(fields.data);
      if (fields.id === undefined) continue;
      received.ids.push(fields.id);
      onEntry();
    }
  }
}

function statusIn(data = '{}'): string {
  return (JSON.parse(data) as { readonly status?: string }).status ?? 'ended';
}
