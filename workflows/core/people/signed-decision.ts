/** What an approver signs: everything that a decision says, and the run that it is for (ADR 0040). */
import type { Decision } from './ports';

/**
 * The text to sign with Ed25519, in UTF-8: a JSON array without white space, with `null` for what is absent.
 *
 * Contract: two decisions have the same text only if they are the same decision of the same run. `runKey` is the workflow's id,
 * `/`, and the id of the workflow's first run.
 */
export function decisionStatement(
  runKey: string,
  { approvalId, digest, decision, inputDigest, reason, by }: Decision,
): string {
  const why = decision === 'reject' ? reason : undefined;
  const parts = [runKey, approvalId, digest, decision, inputDigest, why, by];
  return JSON.stringify(['holdfast decision', ...parts.map((part) => part ?? null)]);
}
