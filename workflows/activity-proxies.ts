/** One place for how each activity is scheduled: timeouts, heartbeat, retry, identity. */
import { ActivityCancellationType, proxyActivities } from '@temporalio/workflow';
import { prepareCallId } from './core/iteration';
import type {
  Activities,
  CallModelResult,
  CheckEditResult,
  PrepareRunResult,
  RunToolResult,
} from './core/ports';
import type { RunCommand } from './core/run-protocol';

/**
 * Attempts of one activity. A worker's death costs an attempt but is nobody's failure, so the cap is far above any retry
 * policy of Holdfast's own, and only ends a task that kills each worker that takes it (ADR 0004).
 */
const maximumAttempts = 100;

/** Milliseconds that an activity may outlive the limit that is kept inside it, to store what came of it (ADR 0007). */
const graceMs = 30_000;

/** Characters of a summary: an agent's name comes from whoever starts the run. */
const summaryChars = 200;

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

/** A command that an activity carries out. */
export type ActivityCommand = Extract<
  RunCommand,
  { type: 'prepare-run' | 'call-model' | 'run-tool' | 'check-edit' }
>;

/** Resolves the agent's definition. */
export function prepareRun(
  command: Extract<ActivityCommand, { type: 'prepare-run' }>,
): Promise<PrepareRunResult> {
  return activities.prepareRun.executeWithOptions(
    {
      activityId: prepareCallId,
      summary: `prepare ${command.input.agent}`.slice(0, summaryChars),
    },
    [command.input],
  );
}

/** Calls the model; the activity keeps its own deadline and decides what is retried, and when (ADR 0004). */
export function callModel(
  command: Extract<ActivityCommand, { type: 'call-model' }>,
): Promise<CallModelResult> {
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
