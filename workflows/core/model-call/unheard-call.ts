/** What a model call probably consumed that was not heard from again: it was cancelled between two attempts, or sent no heartbeat. */
import { chargeFailure } from '../budget/budget';
import type { CallSpend } from '../budget/spend';
import { estimatedSpend, fixedMargin, noUsage, worstRequestNanoUsd } from '../budget/spend';
import type { BudgetSlice } from '../budget/state';
import type { Sized } from '../context/size';
import { probableTokens } from '../context/size';
import { routeName } from '../failover/provider-health';
import type { InfraError } from '../failure';
import type { PeopleSlice } from '../people/state';
import type { CountersSlice } from '../run/account';
import { uncountModelCall } from '../run/account';

type Calling = BudgetSlice & CountersSlice & Sized & Pick<PeopleSlice, 'inbox'>;

/** Factor from the core's guess of a request's tokens to the most that they may be: the guess counts characters. */
const guessMargin = 2;

/** Expects the input of one request; at most, all requests that a call may send on its route, each with a whole reply. */
function probableSpend(state: Calling, routeIndex: number): CallSpend | undefined {
  const { chain, firstTokens, limits } = state.snapshot ?? {};
  const route = chain?.[routeIndex];
  if (route === undefined || limits === undefined) return undefined;
  const inputTokens = probableTokens(state, routeName(route)) ?? firstTokens;
  if (inputTokens === undefined) return undefined;
  const { price, maxOutputTokens } = route;
  const most = inputTokens * guessMargin + fixedMargin;
  const requests = limits.streamRetries + 1;
  const worst = price === undefined ? 0 : worstRequestNanoUsd(price, most, maxOutputTokens);
  return estimatedSpend(price, {
    expected: { ...noUsage, inputTokens },
    known: noUsage,
    most: { nanoUsd: requests * worst, tokens: requests * (most + maxOutputTokens) },
  });
}

/** Codes of calls that nobody could pay for. */
const unpaid: readonly InfraError['code'][] = ['budget_exhausted', 'tenant_cap'];

/** Whether no request of the call was sent: another run found the route failing, or nothing useful could be paid for. */
function wasNotSent({ spared, code, spend }: InfraError): boolean {
  return spend === undefined && (spared === true || unpaid.includes(code));
}

/** Charges a failed model call: what it consumed, or what it probably consumed if nobody knows all of it. */
export function chargeFailedCall<State extends Calling>(
  state: State,
  callId: string,
  routeIndex: number,
  failure: InfraError,
): State {
  const charged = chargeFailure(state, callId, failure, probableSpend(state, routeIndex));
  return wasNotSent(failure) ? uncountModelCall(charged) : charged;
}
