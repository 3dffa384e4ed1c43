/** What the core does when a vendor refuses the thoughts that a request sends back: the same route again, once, without or with them. */
import type { InfraError, ThoughtReplay } from '../failure';
import type { SnapshotSlice } from '../run/ports';
import { prepared } from '../run/ports';
import type { Move } from '../run/move';
import { goTo } from '../run/move';
import { routeName } from './provider-health';
import type { FailoverSlice } from './state';
import { noteFailover } from './state';

/** What a route has shown about the thoughts that go back to it; undefined if nothing. */
export function thoughtReplayOf(
  { thoughtReplay }: FailoverSlice,
  route: string,
): ThoughtReplay | undefined {
  return thoughtReplay?.[route];
}

/**
 * Asks the route again as its refusal demands, and remembers it for the rest of the run, so that no later request is refused for
 * the same reason. Undefined if the failure is none of this kind, or the route has been asked again before.
 *
 * Source: ADR 0046.
 */
export function onRefusedThoughts<State extends FailoverSlice & SnapshotSlice>(
  state: State,
  routeIndex: number,
  { code, thoughts }: InfraError,
): Move<State> | undefined {
  const route = prepared(state).snapshot.chain[routeIndex];
  if (route === undefined || thoughts === undefined) return undefined;
  const name = routeName(route);
  if (thoughtReplayOf(state, name) !== undefined) return undefined;
  const thoughtReplay = { ...state.thoughtReplay, [name]: thoughts };
  return goTo('call-model', { ...noteFailover(state, code), thoughtReplay });
}
