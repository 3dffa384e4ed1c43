/** What the core does when a vendor refuses a request as too long: corrects what it thought, asks for less, or compacts. */
import { compactionOf, contextBounds } from './state';
import type { ContextMeasure } from './measure';
import { scaledMeasure } from './measure';
import { withContext } from './gate';
import type { ContextOverflow, InfraError } from '../failure';
import { issueModelCall } from '../run/loop';
import type { RouteConfig } from '../model-call/ports';
import { routeName } from '../failover/provider-health';
import { endFailed } from '../run/end';
import type { RunState } from '../run/state';
import type { Step } from '../run/step';

/** Share to which a limit shrinks where the vendor refuses without naming it (ADR 0024). */
const correctionShare = 0.9;

/**
 * Answers a refusal as too long.
 *
 * Contract: never the same bytes again: a smaller reply limit where the vendor's own numbers say that it suffices, else a
 * smaller conversation, else a larger window, else a readable end. Bounded by `maxCompactions` refusals without a reply.
 * Source: issue CONTEXT, Never loops; case context_overflow-01.
 */
export function onContextOverflow(
  state: RunState,
  routeIndex: number,
  failure: InfraError,
  atMs: number,
): Step {
  const route = state.snapshot?.chain[routeIndex];
  const overflows = state.context.overflows + 1;
  if (route === undefined || overflows > compactionOf(state).maxCompactions)
    return endFailed(state, atMs, 'context_overflow', `System error: ${failure.message}`, failure);
  const wanted = state.next.maxOutputTokens ?? route.maxOutputTokens;
  const told = withInput(failure.overflow ?? {}, wanted);
  const corrected = correct(
    withContext(
      { ...state, failedOver: [...state.failedOver, 'context_overflow'].slice(-8) },
      { overflows },
    ),
    route,
    { told, wanted, status: failure.status },
  );
  const room = outputRoom(corrected, route, told, wanted);
  if (room !== undefined)
    return issueModelCall(
      { ...corrected, next: { ...corrected.next, maxOutputTokens: room } },
      atMs,
    );
  const due = measureOf(told);
  return issueModelCall(withContext(corrected, { due, refused: true }), atMs);
}

/** A vendor that tells only the sum tells the input too. */
function withInput(told: ContextOverflow, wanted: number): ContextOverflow {
  const { inputTokens, totalTokens = 0 } = told;
  const rest = totalTokens - wanted;
  return inputTokens === undefined && rest > 0 ? { ...told, inputTokens: rest } : told;
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
  readonly told: ContextOverflow;
  readonly wanted: number;
  readonly status: number | undefined;
}

/** A refused size is a fact: the window, or the bytes that a request may have, are smaller than thought. */
function correct(state: RunState, route: RouteConfig, refusal: Refusal): RunState {
  const { context } = state;
  const name = routeName(route);
  const { told, wanted, status } = refusal;
  const { measure, windowTokens, inputTokens } = told;
  const isBytes = status === 413 && windowTokens === undefined;
  if (isBytes && measure !== undefined) {
    const maxBytes = Math.floor(measure.bytes * correctionShare);
    return withContext(state, { maxBytes: { ...context.maxBytes, [name]: maxBytes } });
  }
  const thought = contextBounds(state, route).windowTokens;
  const refused = (inputTokens ?? measure?.tokens ?? thought) + wanted;
  const window = windowTokens ?? Math.floor(Math.min(thought, refused) * correctionShare);
  return withContext(state, {
    windows: { ...context.windows, [name]: Math.max(1, Math.min(thought, window)) },
  });
}

/**
 * Tokens that a reply may have so that the same conversation fits, by the vendor's own numbers; undefined where they are not
 * known, leave less than the least reserve, or would ask for as much as was refused.
 */
function outputRoom(
  state: RunState,
  route: RouteConfig,
  { inputTokens, windowTokens, outputTokens }: ContextOverflow,
  wanted: number,
): number | undefined {
  if (inputTokens === undefined || windowTokens === undefined) return undefined;
  const bounds = contextBounds(state, route, 'least');
  // What the adapter adds to the limit that was asked for, such as a budget to think.
  const added = Math.max(0, (outputTokens ?? wanted) - wanted);
  const room = windowTokens - inputTokens - added;
  const isEnough = room >= bounds.reserveTokens && room < wanted;
  return isEnough ? room : undefined;
}
