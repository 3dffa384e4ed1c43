/** How people configure recovery, with every default and its range. */
import { defaultConfidence } from '../../workflows/core/recovery/confidence';
import { z } from 'zod';
import type { RecoveryPolicy } from '../../workflows/core/recovery/action';
import { checkOptions } from '../lifecycle/check-options';

/** Longest wait in milliseconds: 365 days. */
const maxMs = 365 * 86_400_000;
const share = z.number().min(0).max(1);
const { actAt, askAt } = defaultConfidence;

const recoveryPolicySchema = z
  .strictObject({
    mode: z.enum(['off', 'observe', 'auto']).default('auto'),
    actAt: share.default(actAt),
    askAt: share.default(askAt),
    escalate: z.literal('wait').optional(),
    maxPerRun: z.int().min(1).max(1_000).default(5),
    estimateEvery: z.int().min(1).max(10_000).exactOptional(),
    waitMs: z.int().min(1).max(maxMs).default(86_400_000),
    onExpiry: z.enum(['give-up', 'continue']).default('give-up'),
  })
  .check(({ value, issues }) => {
    if (value.askAt > value.actAt)
      issues.push({
        code: 'custom',
        input: value,
        path: ['askAt'],
        message: `${value.askAt} is above recovery.actAt (${value.actAt}); an action would run with less confidence than it takes to ask a person`,
      });
  });

/**
 * Fills in the defaults and checks the result.
 *
 * Errors: `UserError` that names the agent, the option and the allowed range.
 */
export function resolveRecovery(
  where: string,
  options: Partial<RecoveryPolicy> = {},
): RecoveryPolicy {
  return checkOptions(where, 'recovery', recoveryPolicySchema, options);
}
