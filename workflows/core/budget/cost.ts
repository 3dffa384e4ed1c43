/** What a run has cost, in a form for programs and in words. */
import { nanoUsdOf, usdText } from './spend';

/** What a run has cost, for its report, the queries and people. */
export interface RunCost {
  /** US dollars, as expected; absent if a model without a known price was called. */
  readonly usd?: number;
  /** US dollars of it that are an estimate: the vendor did not report what a broken call consumed. The rest is known. */
  readonly estimatedUsd?: number;
  /** The most that vendors may bill, in US dollars; as `estimatedUsd` only if there is an estimate. */
  readonly mostUsd?: number;
  /** The same two in tokens: of the report's `usage`, those that are an estimate, and the most that may be billed. */
  readonly estimatedTokens?: number;
  readonly mostTokens?: number;
  /** Calls whose cost is unknown: no price is known, or nobody can say what was sent. `pricedUsd` is then what the others cost. */
  readonly unpricedCalls?: number;
  readonly pricedUsd?: number;
  readonly budgetUsd?: number;
  readonly budgetTokens?: number;
}

/** The cost in words: what was spent, of how much, and what of it is not certain. */
export function costText(cost: RunCost): string {
  const { usd, pricedUsd = 0, unpricedCalls, estimatedUsd, mostUsd = 0, budgetUsd } = cost;
  const text = (amount: number): string => usdText(nanoUsdOf(amount));
  const spent =
    usd === undefined
      ? `unknown (${unpricedCalls ?? 0} calls of unknown cost${pricedUsd === 0 ? '' : `, the others ${text(pricedUsd)}`})`
      : text(usd);
  const of = budgetUsd === undefined ? '' : ` of ${text(budgetUsd)}`;
  return estimatedUsd === undefined
    ? `${spent}${of}`
    : `${spent}${of}, ${text(estimatedUsd)} of it estimated, at most ${text(mostUsd)}`;
}
