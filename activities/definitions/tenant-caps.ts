/** Caps on what all runs of a tenant may use together. */
import { z } from 'zod';
import type { Allowance } from '../../workflows/core/budget/spend';
import { nanoUsdOf } from '../../workflows/core/budget/spend';
import { defined } from '../../workflows/core/json';
import { defaultTenant, tenantPattern } from '../../workflows/core/limits';
import { checkOptions } from '../lifecycle/check-options';
import { budgetShape } from './checks/check-budget';

/** What the runs of one tenant may use together; an absent field has no cap. */
interface TenantCaps {
  /** US dollars on one UTC day. */
  readonly usd?: number;
  /** Tokens of every class on one UTC day. */
  readonly tokens?: number;
  /** Runs in progress at the same time, those that wait included; subagents count with the run that started them. */
  readonly runs?: number;
}

/** The caps of each tenant by its name; `*` is for every tenant, and a tenant's own caps replace it field by field. */
export type TenantCapTable = Readonly<Record<string, TenantCaps>>;

/** Stands for every tenant. */
const everyTenant = '*';

/** Most runs in progress of a cap: all of them are in one record, which each start rewrites. */
const mostRuns = 1_000;

/** Checks a table of caps. */
export const tenantCapsShape = z
  .record(
    z.string(),
    z.strictObject({ ...budgetShape, runs: z.number().int().min(1).max(mostRuns).exactOptional() }),
  )
  .superRefine((caps, context) => {
    const faulty = Object.keys(caps).filter(
      (name) => name !== everyTenant && !tenantPattern.test(name),
    );
    for (const name of faulty)
      context.addIssue({
        code: 'custom',
        path: [name],
        message:
          'name a tenant (1 to 100 letters, digits, "_", "-", ".", "@" and ":"), or "*" for every tenant',
      });
  });

const remedy =
  'Give { usd } in US dollars a UTC day, { tokens } a UTC day, { runs } in progress at most 1,000, or several of them: { "*": { usd: 50 }, acme: { usd: 500, runs: 20 } }.';

/** Errors: `UserError` that names each fault and the remedy. */
export function checkTenantCaps(caps: TenantCapTable): TenantCapTable {
  return checkOptions('createActivities', 'tenantCaps', tenantCapsShape, caps, remedy);
}

/** A tenant, and what it may use. */
export interface CappedTenant {
  readonly tenant: string;
  /** On one UTC day; absent: no cap. */
  readonly daily?: Allowance;
  /** Runs in progress; absent: no cap. */
  readonly runs?: number;
}

/** The tenant of a run with its caps. */
export function cappedTenant(
  caps: TenantCapTable | undefined,
  tenant = defaultTenant,
): CappedTenant {
  const own = caps !== undefined && Object.hasOwn(caps, tenant) ? caps[tenant] : undefined;
  const { usd, tokens, runs } = { ...caps?.[everyTenant], ...own };
  const daily = defined({ nanoUsd: usd === undefined ? undefined : nanoUsdOf(usd), tokens });
  return {
    tenant,
    ...(Object.keys(daily).length === 0 ? {} : { daily }),
    ...defined({ runs }),
  };
}
