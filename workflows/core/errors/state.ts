/** The slice of a run's agent errors: the circuit breaker's ring, what is open, and what was healed. */
import type { AgentErrorCode, HealedBy } from '../failure';
import type { CircuitBreakerState } from './circuit-breaker';
import { initialCircuitBreaker } from './circuit-breaker';

/** An error that the model can correct and that is not over. */
export interface OpenTrouble {
  readonly code: AgentErrorCode;
  /** Absent for a mistake in a reply as a whole. */
  readonly tool?: string;
  /** Identity of the canonical input of the newest call; absent where it could not be read. */
  readonly input?: string;
  /** Iterations in which it occurred. */
  readonly times: number;
  /** The last of them, or a later one in which nothing ran. */
  readonly iteration: number;
  /** Who helped since then. */
  readonly helpedBy?: 'recovery' | 'person';
}

/** The slice that the errors room owns. */
export interface ErrorsSlice {
  readonly breaker: CircuitBreakerState;
  /** Newest last, bounded. */
  readonly unhealed: readonly OpenTrouble[];
  /** How often each code was healed. */
  readonly healed: { readonly [code: string]: number };
  /** How often each cause healed something. */
  readonly healedBy: { readonly [By in HealedBy]?: number };
  /** Errors that the model could correct, and those of them that were over at its first retry without help. */
  readonly corrections: { readonly troubles: number; readonly atFirstRetry: number };
}

/** No errors yet. */
export const initialErrors: ErrorsSlice = {
  breaker: initialCircuitBreaker,
  unhealed: [],
  healed: {},
  healedBy: {},
  corrections: { troubles: 0, atFirstRetry: 0 },
};

/** Counts what was healed, and by what. */
export function countHealed<State extends ErrorsSlice>(
  state: State,
  entries: readonly (readonly [code: string, by: HealedBy])[],
): State {
  const healed = { ...state.healed };
  const healedBy = { ...state.healedBy };
  for (const [code, by] of entries) {
    healed[code] = (healed[code] ?? 0) + 1;
    healedBy[by] = (healedBy[by] ?? 0) + 1;
  }
  return { ...state, healed, healedBy };
}
