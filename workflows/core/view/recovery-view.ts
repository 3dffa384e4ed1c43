/** Progress and recovery as people see them: in the queries, in the Web UI, and on the command line. */
import type { ProgressEstimate } from '../recovery/action';
import { findLoop } from '../guard/loop-detector';
import type { GuardSlice } from '../guard/state';
import { defined } from '../json';
import { estimateProgress } from '../recovery/progress';
import type { RecoverySlice, RecoveryStage, RecoveryState } from '../recovery/state';
import { activePolicy, currentStage } from '../recovery/state';
import type { SnapshotSlice } from '../run/ports';
import type { PhaseSlice } from '../run/phases';
import { actionSummary } from '../recovery/text';

/** What recovery did so far. */
export interface RecoveryView {
  readonly mode: 'observe' | 'auto';
  /** The stage of recovery; absent if the run works. */
  readonly stage?: RecoveryStage['type'];
  readonly healed: number;
  readonly failed: number;
  /** The newest plan. */
  readonly last?: NonNullable<RecoveryState['last']>;
}

/** What a run does in a stage of recovery, in a few words. */
export function recoveryWork(stage: RecoveryStage): string {
  switch (stage.type) {
    case 'planning':
      return stage.purpose === 'plan' ? 'stuck: planning a recovery' : 'estimating the progress';
    case 'backing-off':
      return `stuck: a pause before ${actionSummary(stage.plan.action)}`;
    case 'asking':
      return `stuck: waiting for approval of ${actionSummary(stage.plan.action)}`;
    case 'escalated':
      return `stuck: waiting for a person: ${stage.question}`;
  }
}

/** Why it waits; undefined if it works. */
export function recoveryReason(stage: RecoveryStage): string | undefined {
  switch (stage.type) {
    case 'planning':
      return undefined;
    case 'backing-off':
      return 'recovery: a pause before a retry';
    case 'asking':
      return 'approval';
    case 'escalated':
      return `person: ${stage.question}`;
  }
}

/** The fields of the status that recovery fills. */
export function recoveryFields(state: RecoverySlice & GuardSlice & PhaseSlice & SnapshotSlice): {
  progress?: ProgressEstimate;
  recovery?: RecoveryView;
} {
  const policy = activePolicy(state);
  if (policy === undefined || policy.mode === 'off') return {};
  const progress = estimateProgress(state.progress, findLoop(state.guard.evidence));
  const { healed, failed, last } = state.recovery;
  const stage = currentStage(state)?.type;
  if (last === undefined && stage === undefined) return { progress };
  const recovery: RecoveryView = {
    mode: policy.mode,
    healed,
    failed,
    ...defined({ stage, last }),
  };
  return { progress, recovery };
}

/** The newest plan and the results of all of them, in one line. */
export function recoveryLine({ healed, failed, last, stage }: RecoveryView): string {
  const tally = `${healed} helped, ${failed} did not`;
  const where = stage === undefined ? '' : `${stage}; `;
  if (last === undefined) return `${where}${tally}`;
  const { strategy, toolName, confidence, source } = last;
  const tool = toolName === '' ? '' : ` ${toolName}`;
  return `${where}last: ${strategy}${tool} (${confidence.toFixed(2)}, ${source}); ${tally}`;
}
