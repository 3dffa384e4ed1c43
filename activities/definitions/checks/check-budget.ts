/** Checks budgets that people give, before anything is spent, and turns them into what a run may spend. */
import { z } from 'zod';
import type { Allowance, Budget } from '../../../workflows/core/budget/spend';
import { nanoUsdOf } from '../../../workflows/core/budget/spend';
import type { RouteConfig } from '../../../workflows/core/failover/state';
import { routeName } from '../../../workflows/core/failover/provider-health';
import { defined } from '../../../workflows/core/json';
import { checkOptions } from '../../lifecycle/check-options';
import { UserError } from '../../lifecycle/user-error';

/** Largest budget in US dollars; in nanodollars it is still an exact integer. */
const maxUsd = 1_000_000;

/** Fields of a budget. */
export const budgetShape = {
  usd: z.number().min(0.000_001).max(maxUsd).exactOptional(),
  tokens: z.number().int().min(1).max(1_000_000_000_000).exactOptional(),
};
const budgetSchema = z.strictObject(budgetShape);

/**
 * Returns a valid budget.
 *
 * Errors: `UserError` that names who set it, the field, the problem and the remedy.
 */
export function checkBudget(where: string, budget: Budget): Budget {
  const remedy = 'Give { usd } in US dollars, { tokens } as a whole number, or both.';
  return checkOptions(where, 'budget', budgetSchema, budget, remedy);
}

/**
 * Refuses a budget in money if a model of the chain has no known price.
 *
 * Errors: `UserError` that names the routes and what to set.
 */
export function checkPriced(
  where: string,
  budget: Budget | undefined,
  chain: readonly RouteConfig[],
): void {
  if (budget?.usd === undefined) return;
  const unpriced = chain.filter((route) => route.price === undefined).map(routeName);
  if (unpriced.length > 0)
    throw new UserError(
      `${where}: a budget in US dollars (budget.usd is ${budget.usd}) needs the price of every model, and that of ${unpriced.join(', ')} is not known. Set prices on the route or in createActivities({ prices }), or give the budget in tokens.`,
    );
}

/** What a run may spend: its own budget, within its share of the parent run's. */
export function allowanceOf(
  budget: Budget | undefined,
  share: Allowance | undefined,
): Allowance | undefined {
  const nanoUsd = least(
    budget?.usd === undefined ? undefined : nanoUsdOf(budget.usd),
    share?.nanoUsd,
  );
  const tokens = least(budget?.tokens, share?.tokens);
  return nanoUsd === undefined && tokens === undefined ? undefined : defined({ nanoUsd, tokens });
}

function least(one: number | undefined, other: number | undefined): number | undefined {
  if (one === undefined || other === undefined) return one ?? other;
  return Math.min(one, other);
}
