/** Where learning meets recovery: a pattern is looked up before the planner's model is asked, and what helped is recorded. */
import type {
  RecoveryAction,
  RecoveryRecord,
  StuckContext,
} from '../../workflows/core/recovery-action';
import type { RunDefinition } from '../activity-deps';
import type { Store } from '../store';

/** An action that a learned pattern suggests. */
export interface LearnedAction {
  readonly patternId: string;
  readonly action: RecoveryAction;
}

/** What learning gives to recovery. */
export interface RecoveryLearning {
  /** The action of a pattern that has earned trust; undefined where none fits. A rejection counts as undefined. */
  lookup(
    store: Store,
    definition: RunDefinition,
    context: StuckContext,
  ): Promise<LearnedAction | undefined>;
  /**
   * Keeps records in the store's corpus.
   *
   * Contract: idempotent by `recordId`; redacts secrets. A rejection is ignored: it must not cost a run its reply.
   */
  record(
    store: Store,
    definition: RunDefinition,
    records: readonly RecoveryRecord[],
  ): Promise<void>;
}

/** Learns nothing and knows nothing. */
export const noLearning: RecoveryLearning = {
  lookup: () => Promise.resolve(undefined),
  record: () => Promise.resolve(),
};
