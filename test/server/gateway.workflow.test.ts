/** The gateway over real runs, by a client that was generated from its own document. */
import { z } from 'zod';
import type { AgentDefinition } from '../../activities/definitions/agent';
import { defineTool } from '../../activities/tools/define-tool';
import { reply } from '../../testing/index';
import { refundOrder } from '../../examples/gateway-client';
import { aPattern } from '../store/pattern-store-contract';
import { eventually, testModel } from '../support/agent-world';
import type { components } from '../../examples/gateway-api';
import type { Api, GatewayWorld } from './support/gateway-world';
import { startGatewayWorld } from './support/gateway-world';
import type { ServerEvent } from './support/read-events';
import { readEvents } from './support/read-events';

const pay = defineTool({
  name: 'pay',
  description: 'Pays a bill.',
  input: z.object({ bill: z.string(), usd: z.number() }),
  effect: 'keyed',
  approval: 'always',
  execute: ({ bill, usd }) => `paid ${bill}: ${usd} USD`,
});

const chain = [{ provider: 'anthropic', model: testModel }] as const;
const agents: readonly AgentDefinition[] = [
  { name: 'clerk', instructions: 'You pay bills.', chain, tools: [pay] },
  { name: 'asker', instructions: 'You ask.', chain, tools: [], completion: 'tool' },
];

let world: GatewayWorld;
beforeAll(async () => {
  world = await startGatewayWorld(agents);
});
afterEach(() => {
  world.emulator.clearScripts();
});
afterAll(() => world.dispose());

type PendingItem = components['schemas']['PendingItem'];

async function start(api: Api, goal: string, agent = 'clerk'): Promise<string> {
  const { data, response } = await api.POST('/v1/runs', { body: { agent, goal } });
  expect(response.status).toBe(201);
  const runId = data?.runId ?? '';
  expect(response.headers.get('location')).toBe(`/v1/runs/${encodeURIComponent(runId)}`);
  return runId;
}

async function waitFor(api: Api, runId: string): Promise<PendingItem> {
  const ask = async () => (await api.GET('/v1/runs/{runId}', at(runId))).data?.pending ?? [];
  const [item] = await eventually(ask, (pending) => pending.length > 0);
  if (item === undefined) throw new Error('nothing waits');
  return item;
}

const at = (runId: string) => ({ params: { path: { runId } } });

async function resultOf(api: Api, runId: string): Promise<components['schemas']['RunOutcome']> {
  const result = async () =>
    (
      await api.GET('/v1/runs/{runId}/result', {
        params: { path: { runId }, query: { waitMs: 20_000 } },
      })
    ).data;
  const ended = await eventually(result, (data) => data?.status !== 'running');
  if (ended === undefined || ended.status === 'running') throw new Error('no outcome');
  return ended;
}

const bill = { name: 'pay', input: { bill: 'A-17', usd: 12 } };

it('lets the example start a run, follow it, and approve', async () => {
  world.emulator.script([reply.toolCalls([bill]), reply.text('Refunded.')]);
  const { types, answer } = await refundOrder(world.url, world.tokens.acme);
  expect(answer).toBe('Refunded.');
  expect(types).toEqual(expect.arrayContaining(['WaitStartedEvent', 'RunEndedEvent']));
});

