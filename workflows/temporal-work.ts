/** Runs the Temporal code of a tool: an activity, a child workflow, or a Nexus operation, and says how it ended (ADR 0058). */
import {
  ActivityFailure,
  ApplicationFailure,
  CancelledFailure,
  ChildWorkflowFailure,
  NexusOperationFailure,
  TimeoutFailure,
  TimeoutType,
  WorkflowExecutionAlreadyStartedError,
  WorkflowIdReusePolicy,
} from '@temporalio/common';
import {
  ActivityCancellationType,
  CancellationScope,
  ChildWorkflowCancellationType,
  createNexusServiceClient,
  executeChild,
  NexusOperationCancellationType,
  ParentClosePolicy,
  proxyActivities,
} from '@temporalio/workflow';
import { resultIdOf } from './activity-events';
import { startActivity } from './activity-proxies';
import { invariant } from './core/invariant';
import { defined } from './core/json';
import type { ActivityCommand } from './core/run/protocol';
import { shortened } from './core/shortened';
import type { TemporalWork, WorkEnd, WorkFailure } from './core/tools/ports';

type ToolCommand = Extract<ActivityCommand, { type: 'run-tool' }>;
type Work<Type extends TemporalWork['type']> = Extract<TemporalWork, { type: Type }>;

/**
 * Characters of JSON that a result may have. History holds it twice, and a reply may have 64 calls: what is longer belongs in a
 * store of its owner's, with a reference as the result.
 */
const maxResultChars = 131_072;

/** Characters of a failure's message that history holds again. */
const maxMessageChars = 4_096;

/** Characters of a summary: Temporal takes 400 bytes, and a character has four at most. */
const maxSummaryChars = 100;

/** Errors in a chain of causes that are told. */
const maxCauses = 5;

/** Code that is known by its names only, as a caller in another language knows it. */
type ByName = Record<string, (...given: readonly unknown[]) => Promise<unknown>>;

function startWorkActivity(work: Work<'activity'>, callId: string, summary: string) {
  const { name, args, timeoutMs, queueTimeoutMs, retry } = work;
  const { [name]: run } = proxyActivities<ByName>({
    startToCloseTimeout: timeoutMs,
    scheduleToStartTimeout: queueTimeoutMs,
    cancellationType: ActivityCancellationType.WAIT_CANCELLATION_COMPLETED,
    retry,
    activityId: `${callId}.work`,
    summary,
    ...defined({ taskQueue: work.taskQueue, heartbeatTimeout: work.heartbeatTimeoutMs }),
  });
  invariant(run !== undefined, 'the proxy has every activity');
  return run(...args);
}

function startWorkflow(work: Work<'workflow'>, summary: string) {
  const { name, args, taskQueue, workflowId, timeoutMs } = work;
  return executeChild(name, {
    workflowId,
    args: [...args],
    workflowExecutionTimeout: timeoutMs,
    // An id is used once: a second call under it does nothing (ADR 0058).
    workflowIdReusePolicy: WorkflowIdReusePolicy.REJECT_DUPLICATE,
    cancellationType: ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
    parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
    staticSummary: summary,
    ...defined({ taskQueue }),
  });
}

/** A Nexus service by the names that the SDK reads of it. */
interface NexusByName {
  executeOperation(operation: string, input: unknown, options: object): Promise<unknown>;
}

function startNexus(work: Work<'nexus'>, summary: string) {
  const { name, args, endpoint, timeoutMs } = work;
  const service = { name: work.service, operations: { [name]: { name } } };
  // Its types want the brands of a definition in code.
  const create = createNexusServiceClient as unknown as (options: object) => NexusByName;
  return create({ endpoint, service }).executeOperation(name, args[0], {
    scheduleToCloseTimeout: timeoutMs,
    cancellationType: NexusOperationCancellationType.WAIT_CANCELLATION_COMPLETED,
    summary,
  });
}

function start(work: TemporalWork, { callId, summary }: ToolCommand): Promise<unknown> {
  const label = shortened(summary, maxSummaryChars);
  switch (work.type) {
    case 'activity':
      return startWorkActivity(work, callId, label);
    case 'workflow':
      return startWorkflow(work, label);
    case 'nexus':
      return startNexus(work, label);
  }
}

