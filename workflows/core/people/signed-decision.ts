/** What an approver signs: everything that a decision says, and the run that it is for (ADR 0040). */
import type { JsonValue } from '../json';
import type { Decision } from './ports';

/**
 * The canonical JSON of changed arguments, whose SHA-256 is signed: object keys sorted by code units, no white space.
 *
 * Contract: equal values give equal text, whatever way they travelled.
 */
export function argumentsText(value: JsonValue): string {
  if (Array.isArray(value)) return `[${value.map(argumentsText).join(',')}]`;
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  const fields = Object.entries(value)
    .sort(([left], [right]) => (left < right ? -1 : 1))
    .map(([key, field]: [string, JsonValue]) => `${JSON.stringify(key)}:${argumentsText(field)}`);
  return `{${fields.join(',')}}`;
}

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
