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
import type { Allowance, CallSpend, EstimatedSpend, RunCost } from './spend';
import { addSpend, boundOf, noSpend, noUsage, totalTokens, usdOf, usdText } from './spend';
import type { BudgetSlice } from './state';

/** All that was spent so far. */
function ledgerOf({ budget, usage }: BudgetSlice): CallSpend & { readonly nanoUsd: number } {
  const { spentNanoUsd, estimated } = budget;
  return { usage, nanoUsd: spentNanoUsd, ...defined({ estimated }) };
}

/**
 * What can still be reserved: never below zero; an absent field has no limit.
 *
 * Contract: what was spent counts at its upper bound, so a run stays within its budget whatever vendors bill.
 */
export function budgetLeft(state: BudgetSlice & SnapshotSlice): Allowance {
  const { nanoUsd, tokens } = state.snapshot?.budget ?? {};
  const held = Object.values(state.budget.reserved);
  const spent = boundOf(ledgerOf(state));
  const left = (of: keyof Allowance, limit: number): number =>
    Math.max(limit - held.reduce((sum, each) => sum + (each[of] ?? 0), spent[of]), 0);
  return {
    ...(nanoUsd === undefined ? {} : { nanoUsd: left('nanoUsd', nanoUsd) }),
    ...(tokens === undefined ? {} : { tokens: left('tokens', tokens) }),
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
  const spent = ledgerOf(state);
  const bound = boundOf(spent);
  const used = totalTokens(spent.usage);
  const atMost = (isMore: boolean, text: string): string => (isMore ? `, at most ${text}` : '');
  const most = atMost(bound.nanoUsd > spent.nanoUsd, usdText(bound.nanoUsd));
  const mostTokens = atMost(bound.tokens > used, `${bound.tokens}`);
  const parts = [
    ...(nanoUsd === undefined
      ? []
      : [`${usdText(nanoUsd)} (${usdText(spent.nanoUsd)} spent${most})`]),
    ...(tokens === undefined ? [] : [`${tokens} tokens (${used} consumed${mostTokens})`]),
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
  spend: CallSpend,
): State {
  const { [callId]: _released, ...reserved } = state.budget.reserved;
  const priced = { ...spend, nanoUsd: spend.nanoUsd ?? 0 };
  const { usage, nanoUsd: spentNanoUsd = 0, estimated } = addSpend(ledgerOf(state), priced);
  const unpricedCalls = state.budget.unpricedCalls + (spend.nanoUsd === undefined ? 1 : 0);
  const budget = { reserved, spentNanoUsd, unpricedCalls, ...defined({ estimated }) };
  return { ...state, usage, budget };
}

/** If nothing is known: no expectation, and no bound but what was held. */
const noGuess: EstimatedSpend = {
  nanoUsd: 0,
  tokens: 0,
  mostNanoUsd: Infinity,
  mostTokens: Infinity,
};

/** The lower of a bound and what `spent` leaves of what was held; 0 if neither exists. */
function mostLeft(held: number | undefined, spent: number, most: number): number {
  const lower = Math.min(Math.max((held ?? Infinity) - spent, 0), most);
  return Number.isFinite(lower) ? lower : 0;
}

/**
 * Charges a call whose full consumption nobody knows: what is known, what it `probably` consumed, and at most all that was held
 * for it. If neither a guess nor a budget bounds it, its cost counts as unknown.
 */
export function chargeUnknown<State extends BudgetSlice>(
  state: State,
  callId: string,
  known: CallSpend = noSpend,
  probably?: CallSpend,
): State {
  const held = state.budget.reserved[callId];
  if (held === undefined && probably === undefined)
    return charge(charge(state, callId, known), callId, { usage: noUsage });
  const bound = boundOf(known);
  const guess = probably?.estimated ?? noGuess;
  const { nanoUsd, tokens } = guess;
  const mostNanoUsd = mostLeft(held?.nanoUsd, bound.nanoUsd, guess.mostNanoUsd);
  const mostTokens = mostLeft(held?.tokens, bound.tokens, guess.mostTokens);
  const estimated = {
    nanoUsd,
    tokens,
    mostNanoUsd: Math.max(mostNanoUsd, nanoUsd),
    mostTokens: Math.max(mostTokens, tokens),
  };
  return charge(state, callId, addSpend(known, { ...(probably ?? noSpend), estimated }));
}

/** Charges a failed call for what its attempts consumed, or `probably` consumed if nobody knows all of it. */
export function chargeFailure<State extends BudgetSlice>(
  state: State,
  callId: string,
  failure: InfraError,
  probably?: CallSpend,
): State {
  return failure.spendUnknown === true
    ? chargeUnknown(state, callId, failure.spend, probably)
    : charge(state, callId, failure.spend ?? noSpend);
}

/** The cost so far. */
export function costOf(state: BudgetSlice & SnapshotSlice): RunCost {
  const { spentNanoUsd, estimated, unpricedCalls } = state.budget;
  const { nanoUsd, tokens } = state.snapshot?.budget ?? {};
  const spent = usdOf(spentNanoUsd);
  const bound = boundOf(ledgerOf(state));
  const isEstimated =
    estimated !== undefined && (estimated.mostTokens > 0 || estimated.mostNanoUsd > 0);
  return {
    ...(unpricedCalls === 0 ? { usd: spent } : { unpricedCalls, pricedUsd: spent }),
    ...(isEstimated
      ? {
          estimatedUsd: usdOf(estimated.nanoUsd),
          mostUsd: usdOf(bound.nanoUsd),
          estimatedTokens: estimated.tokens,
          mostTokens: bound.tokens,
        }
      : {}),
    ...defined({
      budgetUsd: nanoUsd === undefined ? undefined : usdOf(nanoUsd),
      budgetTokens: tokens,
    }),
  };
}
