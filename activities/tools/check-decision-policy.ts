/** Checks how long decisions of people may take, before a run waits for one. */
import { z } from 'zod';
import type { DecisionPolicy } from '../../workflows/core/tools/ports';
import { checkOptions } from '../lifecycle/check-options';

/** Shortest time to decide in milliseconds: nobody decides faster (ADR 0022). */
const minMs = 1_000;
/** Longest time to decide in milliseconds: 365 days, as for every other limit. */
const maxMs = 365 * 86_400_000;

const policySchema = z
  .strictObject({
    expiresAfterMs: z.number().int().min(minMs).max(maxMs).exactOptional(),
    onExpiry: z.enum(['reject', 'escalate', 'wait']),
  })
  .check(({ value, issues }) => {
    if (value.expiresAfterMs === undefined && value.onExpiry !== 'wait')
      issues.push({
        code: 'custom',
        input: value,
        message: `onExpiry "${value.onExpiry}" needs expiresAfterMs, the milliseconds after which it happens`,
      });
  });

/**
 * Returns a valid policy.
 *
 * Errors: `UserError` that names who set it, the value and the remedy; also for `reject` and `escalate` without a time.
 */
export function checkDecisionPolicy(where: string, policy: DecisionPolicy): DecisionPolicy {
  const remedy = `Give { expiresAfterMs: ${minMs} to ${maxMs}, onExpiry: 'reject', 'escalate' or 'wait' }.`;
  return checkOptions(where, '', policySchema, policy, remedy);
}