it('starts a run, shows what it waits for, and lets it go on as a person decides', async () => {
  const api = world.api('acme');
  world.emulator.script([reply.toolCalls([bill]), reply.text('The bill is paid.')]);
  const runId = await start(api, 'Pay A-17.');
  const item = await waitFor(api, runId);
  if (item.type !== 'approval') throw new Error('it asks');
  expect(item.shown.fields).toContainEqual(
    expect.objectContaining({ name: 'bill', value: '"A-17"' }),
  );
  const path = { runId, approvalId: item.approvalId };
  const other = await api.POST('/v1/runs/{runId}/approvals/{approvalId}/approve', {
    params: { path },
    body: { digest: 'another action' },
  });
  expect(other.response.status).toBe(409);
  expect(other.error).toMatchObject({ code: 'refused', status: 409 });
  const { response } = await api.POST('/v1/runs/{runId}/approvals/{approvalId}/approve', {
    params: { path },
    body: { digest: item.digest, by: 'Ada' },
  });
  expect(response.status).toBe(204);
  const ended = await resultOf(api, runId);
  expect(ended).toMatchObject({ status: 'completed', answer: 'The bill is paid.' });
  const { data: run } = await api.GET('/v1/runs/{runId}', at(runId));
  expect(run).toMatchObject({ status: 'completed', tenant: 'acme', agent: 'clerk', pending: [] });
  // Who decided is the token's name; the person is what its user claims.
  expect(JSON.stringify(run)).toContain('approved by Ada (acme)');
  expect(run).not.toHaveProperty('head');
  const { data: story } = await api.GET('/v1/runs/{runId}/timeline', at(runId));
  expect(story?.entries.map(({ type }) => type)).toEqual(
    expect.arrayContaining(['RunStartedEvent', 'WaitStartedEvent', 'RunEndedEvent']),
  );
});

it('runs edited arguments, tells the model of a rejection, and hands images and answers on', async () => {
  const api = world.api('acme');
  world.emulator.script([reply.toolCalls([bill]), reply.text('done')]);
  const edited = await start(api, 'Pay.');
  const item = await waitFor(api, edited);
  if (item.type !== 'approval') throw new Error('it asks');
  await api.POST('/v1/runs/{runId}/approvals/{approvalId}/edit', {
    params: { path: { runId: edited, approvalId: item.approvalId } },
    body: { digest: item.digest, input: { bill: 'A-17', usd: 11 } },
  });
  await resultOf(api, edited);
  const transcript = await api.GET('/v1/runs/{runId}/transcript', at(edited));
  expect(JSON.stringify(transcript.data)).toContain('paid A-17: 11 USD');

  world.emulator.script([reply.toolCalls([bill]), reply.text('Not paid.')]);
  const rejected = await start(api, 'Pay.');
  const second = await waitFor(api, rejected);
  if (second.type !== 'approval') throw new Error('it asks');
  await api.POST('/v1/runs/{runId}/approvals/{approvalId}/reject', {
    params: { path: { runId: rejected, approvalId: second.approvalId } },
    body: { digest: second.digest, reason: 'Too much.' },
  });
  expect(await resultOf(api, rejected)).toMatchObject({ answer: 'Not paid.' });
  expect(JSON.stringify(world.emulator.requests.at(-1)?.body)).toContain('Too much.');

  world.emulator.script([
    reply.toolCalls([{ name: 'ask_user', input: { question: 'Which one?' } }]),
    reply.toolCalls([{ name: 'complete_task', input: { summary: 'the second' } }]),
  ]);
  const asking = await start(api, 'Choose.', 'asker');
  const question = await waitFor(api, asking);
  if (question.type !== 'question') throw new Error('it asks');
  const pixel =
    'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';
  const { response } = await api.POST('/v1/runs/{runId}/questions/{questionId}/answer', {
    params: { path: { runId: asking, questionId: question.questionId } },
    body: {
      answer: [
        { type: 'text', text: 'This one:' },
        { type: 'image', data: pixel },
      ],
    },
  });
  expect(response.status).toBe(204);
  expect(await resultOf(api, asking)).toMatchObject({ status: 'completed' });
  expect(JSON.stringify(world.emulator.requests.at(-1)?.body)).toContain(pixel);
});

