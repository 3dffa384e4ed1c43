/** What waits for people over all runs, and how the deployment is: providers, patterns, who calls. */
import type { RunSummary } from '../../client/list-runs';
import type { PendingItem } from '../../workflows/core/view/pending';
import { ClientError } from '../../client/client-error';
import { defined } from '../../workflows/core/json';
import { caller, inboxPage, patternList, providerList } from '../schema/answers';
import { inboxQuery, patternsQuery } from '../schema/requests';
import type { Api, RouteWorld } from './gateway-routes';
import { problems, storeOf, tenantFor } from './gateway-routes';

/** A wait for a person, by the reason in a list; others end by themselves. */
const personReason = /^(approval$|question$|person: )/;
/** Runs that are asked at a time. */
const askedAtOnce = 8;

interface Wait {
  readonly run: RunSummary;
  readonly item: PendingItem;
}

async function waitsOf({ client }: RouteWorld, run: RunSummary): Promise<readonly Wait[]> {
  try {
    return (await client.run(run.runId).pending()).map((item) => ({ run, item }));
  } catch (thrown) {
    // It has ended since it was listed.
    if (thrown instanceof ClientError && thrown.code === 'run-not-found') return [];
    throw thrown;
  }
}

/** `GET /v1/inbox`. */
export function inboxRoute(api: Api, world: RouteWorld): void {
  api.get(
    '/inbox',
    {
      handlerTimeout: 90_000,
      schema: {
        tags: ['Decide'],
        operationId: 'listInbox',
        summary: 'What waits for people in all runs, page by page; `limit` counts runs',
        querystring: inboxQuery,
        response: { 200: inboxPage, ...problems },
      },
    },
    async ({ query, token }) => {
      const { limit, cursor } = query;
      const tenant = tenantFor(token, query.tenant);
      const filter = { status: 'waiting', limit, ...defined({ tenant, cursor }) } as const;
      const { runs, next } = await world.client.page(filter);
      const waiting = runs.filter(({ reason = '' }) => personReason.test(reason));
      const waits: Wait[] = [];
      for (let at = 0; at < waiting.length; at += askedAtOnce) {
        const asked = waiting.slice(at, at + askedAtOnce).map((run) => waitsOf(world, run));
        waits.push(...(await Promise.all(asked)).flat());
      }
      return { waits, ...defined({ next }) };
    },
  );
}

/** `GET /v1/providers`, `/v1/patterns` and `/v1/token`. */
export function deploymentRoutes(api: Api, world: RouteWorld): void {
  const tags = ['Deployment'];
  api.get(
    '/providers',
    {
      schema: {
        tags,
        operationId: 'listProviders',
        summary: 'Health of every route that runs of this store have used',
        response: { 200: providerList, ...problems },
      },
    },
    async ({ token }) => {
      const found = await storeOf(world, 'the health records of providers').listHealth();
      const providers = found.map(({ lastError, ...health }) => ({
        ...health,
        // Other tenants' calls may have caused it.
        ...defined({ lastError: token.tenant === undefined ? lastError : undefined }),
      }));
      return { providers };
    },
  );
  api.get(
    '/patterns',
    {
      schema: {
        tags,
        operationId: 'listPatterns',
        summary: 'What runs have learned',
        querystring: patternsQuery,
        response: { 200: patternList, ...problems },
      },
    },
    async ({ query, token }) => {
      const found = await storeOf(world, 'patterns').patterns(tenantFor(token, query.tenant));
      return { patterns: found.map((pattern) => ({ ...pattern })) };
    },
  );
  api.get(
    '/token',
    {
      schema: {
        tags,
        operationId: 'getToken',
        summary: 'Who calls, and what the token may do',
        response: { 200: caller, ...problems },
      },
    },
    ({ token: { name, role, tenant } }) => ({ name, role, ...defined({ tenant }) }),
  );
}
