/** The slice of money and tokens that a run has spent and holds back. */
import type { Allowance, EstimatedSpend, Usage } from './spend';
import { noUsage } from './spend';

/** A run's ledger, its subagents included. */
interface BudgetState {
  readonly spentNanoUsd: number;
  /** The estimated part of the spending, and its upper bound; absent if there is none. */
  readonly estimated?: EstimatedSpend;
  /** Calls that consumed tokens of a model without a known price. */
  readonly unpricedCalls: number;
  /** The most that each call in flight may spend, by call id. */
  readonly reserved: { readonly [callId: string]: Allowance };
}

/** The slice that the budget owns. */
export interface BudgetSlice {
  readonly budget: BudgetState;
  readonly usage: Usage;
}

/** Nothing is spent. */
export const initialBudget: BudgetSlice = {
  budget: {
    spentNanoUsd: 0,
    unpricedCalls: 0,
    reserved: {},
  },
  usage: noUsage,
};
