/** What a run has cost, in a form for programs and in words. */
import { nanoUsdOf, usdText } from './spend';

/** What a run has cost, for its report, the queries and people. */
export interface RunCost {
  /** US dollars; absent if a model without a known price was called. */
  readonly usd?: number;
  /** US dollars of it that are an estimate: the vendor did not report what a broken call consumed. */
  readonly estimatedUsd?: number;
  /** Calls of models without a known price; `pricedUsd` is then what the others cost. */
  readonly unpricedCalls?: number;
  readonly pricedUsd?: number;
  readonly budgetUsd?: number;
  readonly budgetTokens?: number;
}

/** The cost in words: what was spent, of how much, and what of it is not certain. */
export function costText(cost: RunCost): string {
  const { usd, pricedUsd = 0, unpricedCalls, estimatedUsd, budgetUsd } = cost;
  const text = (amount: number): string => usdText(nanoUsdOf(amount));
  const spent =
    usd === undefined
      ? `unknown (${unpricedCalls ?? 0} calls without a known price${pricedUsd === 0 ? '' : `, the others ${text(pricedUsd)}`})`
      : text(usd);
  const of = budgetUsd === undefined ? '' : ` of ${text(budgetUsd)}`;
  return `${spent}${of}${estimatedUsd === undefined ? '' : `, ${text(estimatedUsd)} of it estimated`}`;
}
