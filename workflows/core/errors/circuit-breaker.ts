/** Ends a run that makes the same agent error again and again (seed 000). Provider and infra errors never enter. */
import { normaliseText } from './fingerprint';

/** Slots of the ring (seed 000: fixed at 5). */
export const ringSize = 5;

/** Newest last; at most `ringSize` entries, already normalised. */
export interface CircuitBreakerState {
  readonly ring: readonly string[];
}

/** An empty ring. */
export const initialCircuitBreaker: CircuitBreakerState = { ring: [] };

/**
 * Adds one agent error to the ring.
 *
 * Source: seed 000 (ring of 5). Compared after normalisation, so that a clock or an id in the text cannot defeat it.
 */
export function trackError(state: CircuitBreakerState, message: string): CircuitBreakerState {
  return { ring: [...state.ring, normaliseText(message)].slice(-ringSize) };
}

/** Forgets every error: a tool call succeeded. */
export function resetErrors(): CircuitBreakerState {
  return initialCircuitBreaker;
}

/** True when all slots are filled and identical. */
export function isTripped(state: CircuitBreakerState): boolean {
  const [first] = state.ring;
  return state.ring.length === ringSize && state.ring.every((entry) => entry === first);
}
