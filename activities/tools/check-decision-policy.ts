/** Checks how long decisions of people may take, before a run waits for one. */
import { z } from 'zod';
import type { DecisionPolicy } from '../../workflows/core/tools/ports';
import { UserError } from '../lifecycle/user-error';

/** Shortest time to decide in milliseconds: nobody decides faster (ADR 0022). */
const minMs = 1_000;
/** Longest time to decide in milliseconds: 365 days, as for every other limit. */
const maxMs = 365 * 86_400_000;

const policySchema = z.strictObject({
  expiresAfterMs: z.number().int().min(minMs).max(maxMs).exactOptional(),
  onExpiry: z.enum(['reject', 'escalate', 'wait']),
});

/**
 * Returns the policy if it says something that can be kept.
 *
 * Errors: `UserError` that names who set it, the value and the remedy; also for `reject` and `escalate` without a time.
 */
export function checkDecisionPolicy(where: string, policy: DecisionPolicy): DecisionPolicy {
  const parsed = policySchema.safeParse(policy);
  if (!parsed.success) {
    const problems = parsed.error.issues.map(({ path, message }) =>
      [path.join('.'), message].filter((part) => part !== '').join(': '),
    );
    throw new UserError(
      `${where}: ${problems.join('; ')}. Give { expiresAfterMs: ${minMs} to ${maxMs}, onExpiry: 'reject', 'escalate' or 'wait' }.`,
    );
  }
  if (parsed.data.expiresAfterMs === undefined && parsed.data.onExpiry !== 'wait')
    throw new UserError(
      `${where}: onExpiry "${parsed.data.onExpiry}" needs expiresAfterMs, the milliseconds after which it happens.`,
    );
  return parsed.data;
}
