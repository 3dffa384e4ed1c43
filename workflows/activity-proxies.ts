/** One place for how each activity is scheduled: timeouts, heartbeat, retry, identity. */
import {
  ActivityCancellationType,
  proxyActivities,
  proxyLocalActivities,
} from '@temporalio/workflow';
import type { ActivityOptions } from '@temporalio/workflow';
import { activityIdOf, endsLocalCall } from './activity-events';
import { runKey } from './run-key';
import type { Activities } from './core/activities';
import type { RecordObservationsInput } from './core/learning/ports';
import { sentModelCall } from './core/model-call/sent-call';
import type { ActivityCommand } from './core/run/protocol';
import { activityTable } from './core/run/protocol';
import { sentToolCall } from './core/tools/lineage';
import { flagNames } from './flags';
import { shortened } from './core/shortened';

/**
 * Attempts of one activity. A worker's death uses one up without being a failure, so the cap is far above any retry policy of
 * Holdfast's own, and only ends a task that kills each worker that takes it (ADR 0004).
 */
const maximumAttempts = 100;

/** Milliseconds that an activity may outlive the limit that it keeps itself, to store its result (ADR 0007). */
const graceMs = 30_000;

/** Characters of a summary: an agent's name comes from whoever starts the run. */
const summaryChars = 200;

/** Applies to every activity; each adds its identity and its own limits. */
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

/** The limits of one activity, beside those that apply to all. */
function limitsOf(command: ActivityCommand): ActivityOptions {
  switch (command.type) {
    // A person waits for a checked edit, so a lost worker is given up soon.
    case 'prepare-run':
    case 'hand-over':
    case 'check-edit':
      return {};
    // The activity keeps the limit of each guardrail. One that fails is tried four times in 15 s: then the run ends with the cause.
    case 'check-guardrails':
      return {
        startToCloseTimeout: command.timeoutMs + graceMs,
        heartbeatTimeout: command.heartbeatTimeoutMs,
      };
    // The activity keeps its own deadline, and decides what is retried, and when (ADR 0004).
    case 'call-model':
    case 'compact':
      return {
        startToCloseTimeout: command.limits.modelCallTimeoutMs + graceMs,
        heartbeatTimeout: command.limits.heartbeatTimeoutMs,
      };
    case 'run-tool':
      return {
        startToCloseTimeout: command.timeoutMs + graceMs,
        heartbeatTimeout: command.heartbeatTimeoutMs,
      };
    // A receiver that is down is tried again for an hour; the run never waits for it (ADR 0027).
    case 'notify':
      return {
        scheduleToCloseTimeout: '1 hour',
        heartbeatTimeout: command.heartbeatTimeoutMs,
        retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumInterval: '1 minute' },
      };
    // A plan is worth little by the time that its store is back: the core's own heuristic is there at once (ADR 0026).
    case 'plan-recovery':
      return {
        startToCloseTimeout: command.limits.recoveryPlanTimeoutMs + graceMs,
        heartbeatTimeout: command.limits.heartbeatTimeoutMs,
        retry: { initialInterval: '1 second', backoffCoefficient: 2, maximumAttempts: 4 },
      };
  }
}

function summaryOf(command: ActivityCommand): string {
  const summary = command.type === 'prepare-run' ? command.input.agent : command.summary;
  return shortened(summary, summaryChars);
}

/** Any activity. */
interface AnyActivity {
  executeWithOptions(options: ActivityOptions, args: readonly [unknown]): Promise<unknown>;
}

/** The input as history has it: what is the same in every call of the run is in the store (ADR 0052). */
function sentInput(command: ActivityCommand): unknown {
  if (command.type === 'prepare-run' || command.type === 'hand-over')
    return { ...command.input, flags: flagNames, runKey: runKey() };
  if (command.type === 'call-model') return sentModelCall(command.input);
  return command.type === 'run-tool' ? sentToolCall(command.input) : command.input;
}

/** Starts the activity of a command. */
export function startActivity(
  command: ActivityCommand,
  more: ActivityOptions = {},
): Promise<unknown> {
  // The table pairs each command with its activity, which TypeScript cannot follow over a union.
  const activity = activities[activityTable[command.type].name] as AnyActivity;
  return activity.executeWithOptions(
    {
      activityId: activityIdOf(command),
      summary: summaryOf(command),
      ...limitsOf(command),
      ...more,
    },
    [sentInput(command)],
  );
}

/**
 * Local activities run in this worker, within the workflow task. The limit counts the wait for a slot of the worker too. It
 * is the longest time that a cancel or a message waits, and well below the 80 % of a workflow task (10 s) after which the SDK
 * reports the task as unfinished (ADR 0051).
 */
const locally = proxyLocalActivities<Activities>({
  scheduleToCloseTimeout: '3 seconds',
  retry: { maximumAttempts: 1 },
});

/**
 * Starts a tool call as a local activity, and as an ordinary one if that gives no result: it takes too long, the store or the
 * worker fails, or `mayBeRepeat`.
 *
 * Contract: `mayBeRepeat` may differ in a replay, since history does not hold the input of a local activity.
 */
export async function startLocalCall(
  command: Extract<ActivityCommand, { type: 'run-tool' }>,
  mayBeRepeat: boolean,
): Promise<unknown> {
  const input = mayBeRepeat ? { ...command.input, mayBeRepeat } : command.input;
  try {
    return await locally.runTool.executeWithOptions({ summary: summaryOf(command) }, [input]);
  } catch (thrown) {
    if (endsLocalCall(thrown)) throw thrown;
    return startActivity(command);
  }
}

/** Records the run's last errors. Never rejects: what is learned is worth less than the run's end. */
export async function recordObservations(input: RecordObservationsInput): Promise<void> {
  try {
    await locally.recordObservations(input);
  } catch {
    // The store lacks these observations; the run's own history has them.
  }
}
