/** Example: a program that knows only the gateway's address and a token starts a run, follows its events, and approves what it asks. */
import createClient from 'openapi-fetch';
import type { paths } from './gateway-api';
import { runAsProgram } from './offline-world';

/** An entry of the timeline, or `TextDelta`; the fields of each type are in the table of events. */
interface Event {
  readonly type: string;
  readonly wait?: { readonly kind: string; readonly id: string; readonly digest?: string };
}

/** The events of a response, each as its lines. */
async function* blocksOf({ body }: Response): AsyncGenerator<string, void> {
  let held = '';
  for await (const text of body?.pipeThrough(new TextDecoderStream()) ?? []) {
    const blocks = (held + text).split('\n\n');
    held = blocks.pop() ?? '';
    yield* blocks;
  }
}

/** The events of a run, to its end; a lost connection is made again. `EventSource` would do, if it could send a token. */
async function* eventsOf(url: string, token: string): AsyncGenerator<Event, void> {
  let lastEventId = '';
  for (;;) {
    const headers = { authorization: `Bearer ${token}`, 'last-event-id': lastEventId };
    const response = await fetch(url, { headers });
    if (!response.ok) throw new Error(await response.text());
    if (response.status === 204) return;
    for await (const block of blocksOf(response)) {
      if (block.startsWith('event: end')) return;
      // Other events that have a name say something about the connection.
      const [, data] = block.includes('event: ') ? [] : (/^data: (.*)$/m.exec(block) ?? []);
      if (data !== undefined) yield JSON.parse(data) as Event;
      lastEventId = /^id: (.*)$/m.exec(block)?.[1] ?? lastEventId;
    }
  }
}

/** Starts a run and approves everything that it asks for; returns the types of its events and how it ended. */
export async function refundOrder(
  baseUrl: string,
  token: string,
): Promise<{ readonly types: readonly string[]; readonly answer: string }> {
  const api = createClient<paths>({ baseUrl, headers: { authorization: `Bearer ${token}` } });
  const { data } = await api.POST('/v1/runs', {
    params: { header: { 'idempotency-key': 'order-17' } },
    body: { agent: 'clerk', goal: 'Refund order 17.' },
  });
  if (data === undefined) throw new Error('the gateway started nothing');
  const { runId } = data;
  const types: string[] = [];
  const url = `${baseUrl}/v1/runs/${encodeURIComponent(runId)}/events`;
  for await (const { type, wait } of eventsOf(url, token)) {
    types.push(type);
    if (type !== 'WaitStartedEvent' || wait?.digest === undefined) continue;
    await api.POST('/v1/runs/{runId}/approvals/{approvalId}/approve', {
      params: { path: { runId, approvalId: wait.id } },
      body: { digest: wait.digest, by: 'Ada' },
    });
  }
  const result = await api.GET('/v1/runs/{runId}/result', { params: { path: { runId } } });
  if (result.data?.status !== 'completed') throw new Error('the run did not complete');
  return { types, answer: result.data.answer ?? '' };
}

if (require.main === module) {
  const [, , baseUrl = 'http://127.0.0.1:7466', token = ''] = process.argv;
  runAsProgram(async () => {
    console.log(await refundOrder(baseUrl, token));
  });
}
