/**
 * Budgets in money and tokens: reserved before each call, charged after, for a run and the runs below it (ADR 0020).
 * Whoever spends (model calls, summaries, recovery plans, subagents) uses `budgetStop`, `reserve` and `charge`, in this order.
 */
import type { InfraError } from '../failure';
import type { ModelPrice } from './model-price';
import { totalTokens, usdOf, usdText } from './model-price';
import type { CallModelResult } from '../model-call/ports';
import type { GuardStop } from '../guard/limits-reached';
import { forcedStopMessage } from '../guard/limits-reached';
import type { RunCost } from './cost';
import type { RunState } from '../run/state';
import type { Allowance, CallSpend } from './spend';
import { noSpend, spendOf } from './spend';
import { addUsage, noUsage } from './usage';

/** A run's ledger, the runs below it included. Tokens are counted in `RunState.usage`. */
export interface BudgetState {
  readonly spentNanoUsd: number;
  /** Of what was spent, what is an estimate. */
  readonly estimatedNanoUsd: number;
  readonly estimatedTokens: number;
  /** Calls that consumed tokens of a model without a known price. */
  readonly unpricedCalls: number;
  /** What is in flight may spend at most this, by call id. */
  readonly reserved: { readonly [callId: string]: Allowance };
}

/** Nothing is spent. */
export const initialBudget: BudgetState = {
  spentNanoUsd: 0,
  estimatedNanoUsd: 0,
  estimatedTokens: 0,
  unpricedCalls: 0,
  reserved: {},
};

/** What a limit leaves of it; undefined where there is no limit. */
function left(
  limit: number | undefined,
  spent: number,
  reserved: readonly number[],
): number | undefined {
  if (limit === undefined) return undefined;
  return limit - reserved.reduce((sum, amount) => sum + amount, spent);
}

/** What may still be reserved; an absent field has no limit, and what is left is never below zero. */
export function budgetLeft(state: RunState): Allowance {
  const limit = state.snapshot?.budget;
  const held = Object.values(state.budget.reserved);
  const nanoUsd = left(
    limit?.nanoUsd,
    state.budget.spentNanoUsd,
    held.map((each) => each.nanoUsd ?? 0),
  );
  const tokens = left(
    limit?.tokens,
    totalTokens(state.usage),
    held.map((each) => each.tokens ?? 0),
  );
  return {
    ...(nanoUsd === undefined ? {} : { nanoUsd: Math.max(nanoUsd, 0) }),
    ...(tokens === undefined ? {} : { tokens: Math.max(tokens, 0) }),
  };
}

/** Whether a budget has nothing left: checked before everything that spends. Returns why the run must end. */
export function budgetStop(state: RunState): GuardStop | undefined {
  const { nanoUsd, tokens } = budgetLeft(state);
  if ((nanoUsd ?? 1) > 0 && (tokens ?? 1) > 0) return undefined;
  return exhausted(state, `reached ${budgetText(state)}`);
}

/** The end of a run that cannot pay for its next call. */
export function exhausted(state: RunState, what: string): GuardStop {
  return {
    reason: 'guard_budget',
    message: forcedStopMessage(what, state.counters, state.activeMs),
  };
}

/** The budget and what is spent of it, in words. */
export function budgetText(state: RunState): string {
  const { nanoUsd, tokens } = state.snapshot?.budget ?? {};
  const { spentNanoUsd } = state.budget;
  const parts = [
    ...(nanoUsd === undefined ? [] : [`${usdText(nanoUsd)} (${usdText(spentNanoUsd)} spent)`]),
    ...(tokens === undefined ? [] : [`${tokens} tokens (${totalTokens(state.usage)} consumed)`]),
  ];
  return parts.length === 0 ? 'no budget' : `the budget of ${parts.join(' and ')}`;
}

/**
 * Holds `wanted` (default: everything that is left) for a call, before it is sent.
 *
 * Contract: `allowance` goes with the call, which must not spend more; `charge` of the same id releases it. Without a budget
 * nothing is held and there is no allowance.
 */
export function reserve(
  state: RunState,
  callId: string,
  wanted: Allowance = budgetLeft(state),
): { readonly state: RunState; readonly allowance?: Allowance } {
  const { nanoUsd, tokens } = budgetLeft(state);
  const allowance: Allowance = {
    ...lowest('nanoUsd', nanoUsd, wanted.nanoUsd),
    ...lowest('tokens', tokens, wanted.tokens),
  };
  if (allowance.nanoUsd === undefined && allowance.tokens === undefined) return { state };
  const reserved = { ...state.budget.reserved, [callId]: allowance };
  return { state: { ...state, budget: { ...state.budget, reserved } }, allowance };
}

function lowest<Field extends 'nanoUsd' | 'tokens'>(
  field: Field,
  one: number | undefined,
  other: number | undefined,
): { readonly [Key in Field]?: number } {
  if (one === undefined && other === undefined) return {};
  const value = Math.min(one ?? Infinity, other ?? Infinity);
  return { [field]: value } as { readonly [Key in Field]?: number };
}

/** Charges what a call consumed and releases what was held for it. */
export function charge(state: RunState, callId: string, spend: CallSpend): RunState {
  const { [callId]: _released, ...reserved } = state.budget.reserved;
  const { spentNanoUsd, estimatedNanoUsd, estimatedTokens, unpricedCalls } = state.budget;
  const { usage, nanoUsd, estimated } = spend;
  return {
    ...state,
    usage: addUsage(state.usage, usage),
    budget: {
      spentNanoUsd: spentNanoUsd + (nanoUsd ?? 0),
      estimatedNanoUsd: estimatedNanoUsd + (estimated?.nanoUsd ?? 0),
      estimatedTokens: estimatedTokens + (estimated?.tokens ?? 0),
      unpricedCalls: unpricedCalls + (nanoUsd === undefined ? 1 : 0),
      reserved,
    },
  };
}

/** Charges all that was held for a call of which nobody can say what it consumed: the safe reading. */
export function chargeReservation(state: RunState, callId: string): RunState {
  const held = state.budget.reserved[callId];
  if (held === undefined) return state;
  const { nanoUsd = 0, tokens = 0 } = held;
  return charge(state, callId, {
    usage: { ...noUsage, inputTokens: tokens },
    nanoUsd,
    estimated: { nanoUsd, tokens },
  });
}

/** Charges a call that was answered. */
export function chargeReply(
  state: RunState,
  callId: string,
  { spend, usage }: Pick<CallModelResult, 'spend' | 'usage'>,
  price: ModelPrice | undefined,
): RunState {
  return charge(state, callId, spend ?? spendOf(usage, price));
}

/** Charges a call that failed, for what its attempts consumed all the same. */
export function chargeFailure(state: RunState, callId: string, failure: InfraError): RunState {
  return failure.spendUnknown === true
    ? chargeReservation(state, callId)
    : charge(state, callId, failure.spend ?? noSpend);
}

/** The cost so far. */
export function costOf(state: RunState): RunCost {
  const { spentNanoUsd, estimatedNanoUsd, unpricedCalls } = state.budget;
  const { nanoUsd, tokens } = state.snapshot?.budget ?? {};
  const spent = usdOf(spentNanoUsd);
  return {
    ...(unpricedCalls === 0 ? { usd: spent } : { unpricedCalls, pricedUsd: spent }),
    ...(estimatedNanoUsd === 0 ? {} : { estimatedUsd: usdOf(estimatedNanoUsd) }),
    ...(nanoUsd === undefined ? {} : { budgetUsd: usdOf(nanoUsd) }),
    ...(tokens === undefined ? {} : { budgetTokens: tokens }),
  };
}
