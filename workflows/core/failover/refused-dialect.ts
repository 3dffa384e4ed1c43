/**
 * What the core does when a vendor refuses how a request is written: the thoughts that it sends back, or the enforced form of a reply.
 * The same route is asked again, once, as the refusal demands.
 */
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

/** Whether a route has refused to enforce the form of a reply. */
export function isUnstructured({ unstructured = [] }: FailoverSlice, route: string): boolean {
  return unstructured.includes(route);
}

/** The state that knows what the refusal shows; undefined if it shows nothing, or nothing new. */
function learned<State extends FailoverSlice>(
  state: State,
  route: string,
  { thoughts, structure }: InfraError,
): State | undefined {
  if (thoughts !== undefined && thoughtReplayOf(state, route) === undefined)
    return { ...state, thoughtReplay: { ...state.thoughtReplay, [route]: thoughts } };
  if (structure !== undefined && !isUnstructured(state, route))
    return { ...state, unstructured: [...(state.unstructured ?? []), route] };
  return undefined;
}

/**
 * Asks the route again as its refusal demands, and remembers it for the rest of the run, so that no later request is refused for
 * the same reason. Undefined if the failure is none of this kind, or the route has been asked again for this reason before.
 *
 * Source: ADR 0046, ADR 0057.
 */
export function onRefusedDialect<State extends FailoverSlice & SnapshotSlice>(
  state: State,
  routeIndex: number,
  failure: InfraError,
): Move<State> | undefined {
  const route = prepared(state).snapshot.chain[routeIndex];
  const wiser = route && learned(state, routeName(route), failure);
  return wiser && goTo('call-model', noteFailover(wiser, failure.code));
}
