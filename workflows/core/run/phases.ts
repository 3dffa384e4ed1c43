/** Phases that no single room owns: a run that waits, and a run that ends. */
import type { FailureReason } from './outcome';

/** The slice that holds the phase, as rooms see it that own one phase only. */
export interface PhaseSlice {
  readonly phase: { readonly type: string };
}

/** How the run ends once nothing is in flight. */
export interface EndingPlan {
  readonly status: 'stopped' | 'cancelled' | 'failed';
  /** In words; for `failed` the message of the outcome. */
  readonly reason: string;
  /** Only with `failed`. */
  readonly failureReason?: FailureReason;
}

/** The phase in which a run waits. */
export interface Waiting {
  readonly type: 'waiting';
  readonly on: 'provider' | 'store' | 'person';
  readonly reason: string;
  /** What its timer is called in Temporal's timeline, if the reason begins with something else. */
  readonly label?: string;
  /** Absent for a wait that only a person ends. */
  readonly timerId?: string;
  readonly untilMs?: number;
  readonly sinceMs: number;
  /** The part of the loop that follows the wait. */
  readonly then:
    'prepare' | 'hand-over' | 'check-input' | 'check-answer' | 'call-model' | 'begin-iteration';
  /** Milliseconds of this wait's timer, doubled when the wait did not help. */
  readonly delayMs?: number;
}

/** The slice of a wait for the store. */
export interface StoreWaitSlice {
  /** Milliseconds of the last wait for the store; absent while the store answers. */
  readonly storeWaitMs?: number;
}