it('escalates, takes messages, stops, cancels, and forks', async () => {
  const api = world.api('acme');
  world.emulator.script(() => reply.toolCalls([bill]));
  const stopped = await start(api, 'Pay.');
  await waitFor(api, stopped);
  const said = await api.POST('/v1/runs/{runId}/messages', {
    ...at(stopped),
    body: { message: 'Be quick.' },
  });
  expect(said.response.status).toBe(204);
  await api.POST('/v1/runs/{runId}/stop', { ...at(stopped), body: { reason: 'enough' } });
  expect(await resultOf(api, stopped)).toMatchObject({ status: 'stopped' });
  const late = await api.POST('/v1/runs/{runId}/escalate', {
    ...at(stopped),
    body: { reason: 'x' },
  });
  expect(late.error).toMatchObject({ status: 409, code: 'run-ended' });

  const cancelled = await start(api, 'Pay.');
  await waitFor(api, cancelled);
  await api.POST('/v1/runs/{runId}/cancel', at(cancelled));
  expect(await resultOf(api, cancelled)).toMatchObject({ status: 'cancelled' });

  world.emulator.clearScripts();
  world.emulator.script([reply.text('forked')]);
  const key = { 'idempotency-key': 'fork-1' };
  const fork = () =>
    api.POST('/v1/runs/{runId}/fork', {
      params: { path: { runId: stopped }, header: key },
      body: { iteration: 0, message: 'Another way.' },
    });
  const { data } = await fork();
  expect((await fork()).data).toEqual(data);
  expect(await resultOf(api, data?.runId ?? '')).toMatchObject({ answer: 'forked' });
  const { data: run } = await api.GET('/v1/runs/{runId}', at(data?.runId ?? ''));
  expect(run?.tenant).toBe('acme');
});

it('begins one run for each idempotency key', async () => {
  const api = world.api('acme');
  world.emulator.script(() => reply.text('done'));
  const send = (goal: string) =>
    api.POST('/v1/runs', {
      params: { header: { 'idempotency-key': 'bill-17' } },
      body: { agent: 'clerk', goal },
    });
  const all = await Promise.all([send('Pay.'), send('Pay.'), send('Pay.')]);
  expect(new Set(all.map(({ data }) => data?.runId)).size).toBe(1);
  expect((await send('Pay another.')).error).toMatchObject({ status: 422, code: 'key-reused' });
});