function failed(reason: WorkFailure, message: string, errorType?: string): WorkEnd {
  return {
    type: 'failed',
    reason,
    message: shortened(message, maxMessageChars),
    ...defined({ errorType }),
  };
}

function endOfOutput(output: unknown): WorkEnd {
  // Not of every value: of a function or undefined, JSON has nothing.
  const { length } = (JSON.stringify(output) as string | undefined) ?? '';
  return length > maxResultChars
    ? failed(
        'unread',
        `its result has ${length} characters of JSON, more than the ${maxResultChars} that go through a run's history; let it store the result and return a reference`,
      )
    : { type: 'completed', output };
}

/** The messages of an error and of what caused it, which the outermost often does not tell. */
function messagesOf(thrown: unknown): string {
  const messages: string[] = [];
  let link = thrown;
  for (let depth = 0; depth < maxCauses && link instanceof Error; depth++) {
    if (link.message !== '' && !messages.includes(link.message)) messages.push(link.message);
    link = link.cause;
  }
  return messages.join(': ');
}

function endOfTimeout(work: TemporalWork, { timeoutType }: TimeoutFailure): WorkEnd {
  if (timeoutType === TimeoutType.HEARTBEAT) return failed('lost', 'its worker sent no heartbeat');
  if (timeoutType !== TimeoutType.SCHEDULE_TO_START)
    return failed('timed-out', `it did not finish within ${work.timeoutMs} ms`);
  const queue = work.type === 'activity' ? work.taskQueue : undefined;
  const message = `no worker took it from task queue "${queue ?? 'of the run'}" in time`;
  // The last of several attempts says nothing about those before.
  const isOnly = work.type !== 'activity' || work.retry.maximumAttempts === 1;
  return failed(isOnly ? 'not-started' : 'lost', message);
}

/** How work ended that threw. Of what is not known here, nobody can say what it did. */
function endOfThrown(work: TemporalWork, thrown: unknown): WorkEnd {
  if (thrown instanceof WorkflowExecutionAlreadyStartedError)
    return failed('started-before', `its id "${thrown.workflowId}" was used before`);
  // Of a scope that was cancelled before: nothing was sent.
  if (thrown instanceof CancelledFailure) return failed('not-started', 'the run was stopped first');
  const isWrapped =
    thrown instanceof ActivityFailure ||
    thrown instanceof ChildWorkflowFailure ||
    thrown instanceof NexusOperationFailure;
  const cause: unknown = isWrapped ? (thrown.cause ?? thrown) : thrown;
  if (cause instanceof CancelledFailure) return failed('cancelled', 'it was cancelled');
  if (cause instanceof TimeoutFailure) return endOfTimeout(work, cause);
  if (cause instanceof ApplicationFailure)
    return failed('error', messagesOf(cause), cause.type ?? undefined);
  if (isHandlerError(cause)) return failed('error', messagesOf(cause), cause.type);
  return failed('lost', messagesOf(cause));
}

/** What a Nexus handler refuses a request with; its class is of a package that workflows do not import. */
function isHandlerError(cause: unknown): cause is Error & { readonly type: string } {
  return cause instanceof Error && cause.name === 'HandlerError' && 'type' in cause;
}

/**
 * Runs prepared work, and then the activity that brings its result in.
 *
 * Contract: what the work comes to is always recorded, also after a cancel: that activity has a minute then. Before, it is tried until
 * it succeeds, as a store that is down comes back; a cancel ends it.
 * Errors: those of that activity.
 */
export async function runPreparedWork(command: ToolCommand, work: TemporalWork): Promise<unknown> {
  const scope = CancellationScope.current();
  const ended = await start(work, command).then(endOfOutput, (thrown: unknown) =>
    endOfThrown(work, thrown),
  );
  const reading = { ...command, callId: resultIdOf(command.callId) };
  // Asynchronous, so that in one workflow task it resolves after subagents, whatever the order of history: the fold counts on it.
  const read = async (more: object): Promise<unknown> =>
    startActivity({ ...reading, input: { ...command.input, ended } }, more);
  return scope.consideredCancelled
    ? CancellationScope.nonCancellable(() => read({ scheduleToCloseTimeout: '1 minute' }))
    : read({ retry: { maximumInterval: '30 seconds' } });
}
