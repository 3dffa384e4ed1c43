/** Keeps the requests of a tenant's runs within what they may spend together on one day (ADR 0075). */
import { randomUUID } from 'node:crypto';
import { Context } from '@temporalio/activity';
import type { Allowance } from '../../workflows/core/budget/spend';
import { boundOf, usdText, worstRequestNanoUsd } from '../../workflows/core/budget/spend';
import type { CappedTenant } from '../definitions/tenant-caps';
import { InfraException } from '../lifecycle/infra-exception';
import { contentHash } from '../stores/content-hash';
import type { Store } from '../stores/store';
import type { TenantAmount, TenantDay, TenantRequest } from '../stores/tenants/tenant-usage';
import { heldOf, utcDay } from '../stores/tenants/tenant-usage';
import type { PaidRequest } from './allowance';
import { limitWithin, mostInputTokens } from './allowance';
import type { CallMeter } from './call-meter';

/** Who pays for a request. */
export interface Payer {
  readonly store: Pick<Store, 'tenants'>;
  readonly capped: CappedTenant;
  /** The clock that all workers share. */
  readonly clock: () => number;
  /** Milliseconds within which a request has ended. */
  readonly timeoutMs: number;
}

/** Milliseconds that a worker may take to report a request that has ended. */
const reportMs = 60_000;

/** Milliseconds until a call asks again that waits for other calls of its tenant, doubled each time up to the longest. */
const firstWaitMs = 1_000;
const longestWaitMs = 30_000;

/** What a request may do. */
interface Admission {
  /** What is held for it; absent: it is not sent. */
  readonly most?: TenantAmount;
  /** Its output limit. */
  readonly maxOutputTokens: number;
  /** Why it is not sent: what is left does not pay for it, or only once other requests have ended. */
  readonly refusal?: { readonly message: string; readonly waits: boolean };
}

/**
 * Whether a request fits into what is left of a tenant's day. What other requests hold is mostly freed when they end. So a request
 * gets a lower output limit, or is refused for the day, only when no other one is in flight.
 */
export function admission(request: PaidRequest, daily: Allowance, day: TenantDay): Admission {
  const held = heldOf(day);
  const left = (of: keyof Allowance): number | undefined => {
    const cap = daily[of];
    return cap === undefined ? undefined : cap - day.spent[of] - held[of];
  };
  const [nanoUsd, tokens] = [left('nanoUsd'), left('tokens')];
  const allowance = {
    ...(nanoUsd === undefined ? {} : { nanoUsd }),
    ...(tokens === undefined ? {} : { tokens }),
  };
  const { maxOutputTokens } = request;
  const limit = limitWithin(request, allowance);
  const waits = limit !== maxOutputTokens && Object.keys(day.held).length > 0;
  if (typeof limit === 'number' && !waits)
    return { maxOutputTokens: limit, most: mostOf(request, limit) };
  const message =
    typeof limit === 'string' ? limit : 'other calls of the tenant hold what this one may take';
  return { maxOutputTokens, refusal: { message, waits } };
}

/** The most that a request may use. */
function mostOf({ measure, price }: PaidRequest, maxOutputTokens: number): TenantAmount {
  const input = mostInputTokens(measure);
  const nanoUsd = price === undefined ? 0 : worstRequestNanoUsd(price, input, maxOutputTokens);
  return { nanoUsd, tokens: input + maxOutputTokens };
}

function capText({ nanoUsd, tokens }: Allowance): string {
  const parts = [
    ...(nanoUsd === undefined ? [] : [usdText(nanoUsd)]),
    ...(tokens === undefined ? [] : [`${tokens} tokens`]),
  ];
  return parts.join(' and ');
}

/** Names the activity: stable over its attempts. */
function callOf(): string {
  const { namespace, workflowExecution, activityId } = Context.current().info;
  const { workflowId = '', runId = '' } = workflowExecution ?? {};
  return contentHash([namespace, workflowId, runId, activityId].join('\n'));
}

/** Errors: `tenant_cap`; with `retryAfterMs`, Temporal tries again. */
function refused(
  { capped: { tenant, daily = {} } }: Payer,
  { day }: TenantRequest,
  { message, waits }: Required<Admission>['refusal'],
): never {
  const code = 'tenant_cap';
  const cap = `the cap of tenant "${tenant}" for ${day} (UTC) is ${capText(daily)}`;
  const remedy = 'Go on after midnight UTC, or raise the cap (tenantCaps)';
  const doubled = firstWaitMs * 2 ** (Context.current().info.attempt - 1);
  throw new InfraException({
    code,
    message: `${message}; ${cap}. ${remedy}`,
    ...(waits ? { retryAfterMs: Math.min(doubled, longestWaitMs) } : {}),
  });
}

/**
 * Sends a request within the caps of its tenant: the most that it may use is held before, and what it has used is counted after,
 * however it ends. A worker that is killed meanwhile leaves the hold, which then counts in full.
 *
 * Contract: `send` meters exactly one request.
 * Errors: those of `send`; `InfraException` with `tenant_cap`, and nothing was sent then. With `retryAfterMs`, Temporal tries again.
 */
export async function withinTenantCaps<Result>(
  payer: Payer,
  meter: CallMeter,
  request: PaidRequest,
  send: (request: PaidRequest) => Promise<Result>,
): Promise<Result> {
  const { store, capped, clock, timeoutMs } = payer;
  const { tenant, daily } = capped;
  if (daily === undefined) return send(request);
  // Lost attempts have holds of their own.
  meter.chargeLost(request);
  const atMs = clock();
  const untilMs = atMs + timeoutMs + reportMs;
  const held = { tenant, day: utcDay(atMs), call: callOf(), id: randomUUID(), untilMs };
  const admitted = await store.tenants.hold(held, atMs, (day) => admission(request, daily, day));
  if (admitted.refusal !== undefined) refused(payer, held, admitted.refusal);
  const before = boundOf(meter.spend);
  try {
    return await send({ ...request, maxOutputTokens: admitted.maxOutputTokens });
  } finally {
    const after = boundOf(meter.spend);
    await settle(payer, held, {
      nanoUsd: after.nanoUsd - before.nanoUsd,
      tokens: after.tokens - before.tokens,
    });
  }
}

/** A store that is down keeps the hold, which counts in full: the reply is worth more than the difference. */
async function settle({ store }: Payer, held: TenantRequest, used: TenantAmount): Promise<void> {
  try {
    await store.tenants.settle(held, used);
  } catch (thrown) {
    if (thrown instanceof InfraException && thrown.failure.code === 'store_unavailable') return;
    throw thrown;
  }
}
