/** Example: the web server of the shop's service. It keeps nothing: any number of them may run, and be killed. */
import { hash } from 'node:crypto';
import { Readable } from 'node:stream';
import type { FastifyRequest } from 'fastify';
import { fastify } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { validatorCompiler } from 'fastify-type-provider-zod';
import { z } from 'zod';
import { openStore } from '../../activities/index';
import type { AgentClient, TextDelta, TimelineEntry } from '../../client/index';
import { connect } from '../../client/index';
import { openTemporal, readEnvironment } from '../../workers/index';
import { customer, supportAgent } from './agents';

/** Who may use the service, by the SHA-256 of their token: customers, and the staff, who decide. */
const people = z.record(z.string(), z.object({ name: z.string(), customer: customer.optional() }));
type Asked = Pick<FastifyRequest, 'headers'>;

function refuse(statusCode: number, message: string): never {
  throw Object.assign(new Error(message), { statusCode });
}

/** Who asks, and what they may see. */
class Desk {
  constructor(
    readonly client: AgentClient,
    private readonly known: z.output<typeof people>,
  ) {}

  person({ headers }: Asked) {
    const token = headers.authorization?.slice('Bearer '.length) ?? '';
    return this.known[hash('sha256', token)] ?? refuse(401, 'Give a bearer token.');
  }

  staff(request: Asked) {
    const { name, customer: of } = this.person(request);
    return of === undefined ? name : refuse(403, 'Only the staff may do this.');
  }

  thread({ customerId }: z.output<typeof customer>) {
    return this.client.thread(`support-${customerId}`);
  }

  /** A customer's own run; the staff has all. */
  run(request: Asked & { readonly params: { readonly runId: string } }) {
    const { customer: of } = this.person(request);
    const { runId } = request.params;
    const isOwn = of === undefined || runId.startsWith(`${this.thread(of).id}:`);
    return isOwn ? this.client.run(runId) : refuse(404, 'There is no such run.');
  }
}

/** A browser's `EventSource` says the last `id` when it reconnects. Text has none: it begins again. */
async function* serverSentEvents(entries: AsyncIterable<TimelineEntry | TextDelta>) {
  for await (const entry of entries)
    yield `${entry.id === undefined ? '' : `id: ${entry.id}\n`}data: ${JSON.stringify(entry)}\n\n`;
}

const params = z.object({ runId: z.string(), id: z.string().default('') });
const headers = z.looseObject({ 'last-event-id': z.string().optional() });
const start = z.strictObject({ goal: z.string() });
const answer = z.strictObject({ answer: z.string() });
const decision = z.strictObject({ digest: z.string(), rejection: z.string().optional() });

/** The client's errors have a `statusCode`, by which Fastify answers. */
function webServer(desk: Desk) {
  const app = fastify({ forceCloseConnections: true }).withTypeProvider<ZodTypeProvider>();
  app.setValidatorCompiler(validatorCompiler);
  app.post('/runs', { schema: { body: start } }, async (request, reply) => {
    const context = desk.person(request).customer ?? refuse(403, 'Only customers start runs.');
    const options = { goal: request.body.goal, context };
    const { runId } = await desk.thread(context).start(supportAgent, options);
    return reply.code(201).send({ runId });
  });
  app.get('/runs/:runId', { schema: { params } }, async (request) => {
    const run = desk.run(request);
    const { status, doing } = await run.status();
    if (status !== 'running' && status !== 'waiting') return run.result();
    return { status, doing, pending: await run.pending() };
  });
  app.get('/runs/:runId/events', { schema: { params, headers } }, (request, reply) => {
    const after = request.headers['last-event-id'];
    const entries = desk.run(request).events({ text: true, after, signal: request.signal });
    return reply.type('text/event-stream').send(Readable.from(serverSentEvents(entries)));
  });
  app.post('/runs/:runId/answers/:id', { schema: { params, body: answer } }, async (request) => {
    const { name: by } = desk.person(request);
    await desk.run(request).answer(request.params.id, request.body.answer, { by });
    return { answered: request.params.id };
  });
  app.post(
    '/runs/:runId/decisions/:id',
    { schema: { params, body: decision } },
    async (request) => {
      const [by, run, { id }] = [desk.staff(request), desk.run(request), request.params];
      const { digest, rejection } = request.body;
      if (rejection === undefined) await run.approve(id, { digest, by });
      else await run.reject(id, rejection, { digest, by });
      return { decided: id };
    },
  );
  app.post('/runs/:runId/cancel', { schema: { params } }, async (request) => {
    await desk.run(request).cancel();
    return { canceled: request.params.runId };
  });
  app.get('/waiting', async (request) => {
    desk.staff(request);
    return desk.client.list({ status: 'waiting' });
  });
  return app;
}

async function main(): Promise<void> {
  const environment = readEnvironment();
  const server = await openTemporal(environment);
  const store = await openStore(environment.store);
  const client = await connect({ ...server, taskQueue: environment.taskQueue, store });
  const tokens = people.parse(JSON.parse(process.env['SERVICE_PEOPLE'] ?? '{}'));
  const app = webServer(new Desk(client, tokens));
  process.once('SIGTERM', () => void app.close().then(() => process.exit(0)));
  console.log(`Listening at ${await app.listen({ port: Number(process.env['PORT'] ?? 8080) })}`);
}

void main();
