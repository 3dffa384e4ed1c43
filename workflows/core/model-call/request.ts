/** Builds the request of a model call from what the run holds. */
import type { Said } from '../message';
import { charsOf } from '../attachments';
import type { Allowance } from '../budget/spend';
import type { Sized } from '../context/size';
import { countedNow, unusualBounds } from '../context/size';
import { isRecovering, routeName } from '../failover/provider-health';
import { isUnstructured, thoughtReplayOf } from '../failover/refused-dialect';
import type { FailoverSlice } from '../failover/state';
import { invariant } from '../invariant';
import { defined } from '../json';
import { textsPerCallChars } from '../limits';
import type { PeopleSlice } from '../people/state';
import type { CountersSlice } from '../run/account';
import type { RequestSlice } from '../run/ports';
import { prepared } from '../run/ports';
import { wholeNote } from './next-request';
import type { CallModelInput } from './ports';
import { idPrefixOf } from './sent-call';

type RequestState = Sized & CountersSlice & FailoverSlice & PeopleSlice & RequestSlice;

/** Activity id of the next model call: its iteration, and its number in it. */
export function nextCallId({ counters }: CountersSlice): string {
  const { iterations, callsThisIteration } = counters;
  return callsThisIteration === 0 ? `m${iterations}` : `m${iterations}.${callsThisIteration}`;
}

/** How many of the waiting texts one call can carry: at least one, if any. */
export function textsThatFit(inbox: readonly Said[]): number {
  let chars = 0;
  const tooMany = inbox.findIndex((text, index) => {
    chars += charsOf(text);
    return index > 0 && chars > textsPerCallChars;
  });
  return tooMany < 0 ? inbox.length : tooMany;
}

/** The input of a model call on this route. */
export function modelInput(
  state: RequestState,
  routeIndex: number,
  allowance: Allowance | undefined,
): CallModelInput {
  const { snapshot, head } = prepared(state);
  const route = snapshot.chain[routeIndex];
  invariant(route !== undefined, 'a decided route is in the chain');
  const { pendingResults, runtimeResults, maxOutputTokens } = state.next;
  const userTexts = state.inbox.slice(0, textsThatFit(state.inbox));
  const name = routeName(route);
  return {
    storeId: snapshot.storeId,
    definition: snapshot.definition,
    head,
    routeIndex,
    ...(isRecovering(state.health, name) ? { probe: true } : {}),
    iteration: state.counters.iterations,
    idPrefix: idPrefixOf(state.runKey),
    ...defined({
      run: snapshot.run,
      bounds: unusualBounds(state, route),
      pendingResults: pendingResults.length === 0 ? undefined : pendingResults,
      runtimeResults,
      note: wholeNote(state),
      maxOutputTokens,
      thoughts: thoughtReplayOf(state, name),
      unstructured: isUnstructured(state, name) ? (true as const) : undefined,
      counted: countedNow(state),
      tokenFactors: state.context.factors[name],
      userTexts: userTexts.length === 0 ? undefined : userTexts,
      allowance,
    }),
  };
}
