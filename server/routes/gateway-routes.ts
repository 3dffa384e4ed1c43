/** What every route of the gateway works with. */
import type {
  FastifyBaseLogger,
  FastifyInstance,
  FastifyRequest,
  RawReplyDefaultExpression,
  RawRequestDefaultExpression,
  RawServerDefault,
} from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import { ClientError } from '../../client/client-error';
import type { RunHandle } from '../../client/run-handle';
import type { RunSummary } from '../../client/list-runs';
import type { AccessToken } from '../http/access-tokens';
import { HttpProblem, problemSchema, runNotFound } from '../http/problem';
import type { GatewayLimits, GatewayOptions, GatewayStore } from '../ports';
import type { OpenStreams } from '../streams/open-streams';

/** The gateway with zod's schemas as types. */
export type Api = FastifyInstance<
  RawServerDefault,
  RawRequestDefaultExpression,
  RawReplyDefaultExpression,
  FastifyBaseLogger,
  ZodTypeProvider
>;

/** What the routes are given. */
export interface RouteWorld extends Pick<GatewayOptions, 'client' | 'store'> {
  readonly limits: GatewayLimits;
  readonly streams: OpenStreams;
}

/** Errors that any route may answer. */
export const problems = {
  '4XX': {
    description: 'What the caller can do something about',
    content: { 'application/problem+json': { schema: problemSchema } },
  },
  '5XX': {
    description: 'What the deployment must do something about',
    content: { 'application/problem+json': { schema: problemSchema } },
  },
} as const;

/** A run that the caller may see. */
export interface VisibleRun {
  readonly run: RunHandle;
  readonly summary: RunSummary;
}

/**
 * The run of this id, if the caller's token reaches it. Asks the server each time: no gateway remembers whose a run is.
 *
 * Errors: 404 for an unknown run, a workflow that is no run, and the run of another tenant, all alike.
 */
export async function visibleRun(
  { client }: Pick<RouteWorld, 'client'>,
  { tenant }: AccessToken,
  runId: string,
): Promise<VisibleRun> {
  try {
    const run = client.run(runId);
    const summary = await run.summary();
    if (tenant === undefined || summary.tenant === tenant) return { run, summary };
  } catch (thrown) {
    const isUnknown =
      thrown instanceof ClientError &&
      (thrown.code === 'run-not-found' || thrown.code === 'invalid-input');
    if (!isUnknown) throw thrown;
  }
  throw runNotFound(runId);
}

/**
 * The tenant whose data is read: the token's own, or the one that a token of all tenants names; undefined for all.
 *
 * Errors: 403 for another tenant than the token's.
 */
export function tenantFor(
  { name, tenant }: AccessToken,
  asked: string | undefined,
): string | undefined {
  if (tenant === undefined || asked === undefined || asked === tenant) return tenant ?? asked;
  throw new HttpProblem(
    403,
    'forbidden',
    `The token "${name}" reaches the tenant ${JSON.stringify(tenant)} alone. Leave tenant out.`,
  );
}

/** Who acts, as the run records it: never only what the caller claims. */
export function actorOf({ name }: AccessToken, by: string | undefined): { readonly by: string } {
  return { by: by === undefined || by.trim() === '' ? name : `${by} (${name})` };
}

/** Errors: 501 for a gateway without a store. */
export function storeOf({ store }: Pick<RouteWorld, 'store'>, what: string): GatewayStore {
  if (store !== undefined) return store;
  throw new HttpProblem(
    501,
    'no-store',
    `This gateway has no store, where ${what} are. Give it the store of the workers: HOLDFAST_STORE.`,
  );
}

/** Aborted when the caller hangs up or the gateway ends. */
export function callerLeft({ signal }: FastifyRequest, { streams }: RouteWorld): AbortSignal {
  return AbortSignal.any([signal, streams.draining]);
}
