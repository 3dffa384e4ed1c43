/** What the core does when a vendor refuses a request as too long: corrects its bounds, asks for less, or compacts. */
import { noteFailover } from '../failover/state';
import type { FailoverSlice, RouteConfig } from '../failover/state';
import type { FailingState } from '../failover/provider-failure';
import { failInfra } from '../failover/provider-failure';
import { routeName } from '../failover/provider-health';
import type { ContextOverflow, InfraError } from '../failure';
import type { Move } from '../run/move';
import { goTo } from '../run/move';
import type { ContextMeasure } from './measure';
import { scaledMeasure } from './measure';
import type { Sized } from './size';
import { compactionOf, contextBounds, withContext } from './size';

/** Share to which a limit shrinks where the vendor refuses without naming it (ADR 0024). */
const correctionShare = 0.9;

/**
 * Takes a refusal as too long.
 *
 * Contract: never sends the same bytes again: a smaller reply limit where the vendor's own numbers show that it suffices, else a
 * smaller conversation, else a larger window, else a readable end. At most `maxCompactions` refusals without a reply.
 * Source: R-CTX-7, R-CTX-9.
 */
export function onContextOverflow<State extends Sized & FailoverSlice & FailingState>(
  before: State,
  routeIndex: number,
  failure: InfraError,
): Move<State> {
  const route = before.snapshot?.chain[routeIndex];
  const overflows = before.context.overflows + 1;
  if (route === undefined || overflows > compactionOf(before).maxCompactions)
    return failInfra(before, failure);
  const wanted = before.next.maxOutputTokens ?? route.maxOutputTokens;
  const reported = withInput(failure.overflow ?? {}, wanted);
  const state = withContext(noteFailover(before, 'context_overflow'), { overflows });
  const corrected = correct(state, route, { reported, wanted, status: failure.status });
  const maxOutputTokens = outputRoom(corrected, route, reported, wanted);
  if (maxOutputTokens !== undefined)
    return goTo('call-model', { ...corrected, next: { ...corrected.next, maxOutputTokens } });
  return goTo('call-model', withContext(corrected, { due: measureOf(reported), refused: true }));
}

/** A vendor that reports only the sum reports the input too. */
function withInput(reported: ContextOverflow, wanted: number): ContextOverflow {
  const { inputTokens, totalTokens = 0 } = reported;
  const rest = totalTokens - wanted;
  return inputTokens === undefined && rest > 0 ? { ...reported, inputTokens: rest } : reported;
}

/** The request as the vendor counted it, else as it was measured. */
function measureOf({ measure, inputTokens }: ContextOverflow): ContextMeasure {
  const known = measure ?? {
    tokens: inputTokens ?? 0,
    fixedTokens: 0,
    tailTokens: 0,
    strippableTokens: 0,
    messages: 0,
    bytes: 0,
    images: 0,
  };
  return inputTokens === undefined ? known : scaledMeasure(known, inputTokens);
}

interface Refusal {
  readonly reported: ContextOverflow;
  readonly wanted: number;
  readonly status: number | undefined;
}

/** A refused size is a fact: the window, or the bytes that a request may have, are smaller than assumed. */
function correct<State extends Sized>(state: State, route: RouteConfig, refusal: Refusal): State {
  const { context } = state;
  const name = routeName(route);
  const { reported, wanted, status } = refusal;
  const { measure, windowTokens, inputTokens } = reported;
  const isBytes = status === 413 && windowTokens === undefined;
  if (isBytes && measure !== undefined) {
    const maxBytes = Math.floor(measure.bytes * correctionShare);
    return withContext(state, { maxBytes: { ...context.maxBytes, [name]: maxBytes } });
  }
  const assumed = contextBounds(state, route).windowTokens;
  const refused = (inputTokens ?? measure?.tokens ?? assumed) + wanted;
  const window = windowTokens ?? Math.floor(Math.min(assumed, refused) * correctionShare);
  return withContext(state, {
    windows: { ...context.windows, [name]: Math.max(1, Math.min(assumed, window)) },
  });
}

/**
 * Tokens that a reply may have so that the same conversation fits, by the vendor's own numbers; undefined if they are not
 * known, leave less than the least reserve, or would ask for as much as was refused.
 */
function outputRoom(
  state: Sized,
  route: RouteConfig,
  { inputTokens, windowTokens, outputTokens }: ContextOverflow,
  wanted: number,
): number | undefined {
  if (inputTokens === undefined || windowTokens === undefined) return undefined;
  const bounds = contextBounds(state, route, 'least');
  // What the adapter adds to the requested limit, such as a budget for reasoning.
  const added = Math.max(0, (outputTokens ?? wanted) - wanted);
  const room = windowTokens - inputTokens - added;
  const isEnough = room >= bounds.reserveTokens && room < wanted;
  return isEnough ? room : undefined;
}
