/** What a plan's confidence leads to: from 0.8 it is carried out, from 0.5 a person is asked, below a person takes over. */
import type { RecoveryDecision, RecoveryPolicy } from './action';
import type { Plan } from './state';

/** Confidence from which an action is carried out, and from which a person is asked to approve it (R-REC-4). */
export const defaultConfidence = { actAt: 0.8, askAt: 0.5 } as const;

/** Decides about a plan. A plan without a digest cannot be approved, so a person takes over instead. */
export function decideByConfidence(
  policy: RecoveryPolicy | undefined,
  { action, digest }: Plan,
): RecoveryDecision {
  if (policy === undefined || policy.mode === 'observe') return 'observes';
  const { strategy, confidence } = action;
  if (strategy === 'escalate' || confidence < policy.askAt) return 'escalates';
  if (confidence < policy.actAt) return digest === '' ? 'escalates' : 'asks';
  return strategy === 'give-up' ? 'gives up' : 'acts';
}
