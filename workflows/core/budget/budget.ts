/**
 * Budgets in money and tokens: reserved before each call, charged after it, for a run and its subagents (ADR 0020).
 * Everything that spends (model calls, summaries, recovery plans, subagents) uses `budgetStop`, `reserve`, and `charge`, in
 * this order.
 */
import type { InfraError } from '../failure';
import type { ActiveTimeSlice } from '../guard/state';
import { forcedStop, guardBeforeIteration } from '../guard/hard-limits';
import { defined } from '../json';
import type { CountersSlice } from '../run/account';
import type { Stop } from '../run/outcome';
import type { SnapshotSlice } from '../run/ports';
import type { Allowance, CallSpend, RunCost } from './spend';
import { addUsage, noSpend, noUsage, totalTokens, usdOf, usdText } from './spend';
import type { BudgetSlice } from './state';

/** What can still be reserved: never below zero; an absent field has no limit. */
export function budgetLeft(state: BudgetSlice & SnapshotSlice): Allowance {
  const { nanoUsd, tokens } = state.snapshot?.budget ?? {};
  const held = Object.values(state.budget.reserved);
  const left = (of: keyof Allowance, limit: number, spent: number): number =>
    Math.max(limit - held.reduce((sum, each) => sum + (each[of] ?? 0), spent), 0);
  return {
    ...(nanoUsd === undefined
      ? {}
      : { nanoUsd: left('nanoUsd', nanoUsd, state.budget.spentNanoUsd) }),
    ...(tokens === undefined ? {} : { tokens: left('tokens', tokens, totalTokens(state.usage)) }),
  };
}

type Stoppable = BudgetSlice & SnapshotSlice & CountersSlice & ActiveTimeSlice;

/** Why a run with an empty budget must end; undefined where something is left. Checked before everything that spends. */
export function budgetStop(state: Stoppable): Stop | undefined {
  const { nanoUsd, tokens } = budgetLeft(state);
  if ((nanoUsd ?? 1) > 0 && (tokens ?? 1) > 0) return undefined;
  return forcedStop(state, 'guard_budget', `reached ${budgetText(state)}`);
}

/** Why no further iteration may begin; undefined if one may: then what is asked or found before it can still be read. */
export function stopBeforeIteration(state: Stoppable): Stop | undefined {
  return guardBeforeIteration(state) ?? budgetStop(state);
}

/** The budget and what is spent of it, in words. */
export function budgetText(state: BudgetSlice & SnapshotSlice): string {
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
export function reserve<State extends BudgetSlice & SnapshotSlice>(
  state: State,
  callId: string,
  wanted: Allowance = budgetLeft(state),
): { readonly state: State; readonly allowance?: Allowance } {
  const { nanoUsd, tokens } = budgetLeft(state);
  const allowance: Allowance = defined({
    nanoUsd: lowest(nanoUsd, wanted.nanoUsd),
    tokens: lowest(tokens, wanted.tokens),
  });
  if (allowance.nanoUsd === undefined && allowance.tokens === undefined) return { state };
  const reserved = { ...state.budget.reserved, [callId]: allowance };
  return { state: { ...state, budget: { ...state.budget, reserved } }, allowance };
}

function lowest(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}

/** Charges what a call consumed and releases what was held for it. */
export function charge<State extends BudgetSlice>(
  state: State,
  callId: string,
  { usage, nanoUsd, estimated }: CallSpend,
): State {
  const { [callId]: _released, ...reserved } = state.budget.reserved;
  const { spentNanoUsd, estimatedNanoUsd, estimatedTokens, unpricedCalls } = state.budget;
  return {
    ...state,
    usage: addUsage(state.usage, usage),
    budget: {
      reserved,
      spentNanoUsd: spentNanoUsd + (nanoUsd ?? 0),
      estimatedNanoUsd: estimatedNanoUsd + (estimated?.nanoUsd ?? 0),
      estimatedTokens: estimatedTokens + (estimated?.tokens ?? 0),
      unpricedCalls: unpricedCalls + (nanoUsd === undefined ? 1 : 0),
    },
  };
}

/** Charges all that was held for a call whose consumption is unknown: the safe reading. */
export function chargeReservation<State extends BudgetSlice>(state: State, callId: string): State {
  const held = state.budget.reserved[callId];
  if (held === undefined) return state;
  const { nanoUsd = 0, tokens = 0 } = held;
  return charge(state, callId, {
    usage: { ...noUsage, inputTokens: tokens },
    nanoUsd,
    estimated: { nanoUsd, tokens },
  });
}

/** Charges a failed call for what its attempts consumed. */
export function chargeFailure<State extends BudgetSlice>(
  state: State,
  callId: string,
  failure: InfraError,
): State {
  return failure.spendUnknown === true
    ? chargeReservation(state, callId)
    : charge(state, callId, failure.spend ?? noSpend);
}

/** The cost so far. */
export function costOf(state: BudgetSlice & SnapshotSlice): RunCost {
  const { spentNanoUsd, estimatedNanoUsd, unpricedCalls } = state.budget;
  const { nanoUsd, tokens } = state.snapshot?.budget ?? {};
  const spent = usdOf(spentNanoUsd);
  return {
    ...(unpricedCalls === 0 ? { usd: spent } : { unpricedCalls, pricedUsd: spent }),
    ...defined({
      estimatedUsd: estimatedNanoUsd === 0 ? undefined : usdOf(estimatedNanoUsd),
      budgetUsd: nanoUsd === undefined ? undefined : usdOf(nanoUsd),
      budgetTokens: tokens,
    }),
  };
}
