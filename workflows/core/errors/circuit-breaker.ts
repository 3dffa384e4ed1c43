/** Opens when a run makes the same agent error again and again (R-BREAKER-1). Infra errors never enter. */
import { normalizeText } from './fingerprint';

/** Slots of the ring, fixed (R-BREAKER-1). */
export const ringSize = 5;

/** Newest last; at most `ringSize` entries, already normalized. */
export interface CircuitBreakerState {
  readonly ring: readonly string[];
}

/** An empty ring. */
export const initialCircuitBreaker: CircuitBreakerState = { ring: [] };

/**
 * Adds one agent error to the ring.
 *
 * Source: R-BREAKER-3: errors are normalized, so that a clock or an id in the text cannot defeat the breaker.
 */
export function trackError(state: CircuitBreakerState, message: string): CircuitBreakerState {
  return { ring: [...state.ring, normalizeText(message)].slice(-ringSize) };
}

/** How often the newest error came in a row; at most the size of the ring. */
export function timesInRow({ ring }: CircuitBreakerState): number {
  const newest = ring.at(-1);
  return ring.length - 1 - ring.findLastIndex((entry) => entry !== newest);
}

/** True when all slots are filled and identical. */
export function isTripped(state: CircuitBreakerState): boolean {
  const [first] = state.ring;
  return state.ring.length === ringSize && state.ring.every((entry) => entry === first);
}
