/** What the guard has counted and seen in a run: carried over every roll-over, untouched by compaction. */
import type { CallEvidence } from './loop-detector';

/** What is counted against caps, over a run and those below it. */
export interface GuardCounts {
  /** Calls that ran, by tool. */
  readonly toolRuns: { readonly [tool: string]: number };
  /** Edits that ran, by hash of the file. */
  readonly fileEdits: { readonly [fileHash: string]: number };
}

/** The guard's slice of the run's state. */
export interface GuardState extends GuardCounts {
  /** The newest calls with their results, oldest first; bounded. */
  readonly evidence: readonly CallEvidence[];
  /** Identity of the loop that the model was warned of; absent while there is none. */
  readonly warnedLoop?: string;
  /** The model has waited since the newest call. */
  readonly waited?: true;
  /** Id of the running timer of active time. */
  readonly activeTimer?: string;
  /** Timers of active time that were armed, for their ids. */
  readonly activeTimers: number;
}

/** A guard that has seen nothing. */
export const initialGuard: GuardState = {
  evidence: [],
  activeTimers: 0,
  toolRuns: {},
  fileEdits: {},
};
