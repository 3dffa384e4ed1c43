/** What happened in a run: its timeline page by page and live, and its transcript. */
import { Readable } from 'node:stream';
import { z } from 'zod';
import type { RunEntry } from '../../client/history/fold';
import type { RunHandle } from '../../client/run-handle';
import { defined } from '../../workflows/core/json';
import { redactShown } from '../../workflows/core/secrets/shown-text';
import { HttpProblem } from '../http/problem';
import { timelinePage, transcriptPage } from '../schema/answers';
import {
  entryId,
  eventsQuery,
  runParams,
  timelineQuery,
  transcriptQuery,
} from '../schema/requests';
import { eventStream } from '../streams/event-stream';
import type { Api, RouteWorld } from './gateway-routes';
import { callerLeft, problems, storeOf, visibleRun } from './gateway-routes';

/** Longest timer of JavaScript, in milliseconds. */
const noTimeoutMs = 2 ** 31 - 1;

const eventSchema = {
  tags: ['Runs'],
  operationId: 'streamEvents',
  summary:
    "The timeline as server-sent events, past and live, with the model's words while they arrive",
  params: runParams,
  querystring: eventsQuery,
  response: {
    200: {
      description: 'Events; `event: end` when the run has ended',
      content: { 'text/event-stream': { schema: z.string() } },
    },
    204: z.null().describe('The run has ended, and nothing happened after that entry'),
    ...problems,
  },
};

/** `GET /v1/runs/{runId}/events`: server-sent events. */
export function eventRoute(api: Api, world: RouteWorld): void {
  const { store, streams, limits } = world;
  api.get(
    '/runs/:runId/events',
    { handlerTimeout: noTimeoutMs, schema: eventSchema },
    async (request, reply) => {
      const { params, query, token, headers } = request;
      const { run, summary } = await visibleRun(world, token, params.runId);
      await run.readable();
      const after = lastEventId(headers['last-event-id']) ?? query.after;
      const text = query.text !== 'false' && store !== undefined ? ({ text: true } as const) : {};
      const left = new AbortController();
      const leave = streams.enter(token.name);
      reply.raw.once('close', () => {
        left.abort();
        leave();
      });
      const isClosed = summary.closedAtMs !== undefined;
      if (isClosed && after !== undefined && (await isLast(run, after)))
        return reply.code(204).send(null);
      // A reader that takes nothing in has no activity, in spite of the heartbeats.
      request.raw.socket.setTimeout(4 * limits.heartbeatMs, () => {
        reply.raw.destroy();
      });
      const reading = { follow: true, signal: left.signal, ...text, ...defined({ after }) };
      const words = eventStream(run.watch(reading), {
        heartbeatMs: limits.heartbeatMs,
        draining: streams.draining,
        leave: () => {
          left.abort();
        },
        failed: (thrown) => {
          request.log.warn({ err: thrown, runId: run.runId }, 'an event stream broke');
        },
      });
      return reply
        .type('text/event-stream')
        .header('cache-control', 'no-store, no-transform')
        .header('x-accel-buffering', 'no')
        .send(Readable.from(words, { objectMode: false }) as unknown as string);
    },
  );
}

/** Whether nothing happened after this entry of a run that has ended. Errors: as `events`. */
async function isLast(run: RunHandle, after: string): Promise<boolean> {
  for await (const _entry of run.events({ after })) return false;
  return true;
}

/** Errors: 400 for what is no id of an entry. */
function lastEventId(given: string | string[] | undefined): string | undefined {
  if (given === undefined || given === '') return undefined;
  const id = entryId.safeParse(given);
  if (id.success) return id.data;
  throw new HttpProblem(
    400,
    'invalid-request',
    'Last-Event-ID is no id of an entry. Send the `id` of one that this run gave, such as 1.17.0, or none.',
  );
}

/** `GET /v1/runs/{runId}/timeline` and `/transcript`. */
export function storyRoutes(api: Api, world: RouteWorld): void {
  const tags = ['Runs'];
  api.get(
    '/runs/:runId/timeline',
    {
      schema: {
        tags,
        operationId: 'getTimeline',
        summary: 'What happened so far, page by page',
        params: runParams,
        querystring: timelineQuery,
        response: { 200: timelinePage, ...problems },
      },
    },
    async (request) => {
      const { params, query, token } = request;
      const { run } = await visibleRun(world, token, params.runId);
      const entries: RunEntry[] = [];
      const signal = callerLeft(request, world);
      for await (const entry of run.events(defined({ after: query.after, signal }))) {
        entries.push(entry);
        if (entries.length > query.limit) break;
      }
      const page = entries.slice(0, query.limit);
      const hasMore = entries.length > page.length;
      return { entries: page, ...defined({ next: hasMore ? page.at(-1)?.id : undefined }) };
    },
  );
  api.get(
    '/runs/:runId/transcript',
    {
      schema: {
        tags,
        operationId: 'getTranscript',
        summary: 'The messages of a run, without secrets, page by page',
        params: runParams,
        querystring: transcriptQuery,
        response: { 200: transcriptPage, ...problems },
      },
    },
    async ({ params, query, token }) => {
      const { run } = await visibleRun(world, token, params.runId);
      const store = storeOf(world, 'transcripts');
      const { head, storeId } = await run.transcriptHead(query.at);
      if (storeId !== store.id)
        throw new HttpProblem(
          409,
          'other-store',
          'The transcript of this run is in another store than that of this gateway. Ask a gateway that has the store of its workers.',
        );
      const all = await store.loadTranscript(head);
      const end = query.offset + query.limit;
      const messages = all.slice(query.offset, end).map(withoutSecrets);
      const next = end < all.length ? end : undefined;
      return { messages, total: all.length, ...defined({ next }) };
    },
  );
}

/** The same value, with what looks like a secret left out of each of its texts: a transcript has inputs as tools get them. */
function withoutSecrets<Value>(value: Value): Value {
  const text = JSON.stringify(value, (_key, each: unknown) =>
    typeof each === 'string' ? redactShown(each) : each,
  );
  return JSON.parse(text) as Value;
}
