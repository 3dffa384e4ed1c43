/** Starts runs, lists them, and says where each is. */
import type { StartOptions } from '../../client/index';
import type { JsonObject } from '../../workflows/core/json';
import { defined } from '../../workflows/core/json';
import type { AccessToken } from '../http/access-tokens';
import { largeBody } from '../http/large-bodies';
import { HttpProblem } from '../http/problem';
import { explanation, outcome, runPage, runView, started, stillRunning } from '../schema/answers';
import type { RunOptions } from '../schema/requests';
import {
  forkBody,
  listQuery,
  resultQuery,
  runParams,
  startBody,
  startHeaders,
} from '../schema/requests';
import type { Api, RouteWorld } from './gateway-routes';
import { callerLeft, problems, tenantFor, visibleRun } from './gateway-routes';

/**
 * Options of a start, as far as the token may give them.
 *
 * Errors: 403 for what would reach beyond a tenant: the workers' files, and other workers.
 */
function optionsFor(
  token: AccessToken,
  { workspace, taskQueue, tenant, limits, context, ...rest }: RunOptions,
): Partial<StartOptions> {
  const reaching = Object.entries({ workspace, taskQueue }).find(
    ([, value]) => value !== undefined,
  );
  if (token.tenant !== undefined && reaching !== undefined)
    throw new HttpProblem(
      403,
      'forbidden',
      `The token "${token.name}" reaches one tenant, and ${reaching[0]} reaches beyond it. Leave it out.`,
    );
  return defined({
    ...rest,
    workspace,
    taskQueue,
    tenant: tenantFor(token, tenant),
    // JSON as it came; the client checks names and values.
    limits: limits,
    context: context as JsonObject | undefined,
  });
}

/** `POST /v1/runs`, and `POST /v1/runs/{runId}/fork`. */
export function startRoutes(api: Api, world: RouteWorld): void {
  const { client } = world;
  const schema = { tags: ['Runs'], headers: startHeaders };
  api.post(
    '/runs',
    {
      ...largeBody,
      schema: {
        ...schema,
        operationId: 'startRun',
        summary: 'Start a run; with an `Idempotency-Key` once, however often it is sent',
        body: startBody,
        response: { 201: started, ...problems },
      },
    },
    async ({ body, headers, token }, reply) => {
      const { agent, goal, continueFrom, ...options } = body;
      if (continueFrom !== undefined) await visibleRun(world, token, continueFrom);
      const { runId } = await client.start({
        ...optionsFor(token, options),
        agent,
        goal,
        ...defined({ continueFrom, idempotencyKey: headers['idempotency-key'] }),
      });
      return reply.code(201).header('location', locationOf(runId)).send({ runId });
    },
  );
  api.post(
    '/runs/:runId/fork',
    {
      ...largeBody,
      schema: {
        ...schema,
        operationId: 'forkRun',
        summary: 'Start a run whose transcript begins with that of this one after an iteration',
        params: runParams,
        body: forkBody,
        response: { 201: started, ...problems },
      },
    },
    async ({ body, headers, params, token }, reply) => {
      const { iteration, goal, message, ...options } = body;
      const { run, summary } = await visibleRun(world, token, params.runId);
      const { runId } = await client.fork(run.runId, iteration, {
        ...defined({ tenant: summary.tenant }),
        ...optionsFor(token, options),
        ...defined({ goal, message, idempotencyKey: headers['idempotency-key'] }),
      });
      return reply.code(201).header('location', locationOf(runId)).send({ runId });
    },
  );
}

function locationOf(runId: string): string {
  return `/v1/runs/${encodeURIComponent(runId)}`;
}

/** `GET /v1/runs` and `/v1/runs/{runId}`. */
export function lookRoutes(api: Api, world: RouteWorld): void {
  const { client } = world;
  const tags = ['Runs'];
  api.get(
    '/runs',
    {
      schema: {
        tags,
        operationId: 'listRuns',
        summary: 'Runs in progress, newest first, then those that ended last; page by page',
        querystring: listQuery,
        response: { 200: runPage, ...problems },
      },
    },
    ({ query, token }) =>
      client.page(defined({ ...query, tenant: tenantFor(token, query.tenant) })),
  );
  api.get(
    '/runs/:runId',
    {
      schema: {
        tags,
        operationId: 'getRun',
        summary: 'Where a run is, what it has cost, and what waits for a person',
        params: runParams,
        response: { 200: runView, ...problems },
      },
    },
    async ({ params, token }) => {
      const { run, summary } = await visibleRun(world, token, params.runId);
      const { status, pending } = await run.look();
      const { head: _head, storeId: _store, ...shown } = status;
      return { ...summary, ...shown, pending };
    },
  );
}

/** `GET /v1/runs/{runId}/result`. */
export function resultRoute(api: Api, world: RouteWorld): void {
  const { streams } = world;
  const tags = ['Runs'];
  api.get(
    '/runs/:runId/result',
    {
      handlerTimeout: 90_000,
      schema: {
        tags,
        operationId: 'getResult',
        summary: 'How a run ended, after waiting for it if asked to',
        params: runParams,
        querystring: resultQuery,
        response: { 200: outcome, 202: stillRunning, ...problems },
      },
    },
    async (request, reply) => {
      const { params, query, token } = request;
      const { run, summary } = await visibleRun(world, token, params.runId);
      const isOver = summary.closedAtMs !== undefined;
      const leave = isOver || query.waitMs === 0 ? undefined : streams.enter(token.name);
      try {
        const signal = callerLeft(request, world);
        const ended = await run.outcome({ timeoutMs: query.waitMs, signal });
        return await reply.code(200).send(ended);
      } catch (thrown) {
        if (!isStillRunning(thrown)) throw thrown;
        return await reply.code(202).send({ status: 'running' });
      } finally {
        leave?.();
      }
    },
  );
}

/** `GET /v1/runs/{runId}/why`. */
export function whyRoute(api: Api, world: RouteWorld): void {
  api.get(
    '/runs/:runId/why',
    {
      schema: {
        tags: ['Runs'],
        operationId: 'explainRun',
        summary: 'Why a run is where it is, and what to do now, from history alone',
        params: runParams,
        response: { 200: explanation, ...problems },
      },
    },
    async ({ params, token }) => {
      const { run } = await visibleRun(world, token, params.runId);
      return run.why();
    },
  );
}

function isStillRunning(thrown: unknown): boolean {
  return thrown instanceof Error && 'code' in thrown && thrown.code === 'still-running';
}
