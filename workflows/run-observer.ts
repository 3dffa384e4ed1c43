/** Lets one module that is bundled with the workflows see what a run decides. Without one, nothing happens. */
import type { RunEvent } from './core/run/protocol';
import type { RunState } from './core/run/state';
import type { Transition } from './core/run/transition';

/** One decision of a run. */
export interface RunStep {
  /** Absent at the run's start. */
  readonly before?: RunState;
  readonly event: RunEvent;
  readonly decided: Transition;
}

/**
 * Sees each step before its commands are carried out, in replays too.
 *
 * Contract: starts nothing of Temporal's, and uses no random numbers: a worker without it replays the same run.
 */
type RunObserver = (step: RunStep) => void;

/** All runs of a worker share this module (ADR 0087); the sandbox gives each run a global object of its own. */
const own = globalThis as { holdfastRunObserver?: RunObserver };

/** Makes this the observer of the workflow that is being loaded. */
export function observeRun(given: RunObserver): void {
  own.holdfastRunObserver = given;
}

/** Tells the observer, if there is one. Never throws: what is seen of a run is worth less than the run. */
export function reportStep(step: RunStep): void {
  try {
    own.holdfastRunObserver?.(step);
  } catch {
    // The observer sees the next step.
  }
}