describe('tenants', () => {
  it('see their own runs alone, on every route, and cannot tell others from none', async () => {
    world.emulator.script(() => reply.toolCalls([bill]));
    const [acme, globex, admin] = [world.api('acme'), world.api('globex'), world.api('admin')];
    const runId = await start(acme, 'Pay.');
    const item = await waitFor(acme, runId);
    const approvalId = item.type === 'approval' ? item.approvalId : '';
    const digest = item.type === 'approval' ? item.digest : '';
    const path = { runId, approvalId, questionId: approvalId };
    const strange = [
      globex.GET('/v1/runs/{runId}', at(runId)),
      globex.GET('/v1/runs/{runId}/result', at(runId)),
      globex.GET('/v1/runs/{runId}/why', at(runId)),
      globex.GET('/v1/runs/{runId}/events', at(runId)),
      globex.GET('/v1/runs/{runId}/timeline', at(runId)),
      globex.GET('/v1/runs/{runId}/transcript', at(runId)),
      globex.POST('/v1/runs/{runId}/cancel', at(runId)),
      globex.POST('/v1/runs/{runId}/stop', { ...at(runId), body: { reason: 'x' } }),
      globex.POST('/v1/runs/{runId}/escalate', { ...at(runId), body: { reason: 'x' } }),
      globex.POST('/v1/runs/{runId}/messages', { ...at(runId), body: { message: 'x' } }),
      globex.POST('/v1/runs/{runId}/fork', { ...at(runId), body: { iteration: 0 } }),
      globex.POST('/v1/runs/{runId}/approvals/{approvalId}/approve', {
        params: { path },
        body: { digest },
      }),
      globex.POST('/v1/runs/{runId}/approvals/{approvalId}/edit', {
        params: { path },
        body: { digest, input: {} },
      }),
      globex.POST('/v1/runs/{runId}/approvals/{approvalId}/reject', {
        params: { path },
        body: { digest, reason: 'x' },
      }),
      globex.POST('/v1/runs/{runId}/questions/{questionId}/answer', {
        params: { path },
        body: { answer: 'x' },
      }),
      globex.POST('/v1/runs', { body: { agent: 'clerk', goal: 'x', continueFrom: runId } }),
    ];
    const none = (await globex.GET('/v1/runs/{runId}', at('nobody'))).error;
    for (const { error } of await Promise.all(strange))
      expect(error).toEqual({ ...none, detail: none?.detail.replace('nobody', runId) });
    const { data } = await acme.GET('/v1/runs/{runId}', at(runId));
    expect(data?.pending).toHaveLength(1);
    const ids = async (api: Api, query = {}) =>
      (await api.GET('/v1/runs', { params: { query } })).data?.runs.map((run) => run.runId) ?? [];
    await eventually(
      () => ids(acme),
      (found) => found.includes(runId),
    );
    expect(await ids(admin, { tenant: 'acme' })).toContain(runId);
    expect(await ids(globex)).not.toContain(runId);
    const inbox = async (api: Api) =>
      (await api.GET('/v1/inbox')).data?.waits.map(({ run }) => run.runId) ?? [];
    await eventually(
      () => inbox(acme),
      (found) => found.includes(runId),
    );
    expect(await inbox(globex)).not.toContain(runId);
    const other = await globex.GET('/v1/runs', { params: { query: { tenant: 'acme' } } });
    expect(other.error).toMatchObject({ status: 403, code: 'forbidden' });
    await acme.POST('/v1/runs/{runId}/cancel', at(runId));
  });

  it('give a start no reach beyond them', async () => {
    const body = { agent: 'clerk', goal: 'x' };
    for (const beyond of [{ workspace: '/etc' }, { taskQueue: 'others' }, { tenant: 'globex' }]) {
      const { error } = await world.api('acme').POST('/v1/runs', { body: { ...body, ...beyond } });
      expect(error).toMatchObject({ status: 403, code: 'forbidden' });
    }
    // What only the runtime sets reaches other transcripts.
    for (const inner of [{ head: 'x' }, { contextOf: 'x' }, { runId: 'x' }, { origins: [] }]) {
      const { error } = await world.api('acme').POST('/v1/runs', { body: { ...body, ...inner } });
      expect(error).toMatchObject({ status: 400, code: 'invalid-request' });
    }
  });

  it('may only look with the role view', async () => {
    const reader = world.api('reader');
    expect((await reader.GET('/v1/runs')).response.status).toBe(200);
    expect((await reader.GET('/v1/token')).data).toEqual({
      name: 'reader',
      role: 'view',
      tenant: 'acme',
    });
    const { error } = await reader.POST('/v1/runs', { body: { agent: 'clerk', goal: 'x' } });
    expect(error).toMatchObject({ status: 403, code: 'forbidden' });
  });
});

it('pages through a list, a timeline and a transcript', async () => {
  const api = world.api('globex');
  world.emulator.script(() => reply.text('done'));
  const started = await Promise.all(Array.from({ length: 5 }, () => start(api, 'x')));
  await Promise.all(started.map((runId) => resultOf(api, runId)));
  const all = async (): Promise<readonly string[]> => {
    const found: string[] = [];
    let cursor: string | undefined;
    do {
      const query = { limit: 2, ...(cursor && { cursor }) };
      const { data } = await api.GET('/v1/runs', { params: { query } });
      found.push(...(data?.runs.map(({ runId }) => runId) ?? []));
      cursor = data?.next;
    } while (cursor !== undefined);
    return found;
  };
  await eventually(all, (found) => started.every((runId) => found.includes(runId)));
  const [runId = ''] = started;
  const whole = (await api.GET('/v1/runs/{runId}/timeline', at(runId))).data?.entries ?? [];
  const paged: string[] = [];
  let after: string | undefined;
  do {
    const query = { limit: 1, ...(after && { after }) };
    const { data } = await api.GET('/v1/runs/{runId}/timeline', {
      params: { path: { runId }, query },
    });
    paged.push(...(data?.entries.map(({ id }) => id) ?? []));
    after = data?.next;
  } while (after !== undefined);
  expect(paged).toEqual(whole.map(({ id }) => id));
  const { data: last } = await api.GET('/v1/runs/{runId}/transcript', {
    params: { path: { runId }, query: { offset: 1, limit: 1 } },
  });
  expect(last).toMatchObject({ total: 2, messages: [{ role: 'assistant' }] });
});

