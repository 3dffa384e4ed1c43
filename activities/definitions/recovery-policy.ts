/** How people configure recovery, with every default and its range. */
import { defaultConfidence } from '../../workflows/core/recovery/confidence';
import { z } from 'zod';
import type { RecoveryPolicy } from '../../workflows/core/recovery/action';
import { checkOptions } from '../lifecycle/check-options';

/** Recovery of an agent's runs, as its author writes it. */
export interface RecoveryOptions {
  /** `auto` runs actions, `observe` only plans and reports, `off` does neither. Default `auto`. */
  readonly mode?: RecoveryPolicy['mode'];
  /** Confidence from which an action runs at once. Default 0.8 (R-REC-4). */
  readonly actAt?: number;
  /** Confidence from which a person is asked first; below it a person takes over. Default 0.5 (R-REC-4). */
  readonly askAt?: number;
  /** Plans per run; a person's answer resets the count. Default 5 (ADR 0026). */
  readonly maxPerRun?: number;
  /** Milliseconds that a question or an approval of recovery waits for a person. Default 86,400,000 (ADR 0026). */
  readonly waitMs?: number;
  /** What happens if nobody answers in time: end the run, or continue without an answer. Default `give-up`. */
  readonly onExpiry?: RecoveryPolicy['onExpiry'];
}

/** Defaults, as documented with each option. */
const defaults: RecoveryPolicy = {
  mode: 'auto',
  ...defaultConfidence,
  maxPerRun: 5,
  waitMs: 86_400_000,
  onExpiry: 'give-up',
};

/** Longest wait in milliseconds: 365 days. */
const maxMs = 365 * 86_400_000;
const share = z.number().min(0).max(1);

const recoveryPolicySchema = z
  .strictObject({
    mode: z.enum(['off', 'observe', 'auto']),
    actAt: share,
    askAt: share,
    maxPerRun: z.number().int().min(1).max(1_000),
    waitMs: z.number().int().min(1).max(maxMs),
    onExpiry: z.enum(['give-up', 'continue']),
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
export function resolveRecovery(agent: string, options: RecoveryOptions = {}): RecoveryPolicy {
  const policy = { ...defaults, ...options };
  return checkOptions(`Agent "${agent}"`, 'recovery', recoveryPolicySchema, policy);
}
