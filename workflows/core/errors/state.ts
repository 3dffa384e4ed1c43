/** The slice of a run's agent errors: the circuit breaker's ring, what is open, and what was healed. */
import type { CircuitBreakerState } from './circuit-breaker';
import { initialCircuitBreaker } from './circuit-breaker';

/** The slice that the errors room owns. */
export interface ErrorsSlice {
  readonly breaker: CircuitBreakerState;
  /** Agent error codes since the last success, newest last; the next success heals them. */
  readonly unhealed: readonly string[];
  /** How often each code was healed. */
  readonly healed: { readonly [code: string]: number };
}

/** No errors yet. */
export const initialErrors: ErrorsSlice = {
  breaker: initialCircuitBreaker,
  unhealed: [],
  healed: {},
};

/** Counts codes as healed. */
export function countHealed<State extends ErrorsSlice>(
  state: State,
  codes: readonly string[],
): State {
  const healed = { ...state.healed };
  for (const code of codes) healed[code] = (healed[code] ?? 0) + 1;
  return { ...state, healed };
}