it('shows providers and patterns, and of errors of providers only the reason to a tenant', async () => {
  const { data: mine } = await world.api('acme').GET('/v1/providers');
  expect(mine?.providers).toContainEqual(
    expect.objectContaining({ route: `anthropic/${testModel}`, status: 'healthy' }),
  );
  await world.stored.store.reportFailure({
    ...{ route: 'anthropic/broken', reason: 'auth', message: 'key of globex', status: 'down' },
    ...{ cooldownUntilMs: 0, probeFromMs: 0, atMs: Date.now() },
  });
  const of = async (name: 'acme' | 'admin') =>
    (await world.api(name).GET('/v1/providers')).data?.providers.find(
      ({ route }) => route === 'anthropic/broken',
    );
  expect(await of('acme')).toMatchObject({ status: 'down', lastErrorReason: 'auth' });
  expect(await of('acme')).not.toHaveProperty('lastError');
  expect(await of('admin')).toMatchObject({ lastError: 'key of globex' });
  expect((await world.api('acme').GET('/v1/patterns')).data).toEqual({ patterns: [] });
});

it('shows and switches the patterns of a tenant, for those who operate it', async () => {
  const { patterns } = world.stored.store;
  for (const tenant of ['acme', 'globex'])
    await patterns.updatePattern(`of-${tenant}`, () => ({
      ...aPattern(),
      ...{ id: `of-${tenant}`, tenant },
    }));
  const of = (patternId: string) => ({ params: { path: { patternId } } });
  const statusOf = async (patternId: string) => (await patterns.pattern(patternId))?.status;
  const [acme, reader] = [world.api('acme'), world.api('reader')];
  const { data: listed } = await acme.GET('/v1/patterns');
  expect(listed?.patterns.map(({ id }) => id)).toEqual(['of-acme']);
  const { data: shown } = await reader.GET('/v1/patterns/{patternId}', of('of-acme'));
  expect(shown).toMatchObject({ id: 'of-acme', lowerBound: expect.any(Number) as number });
  const refused = await reader.POST('/v1/patterns/{patternId}/disable', of('of-acme'));
  expect(refused.response.status).toBe(403);
  for (const id of ['of-globex', 'nothing']) {
    const look = await acme.GET('/v1/patterns/{patternId}', of(id));
    const change = await acme.POST('/v1/patterns/{patternId}/disable', of(id));
    expect([look.response.status, change.response.status]).toEqual([404, 404]);
    expect(change.error).toMatchObject({ code: 'pattern-not-found' });
  }
  expect(await statusOf('of-globex')).toBe('active');
  const { data: off } = await acme.POST('/v1/patterns/{patternId}/disable', of('of-acme'));
  expect([off?.status, await statusOf('of-acme')]).toEqual(['disabled', 'disabled']);
  const { data: on } = await acme.POST('/v1/patterns/{patternId}/enable', of('of-acme'));
  expect(on?.status).not.toBe('disabled');
  await world.api('admin').POST('/v1/patterns/{patternId}/disable', of('of-globex'));
  expect(await statusOf('of-globex')).toBe('disabled');
});

