/** What a plan's confidence leads to: from 0.8 it is carried out, from 0.5 a person is asked, below a person takes over. */
import type { SnapshotSlice } from '../run/ports';
import type { RecoveryDecision } from './action';
import type { Plan } from './state';
import { activePolicy, isHeard } from './state';

/** Confidence from which an action is carried out, and from which a person is asked to approve it (R-REC-4). */
export const defaultConfidence = { actAt: 0.8, askAt: 0.5 } as const;

/** Whether a person who hears of it can approve an action of recovery. */
function mayAsk(state: SnapshotSlice): boolean {
  return state.snapshot?.approvers === undefined && isHeard(state, 'approval');
}

/**
 * Decides about a plan. A plan without a digest cannot be approved, so a person takes over instead. If nobody hears what
 * recovery asks, nothing waits: what a person would approve is only suggested to the model (ADR 0035). The same holds where
 * decisions are signed: the model's own call is what an approver signs (ADR 0040).
 */
export function decideByConfidence(
  state: SnapshotSlice,
  { action, digest }: Plan,
): RecoveryDecision {
  const policy = activePolicy(state);
  if (policy === undefined || policy.mode === 'observe') return 'observes';
  const { strategy, confidence } = action;
  const inDoubt = isHeard(state) ? 'escalates' : 'cannot escalate';
  if (strategy === 'escalate' || confidence < policy.askAt) return inDoubt;
  if (confidence >= policy.actAt) return strategy === 'give-up' ? 'gives up' : 'acts';
  if (digest === '') return inDoubt;
  if (mayAsk(state)) return 'asks';
  return strategy === 'give-up' ? inDoubt : 'suggests';
}
