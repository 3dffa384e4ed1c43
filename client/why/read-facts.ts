/** Reads what `why` explains: the run's history, and what the server says of a run that has not ended. */
import type { WorkflowClient } from '@temporalio/client';
import { ApplicationFailure, CancelledFailure } from '@temporalio/common';
import { decodeOptionalFailureToOptionalError } from '@temporalio/common/lib/internal-non-workflow';
import { tsToMs } from '@temporalio/common/lib/time';
import { signalNames } from '../../workflows/contract';
import { defined } from '../../workflows/core/json';
import { ClientError } from '../client-error';
import type { RunEntry } from '../history/fold';
import { SegmentFold } from '../history/fold';
import { readFacts } from '../history/read-history';
import type { RunAccess } from '../run-access';
import { attempt } from '../run-access';
import { outcomeOf } from '../run-result';
import { readingHistory } from '../temporal-failure';
import { explain } from './explain';
import type { OpenActivity, RunExplanation, Surroundings, WhyFacts } from './explanation';
import { StoryTeller } from './story';

/** Events at the end of a history among which a failed workflow task is looked for. */
const lastEvents = 20;

/** Temporal's number for a workflow task or an activity that a worker has, as both of its lists of states have it. */
const startedState: number = 2;

type Described = Awaited<
  ReturnType<WorkflowClient['workflowService']['describeWorkflowExecution']>
>;
type PendingActivity = NonNullable<Described['pendingActivities']>[number];

/** Explains the run as it is now. `ownTaskQueue` is the queue on which the reader's commands start runs. Errors: as `foldRun`. */
export async function explainRun(access: RunAccess, ownTaskQueue: string): Promise<RunExplanation> {
  return explain(await attempt(access, () => factsOf(access, ownTaskQueue)));
}

async function factsOf(access: RunAccess, ownTaskQueue: string): Promise<WhyFacts> {
  const { client, runId } = access;
  const { namespace } = client.options;
  const described = await client.workflowService.describeWorkflowExecution({
    namespace,
    execution: { workflowId: runId },
  });
  const { folded, ...told } = await storyOf(access);
  const { state } = folded;
  if (state === undefined)
    throw new ClientError('run-not-found', `Run "${runId}" has no history any more.`);
  return {
    runId,
    nowMs: Date.now(),
    state,
    ...told,
    ...defined({ outcome: readingHistory(runId, () => outcomeOf(folded)) }),
    isTerminated: folded.end?.type === 'terminated',
    surroundings: await surroundingsOf(client, runId, described),
    ownTaskQueue,
  };
}

/** Folds the history, and counts its timeline on the way. */
async function storyOf({ client, runId }: RunAccess) {
  const teller = new StoryTeller();
  let fold = new SegmentFold(runId);
  let stoppedBy: string | undefined;
  const tell = (entries: readonly RunEntry[]): void => {
    readingHistory(runId, () => {
      for (const entry of entries) teller.add(entry);
    });
  };
  for await (const facts of readFacts(client, runId)) {
    if (facts[0]?.type === 'segment-began') fold = new SegmentFold(runId);
    for (const fact of facts) {
      if (fact.type === 'signalled' && fact.name === signalNames.stop)
        stoppedBy ??= (fact.argument as { readonly by?: string } | undefined)?.by;
      tell(fold.take(fact));
    }
    tell(fold.settle());
  }
  return { folded: fold.folded(), story: teller.story(), ...defined({ stoppedBy }) };
}

async function surroundingsOf(
  client: WorkflowClient,
  runId: string,
  { executionConfig, pendingActivities, pendingWorkflowTask }: Described,
): Promise<Surroundings> {
  const taskQueue = executionConfig?.taskQueue?.name ?? '';
  const activities: OpenActivity[] = [];
  for (const activity of pendingActivities) activities.push(await openActivity(client, activity));
  const attempts = pendingWorkflowTask?.attempt ?? 1;
  const failure = attempts > 1 ? await taskFailure(client, runId) : undefined;
  const polled = await lastPollOf(client, taskQueue);
  return {
    taskQueue,
    activities,
    ...polled,
    ...(pendingWorkflowTask == null
      ? {}
      : {
          openTask: {
            attempt: attempts,
            isStarted: Number(pendingWorkflowTask.state) === startedState,
            scheduledAtMs: tsToMs(pendingWorkflowTask.scheduledTime),
            ...defined({ failure }),
          },
        }),
  };
}

async function openActivity(
  { options }: WorkflowClient,
  activity: PendingActivity,
): Promise<OpenActivity> {
  const { activityId, activityType, attempt: tries, state, lastFailure } = activity;
  const thrown = await decodeOptionalFailureToOptionalError(
    options.loadedDataConverter,
    lastFailure,
  );
  const due = activity.nextAttemptScheduleTime ?? activity.scheduledTime;
  const isStarted = Number(state) === startedState;
  return {
    id: activityId ?? '',
    type: activityType?.name ?? '',
    attempt: tries ?? 1,
    isStarted,
    ...(isStarted || due == null ? {} : { dueAtMs: tsToMs(due) }),
    // A worker's shutdown is no failure.
    ...(thrown === undefined || thrown instanceof CancelledFailure
      ? {}
      : { lastFailure: { type: typeOf(thrown), message: thrown.message } }),
  };
}

function typeOf(thrown: Error): string {
  return thrown instanceof ApplicationFailure ? (thrown.type ?? 'unknown') : 'timeout';
}

/** Why the newest workflow task failed. */
async function taskFailure(client: WorkflowClient, runId: string): Promise<string | undefined> {
  const { history } = await client.workflowService.getWorkflowExecutionHistoryReverse({
    namespace: client.options.namespace,
    execution: { workflowId: runId },
    maximumPageSize: lastEvents,
  });
  for (const { workflowTaskFailedEventAttributes: failed } of history?.events ?? []) {
    if (failed == null) continue;
    const { loadedDataConverter } = client.options;
    const thrown = await decodeOptionalFailureToOptionalError(loadedDataConverter, failed.failure);
    return thrown?.message;
  }
  return undefined;
}

/** When a worker last asked for workflow tasks. */
async function lastPollOf(
  client: WorkflowClient,
  name: string,
): Promise<Pick<Surroundings, 'lastPollAtMs' | 'knowsPollers'>> {
  const { namespace } = client.options;
  try {
    const { pollers } = await client.workflowService.describeTaskQueue({
      namespace,
      taskQueue: { name },
    });
    const polls = pollers.map(({ lastAccessTime }) => tsToMs(lastAccessTime));
    return {
      knowsPollers: true,
      ...(polls.length === 0 ? {} : { lastPollAtMs: Math.max(...polls) }),
    };
  } catch {
    // A caller that may not look at task queues may still read its run.
    return { knowsPollers: false };
  }
}
