/** One place for how each activity is scheduled: timeouts, heartbeat, retry, identity. */
import {
  ActivityCancellationType,
  proxyActivities,
  proxyLocalActivities,
} from '@temporalio/workflow';
import { flagNames } from './flags';
import { prepareCallId } from './core/run/protocol';
import type { Activities } from './core/activities';
import type { CallModelResult, ModelCallHeldBack } from './core/model-call/ports';
import type { CheckEditResult } from './core/people/ports';
import type { NotifyResult } from './core/notifications/ports';
import type { CompactResult } from './core/context/ports';
import type { PlanRecoveryResult } from './core/recovery/ports';
import type { PrepareRunResult } from './core/run/ports';
import type { RecordObservationsInput } from './core/learning/ports';
import type { RunToolResult } from './core/tools/ports';
import type { ActivityCommand } from './core/run/protocol';

/**
 * Attempts of one activity. A worker's death costs an attempt but is nobody's failure, so the cap is far above any retry
 * policy of Holdfast's own, and only ends a task that kills each worker that takes it (ADR 0004).
 */
const maximumAttempts = 100;

/** Milliseconds that an activity may outlive the limit that is kept inside it, to store what came of it (ADR 0007). */
const graceMs = 30_000;

/** Characters of a summary: an agent's name comes from whoever starts the run. */
const summaryChars = 200;

/**
 * A plan is worth little by the time that its store is back or that it has killed workers: the core's own heuristic is there at
 * once (ADR 0026).
 */
const planRetry = {
  initialInterval: '1 second',
  backoffCoefficient: 2,
  maximumAttempts: 4,
} as const;

/** What holds for every activity; each call adds its identity and its own limits. */
const activities = proxyActivities<Activities>({
  startToCloseTimeout: '1 minute',
  cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
  retry: {
    initialInterval: '1 second',
    backoffCoefficient: 2,
    maximumInterval: '30 seconds',
    maximumAttempts,
  },
});

/** Resolves the agent's definition. */
export function prepareRun(
  command: Extract<ActivityCommand, { type: 'prepare-run' }>,
): Promise<PrepareRunResult> {
  return activities.prepareRun.executeWithOptions(
    {
      activityId: prepareCallId,
      summary: `prepare ${command.input.agent}`.slice(0, summaryChars),
    },
    [{ ...command.input, flags: flagNames }],
  );
}

/** Calls the model; the activity keeps its own deadline and decides what is retried, and when (ADR 0004). */
export function callModel(
  command: Extract<ActivityCommand, { type: 'call-model' }>,
): Promise<CallModelResult | ModelCallHeldBack> {
  return activities.callModel.executeWithOptions(
    {
      activityId: command.callId,
      summary: command.summary,
      startToCloseTimeout: command.limits.modelCallTimeoutMs + graceMs,
      heartbeatTimeout: command.limits.heartbeatTimeoutMs,
    },
    [command.input],
  );
}

/** Makes the conversation smaller; a summary's calls keep their own deadlines inside the activity. */
export function compact(
  command: Extract<ActivityCommand, { type: 'compact' }>,
): Promise<CompactResult> {
  return activities.compact.executeWithOptions(
    {
      activityId: command.callId,
      summary: command.summary,
      startToCloseTimeout: command.limits.modelCallTimeoutMs + graceMs,
      heartbeatTimeout: command.limits.heartbeatTimeoutMs,
    },
    [command.input],
  );
}

/** Runs a tool; the tool's own deadline is kept inside the activity. */
export function runTool(
  command: Extract<ActivityCommand, { type: 'run-tool' }>,
): Promise<RunToolResult> {
  return activities.runTool.executeWithOptions(
    {
      activityId: command.callId,
      summary: command.summary,
      startToCloseTimeout: command.timeoutMs + graceMs,
      heartbeatTimeout: command.heartbeatTimeoutMs,
    },
    [command.input],
  );
}

/** Checks arguments that a person changed; a person waits for the answer, so a lost worker is given up soon. */
export function checkEdit(
  command: Extract<ActivityCommand, { type: 'check-edit' }>,
): Promise<CheckEditResult> {
  return activities.checkEdit.executeWithOptions(
    { activityId: command.callId, summary: command.summary.slice(0, summaryChars) },
    [command.input],
  );
}

/**
 * Tells people that the run waits for one of them. A receiver that is down is tried again for an hour; the run never waits for
 * it (ADR 0027).
 */
export function notify(
  command: Extract<ActivityCommand, { type: 'notify' }>,
): Promise<NotifyResult> {
  return activities.notify.executeWithOptions(
    {
      activityId: command.callId,
      summary: command.summary,
      scheduleToCloseTimeout: '1 hour',
      heartbeatTimeout: command.heartbeatTimeoutMs,
      retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
    },
    [command.input],
  );
}

/** Plans a way out of a rut; the activity keeps its own deadline and retries (ADR 0026). */
export function planRecovery(
  command: Extract<ActivityCommand, { type: 'plan-recovery' }>,
): Promise<PlanRecoveryResult> {
  return activities.planRecovery.executeWithOptions(
    {
      activityId: command.callId,
      summary: command.summary,
      startToCloseTimeout: command.limits.recoveryPlanTimeoutMs + graceMs,
      heartbeatTimeout: command.limits.heartbeatTimeoutMs,
      retry: planRetry,
    },
    [command.input],
  );
}

/** What a run's end leaves to the corpus: a local activity, as the run ends at once and waits a few seconds at most. */
const atTheEnd = proxyLocalActivities<Activities>({
  startToCloseTimeout: '5 seconds',
  retry: { maximumAttempts: 1 },
});

/** Tells the corpus of the run's last errors. Never rejects: what is learned is worth less than the run's end. */
export async function recordObservations(input: RecordObservationsInput): Promise<void> {
  try {
    await atTheEnd.recordObservations(input);
  } catch {
    // The corpus lacks these; the run's own history has them.
  }
}