describe('events', () => {
  const eventsOf = (url: string, runId: string): string =>
    `${url}/v1/runs/${encodeURIComponent(runId)}/events`;
  const ids = (events: readonly ServerEvent[]) => events.flatMap(({ id }) => id ?? []);

  it('come past and live, with text, each once over gateways that end, and then no more', async () => {
    const api = world.api('acme');
    const token = world.tokens.reader;
    const words = 'Waters rise in spring, and fall in autumn, as the old people say.';
    world.emulator.script([
      reply.toolCalls([bill]),
      reply.text(words, { charactersPerDelta: 4, delivery: { writeEveryMs: 80 } }),
    ]);
    const runId = await start(api, 'Pay, then tell.');
    const item = await waitFor(api, runId);
    const second = await world.another();
    const seen: ServerEvent[] = [];
    let isWaiting = false;
    for await (const event of readEvents({ url: eventsOf(second.url, runId), token })) {
      seen.push(event);
      // In the middle of the run this gateway ends.
      if ((event.data as { type?: string }).type !== 'WaitStartedEvent' || isWaiting) continue;
      isWaiting = true;
      void second.gateway.close();
    }
    expect(seen.at(-1)).toMatchObject({
      name: 'reconnect',
      data: { retryMs: expect.any(Number) as number },
    });
    if (item.type !== 'approval') throw new Error('it asks');
    const { approvalId, digest } = item;
    const lastEventId = ids(seen).at(-1) ?? '';
    const rest: ServerEvent[] = [];
    const reading = (async () => {
      const url = eventsOf(world.url, runId);
      for await (const event of readEvents({ url, token, lastEventId })) rest.push(event);
    })();
    await api.POST('/v1/runs/{runId}/approvals/{approvalId}/approve', {
      params: { path: { runId, approvalId } },
      body: { digest },
    });
    await reading;
    expect(rest.at(-1)).toMatchObject({ name: 'end', data: { status: 'completed' } });
    const { data: story } = await api.GET('/v1/runs/{runId}/timeline', at(runId));
    expect([...ids(seen), ...ids(rest)]).toEqual(story?.entries.map(({ id }) => id));
    const pieces = rest.filter(({ data }) => (data as { type?: string }).type === 'TextDelta');
    expect(pieces.length).toBeGreaterThan(1);
    const after = ids(rest).at(-1) ?? '';
    const gone = await fetch(eventsOf(world.url, runId), {
      headers: { authorization: `Bearer ${token}`, 'last-event-id': after },
    });
    expect(gone.status).toBe(204);
  });

  it('have heartbeats while nothing happens, and are refused above the limit', async () => {
    world.emulator.script(() => reply.toolCalls([bill]));
    const api = world.api('acme');
    const token = world.tokens.acme;
    const runId = await start(api, 'Pay.');
    await waitFor(api, runId);
    const { url, gateway } = await world.another({ heartbeatMs: 50, streamsPerToken: 1 });
    const left = new AbortController();
    let heartbeats = 0;
    const reading = (async () => {
      const request = { url: eventsOf(url, runId), token, signal: left.signal };
      const onHeartbeat = (): void => {
        heartbeats += 1;
      };
      const events = readEvents({ ...request, onHeartbeat });
      while ((await events.next()).done !== true);
    })();
    reading.catch(() => undefined);
    await eventually(
      () => Promise.resolve(heartbeats),
      (count) => count >= 3,
    );
    const open = (headers = {}) =>
      fetch(eventsOf(url, runId), { headers: { authorization: `Bearer ${token}`, ...headers } });
    const refused = await open();
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toBe('5');
    expect(await refused.json()).toMatchObject({ code: 'too-many-streams' });
    left.abort();
    // Its place is free again.
    await eventually(
      async () => {
        const again = await open();
        await again.body?.cancel();
        return again.status;
      },
      (status) => status === 200,
    );
    await eventually(
      async () =>
        (await open({ 'last-event-id': '1.2.3\nx' }).catch(() => open({ 'last-event-id': 'x' })))
          .status,
      (status) => status === 400,
    );
    await gateway.close();
    await api.POST('/v1/runs/{runId}/cancel', at(runId));
  });
});
