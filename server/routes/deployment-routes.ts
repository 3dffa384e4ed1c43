/** What waits for people over all runs, and how the deployment is: providers, patterns, who calls. */
import type { RunSummary } from '../../client/list-runs';
import type { PendingItem } from '../../workflows/core/view/pending';
import { ClientError } from '../../client/client-error';
import { defined } from '../../workflows/core/json';
import { shortened } from '../../workflows/core/shortened';
import type { AccessToken } from '../http/access-tokens';
import { HttpProblem } from '../http/problem';
import { caller, inboxPage, pattern, patternList, providerList } from '../schema/answers';
import { inboxQuery, patternParams, patternsQuery } from '../schema/requests';
import type { Api, RouteWorld } from './gateway-routes';
import { problems, storeOf, tenantFor } from './gateway-routes';

/** A wait for a person, by the reason in a list; others end by themselves. With encryption no list has a reason. */
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
      const waiting = runs.filter(
        ({ reason }) => reason === undefined || personReason.test(reason),
      );
      const waits: Wait[] = [];
      for (let at = 0; at < waiting.length; at += askedAtOnce) {
        const asked = waiting.slice(at, at + askedAtOnce).map((run) => waitsOf(world, run));
        waits.push(...(await Promise.all(asked)).flat());
      }
      return { waits, ...defined({ next }) };
    },
  );
}

/** `GET /v1/providers` and `/v1/token`. */
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

/** Errors: 404 for a pattern that is not there, and for one of another tenant, alike. */
function knownPattern<Known extends { readonly tenant: string }>(
  { tenant }: AccessToken,
  id: string,
  found: Known | undefined,
): Known {
  if (found !== undefined && (tenant === undefined || found.tenant === tenant)) return found;
  throw new HttpProblem(
    404,
    'pattern-not-found',
    `There is no pattern ${JSON.stringify(shortened(id, 40))}. GET /v1/patterns lists the patterns.`,
  );
}

/** `GET /v1/patterns`, one of them, and its switch: what `holdfast patterns` does. */
export function patternRoutes(api: Api, world: RouteWorld): void {
  const tags = ['Deployment'];
  const store = () => storeOf(world, 'patterns');
  const ofOne = { tags, params: patternParams, response: { 200: pattern, ...problems } };
  api.get(
    '/patterns',
    {
      schema: {
        tags,
        operationId: 'listPatterns',
        summary: 'What runs have learned, oldest first',
        querystring: patternsQuery,
        response: { 200: patternList, ...problems },
      },
    },
    async ({ query, token }) => ({
      patterns: await store().patterns(tenantFor(token, query.tenant)),
    }),
  );
  api.get(
    '/patterns/:patternId',
    { schema: { ...ofOne, operationId: 'getPattern', summary: 'One pattern and its evidence' } },
    async ({ params: { patternId: id }, token }) =>
      knownPattern(token, id, await store().pattern(id)),
  );
  const switches = {
    disable: 'Never use a pattern again, whatever its evidence, until it is enabled',
    enable: 'Let its evidence decide about a pattern again',
  } as const;
  for (const how of ['disable', 'enable'] as const)
    api.post(
      `/patterns/:patternId/${how}`,
      { schema: { ...ofOne, operationId: `${how}Pattern`, summary: switches[how] } },
      async ({ params: { patternId: id }, token }) => {
        knownPattern(token, id, await store().pattern(id));
        return knownPattern(token, id, await store().switchPattern(id, how));
      },
    );
}
