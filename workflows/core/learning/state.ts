/** The slice of learning: errors that are open, and resolved ones that wait to be recorded. */
import type { ObservedError } from './ports';

/** Somebody other than the model who stepped in after an error. */
export interface Helper {
  readonly by: 'person' | 'action';
  readonly patternId?: string;
  /** Tool that a recovery action used or advised instead. */
  readonly tool?: string;
}

/** An error that nothing has resolved yet. */
export interface OpenError extends Pick<
  ObservedError,
  'key' | 'tool' | 'code' | 'message' | 'callId' | 'inputBlob' | 'atMs'
> {
  readonly iteration: number;
  readonly helper?: Helper;
  /** The first call of another tool that worked since. */
  readonly other?: { readonly tool: string; readonly callId: string };
}

/** Observations of a run. */
interface LearningState {
  readonly open: readonly OpenError[];
  readonly waiting: readonly ObservedError[];
  /** How many of `waiting` the model call in flight carries. */
  readonly sent: number;
}

/** The slice. */
export interface LearningSlice {
  readonly learning: LearningState;
}

/** Nothing is open, nothing waits. */
export const initialLearning: LearningSlice = { learning: { open: [], waiting: [], sent: 0 } };
