/** What people see of progress and recovery: in the queries, in the Web UI and on the command line. */
import type { ProgressEstimate, RecoveryPolicy } from '../recovery/action';
import { activePolicy, loopOf } from '../recovery/gate';
import { estimateProgress } from '../recovery/progress';
import type { RecoveryStage, RecoveryState } from '../recovery/state';
import { actionSummary } from '../recovery/text';
import type { RunState } from '../run/state';
import type { PendingItem } from './status';

/** What recovery did so far. */
export interface RecoveryView {
  readonly mode: 'observe' | 'auto';
  /** Where on the ladder the run stands; absent where it works. */
  readonly stage?: RecoveryStage['type'];
  readonly healed: number;
  readonly failed: number;
  /** The newest plan. */
  readonly last?: NonNullable<RecoveryState['last']>;
}

function limitOf(
  { untilMs }: { readonly untilMs: number },
  policy: RecoveryPolicy | undefined,
): Pick<PendingItem, 'expiresAtMs' | 'onExpiry'> {
  return {
    expiresAtMs: untilMs,
    ...(policy === undefined ? {} : { onExpiry: policy.onExpiry }),
  };
}

/** What waits for a person. */
export function recoveryItems(
  stage: RecoveryStage,
  policy: RecoveryPolicy | undefined,
): readonly PendingItem[] {
  switch (stage.type) {
    case 'planning':
    case 'backing-off':
      return [];
    case 'escalated':
      return [
        {
          type: 'question',
          questionId: stage.questionId,
          question: stage.question,
          ...limitOf(stage, policy),
        },
      ];
    case 'asking': {
      const { action, digest, call } = stage.plan;
      const { toolName, parameters } = action.action;
      return [
        {
          type: 'approval',
          approvalId: stage.approvalId,
          digest,
          tool: toolName === '' ? action.strategy : toolName,
          label: `recovery: ${actionSummary(action)}`.slice(0, 80),
          ...(parameters === undefined || call === undefined ? {} : { input: parameters }),
          ...limitOf(stage, policy),
        },
      ];
    }
  }
}

/** What a run does on the ladder, in a few words. */
export function recoveryWork(stage: RecoveryStage): string {
  switch (stage.type) {
    case 'planning':
      return stage.purpose === 'plan' ? 'stuck: planning a way out' : 'estimating the progress';
    case 'backing-off':
      return `stuck: a pause before ${actionSummary(stage.plan.action)}`;
    case 'asking':
      return `stuck: waiting for approval of ${actionSummary(stage.plan.action)}`;
    case 'escalated':
      return `stuck: waiting for a person: ${stage.question}`;
  }
}

/** Why it waits; undefined where it works. */
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
export function recoveryFields(state: RunState): {
  progress?: ProgressEstimate;
  recovery?: RecoveryView;
} {
  const policy = activePolicy(state);
  if (policy === undefined || policy.mode === 'off') return {};
  const progress = estimateProgress(state.progress, loopOf(state));
  const { healed, failed, last } = state.recovery;
  const stage = state.phase.type === 'recovering' ? state.phase.stage.type : undefined;
  if (last === undefined && stage === undefined) return { progress };
  const recovery: RecoveryView = {
    mode: policy.mode,
    ...(stage === undefined ? {} : { stage }),
    healed,
    failed,
    ...(last === undefined ? {} : { last }),
  };
  return { progress, recovery };
}

/** The newest plan and what came of all of them, in one line. */
export function recoveryLine({ healed, failed, last, stage }: RecoveryView): string {
  const tally = `${healed} helped, ${failed} did not`;
  const where = stage === undefined ? '' : `${stage}; `;
  if (last === undefined) return `${where}${tally}`;
  const { strategy, toolName, confidence, source } = last;
  const tool = toolName === '' ? '' : ` ${toolName}`;
  return `${where}last: ${strategy}${tool} (${confidence}, ${source}); ${tally}`;
}
