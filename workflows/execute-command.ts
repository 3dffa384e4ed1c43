/** Turns each command of the core into an activity, a timer, a subagent, or nothing; what returns becomes an event. */
import {
  CancellationScope,
  ChildWorkflowCancellationType,
  executeChild,
  isCancellation,
  ParentClosePolicy,
  sleep,
  workflowInfo,
} from '@temporalio/workflow';
import {
  activityIdOf,
  completedEvent,
  failedEvent,
  isActivityCommand,
  preparedWork,
} from './activity-events';
import { startActivity, startLocalCall } from './activity-proxies';
import { endOfFailure, endOfResult } from './child-outcome';
import type { AgentRunWorkflow } from './contract';
import { agentRunWorkflow } from './contract';
import type { RunOutcome } from './core/run/outcome';
import type { ActivityCommand, RunCommand, UnstampedEvent } from './core/run/protocol';
import { shownText } from './core/secrets/shown-text';
import { visibleText } from './core/secrets/visible-text';
import type { TemporalWork } from './core/tools/ports';
import { codeSpan } from './core/view/markdown';
import { memoOf } from './core/view/memo';
import { inheritedSearchAttributes } from './run-visibility';
import { runPreparedWork } from './temporal-work';
import { shortened } from './core/shortened';

/** Characters of the task that a page shows. */
const taskChars = 500;

/** Characters of a summary: Temporal takes 400 bytes, and a character has four at most. */
const summaryChars = 100;

/**
 * Runs a subagent to its end.
 *
 * Contract: a cancel is passed on and awaited, so that nothing of the subagent is lost; a subagent never outlives its parent run.
 */
function runSubagent({
  request,
  runId,
}: Extract<RunCommand, { type: 'run-subagent' }>): Promise<RunOutcome> {
  const task = shownText(request.goal, taskChars).replace(/\s+/g, ' ').trim();
  return executeChild<AgentRunWorkflow>(agentRunWorkflow, {
    workflowId: runId,
    args: [{ request }],
    cancellationType: ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
    parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
    staticSummary: shortened(`${request.agent}: ${visibleText(task)}`, summaryChars),
    staticDetails: `### Subagent of ${codeSpan(request.parent?.runId ?? '')}\n\n> ${codeSpan(task)}`,
    memo: memoOf(runId, request.agent),
    ...inheritedSearchAttributes(request),
  });
}

/**
 * The event of a call whose work has ended. Asynchronous, so that in one workflow task it comes after those of subagents, whatever
 * the order of history: the fold counts on it.
 */
async function eventOfWork(
  command: Extract<RunCommand, { type: 'run-tool' }>,
  work: TemporalWork,
): Promise<UnstampedEvent> {
  return runPreparedWork(command, work).then(
    (result) => completedEvent(command, result),
    (thrown: unknown) => failedEvent(command, thrown),
  );
}

/** Ends what was started, with the event that it came to. */
type End = (event?: UnstampedEvent) => void;

/** Waits for a timer; says nothing if it is cancelled. */
async function fireTimer(
  { timerId, delayMs, summary }: Extract<RunCommand, { type: 'start-timer' }>,
  end: End,
): Promise<void> {
  try {
    await sleep(delayMs, { summary });
  } catch (thrown) {
    if (!isCancellation(thrown)) throw thrown;
    end();
    return;
  }
  end({ type: 'timer-fired', timerId });
}

/** What is in flight, by the id of its command. */
interface InFlight {
  /** Starts work in a scope of its own. */
  readonly start: (id: string, work: (end: End) => Promise<void>) => void;
  readonly cancel: (id: string) => void;
}

/** Contract: made in the scope that all commands belong to. */
function createInFlight(emit: (event: UnstampedEvent) => void): InFlight {
  const scopes = new Map<string, CancellationScope>();

  /** Of what has ended and was not cancelled, for what starts next: a scope costs four promises (ADR 0055). */
  const idle: CancellationScope[] = [];

  /** Named, since commands start in the scope of the command whose event they answer. */
  const parent = CancellationScope.current();

  return {
    start: (id, work) => {
      const scope = idle.pop() ?? new CancellationScope({ parent, cancellable: true });
      scopes.set(id, scope);
      const end: End = (event) => {
        if (scopes.get(id) === scope) scopes.delete(id);
        if (!scope.consideredCancelled) idle.push(scope);
        if (event !== undefined) emit(event);
      };
      // It is mostly the scope that the event came in: to enter it once more costs two promises.
      if (scope === CancellationScope.current()) void work(end);
      else void scope.run(() => work(end));
    },
    cancel: (id) => scopes.get(id)?.cancel(),
  };
}

/**
 * Makes the executor of one segment.
 *
 * Contract: made in the scope that all commands belong to. Each activity, timer and subagent in flight has a cancellation scope
 * of its own.
 */
export function createCommandExecutor(
  emit: (event: UnstampedEvent) => void,
): (command: RunCommand) => void {
  const { start, cancel } = createInFlight(emit);

  /**
   * Whether this instance of the workflow asked the model last, and was not rebuilt from history since. A call that ended its
   * worker, or blocked it until the workflow task was lost, comes to an instance that did not ask.
   */
  let hasAsked = false;

  function begin(command: ActivityCommand): Promise<unknown> {
    if (command.type === 'call-model') hasAsked = !workflowInfo().unsafe.isReplaying;
    return command.type === 'run-tool' && command.isLocal === true
      ? startLocalCall(command, !hasAsked)
      : startActivity(command);
  }

  return (command) => {
    if (isActivityCommand(command)) {
      start(activityIdOf(command), (end) => {
        const failed = (thrown: unknown): void => {
          end(failedEvent(command, thrown));
        };
        return begin(command).then((result) => {
          const work = preparedWork(command, result);
          if (work !== undefined && command.type === 'run-tool')
            return eventOfWork(command, work).then(end);
          end(completedEvent(command, result));
          return undefined;
        }, failed);
      });
      return;
    }
    switch (command.type) {
      case 'run-subagent': {
        const { callId, toolCallId } = command;
        start(callId, async (end) => {
          const ended = await runSubagent(command).then(endOfResult, endOfFailure);
          end({ type: 'subagent-ended', toolCallId, end: ended });
        });
        return;
      }
      case 'start-timer':
        start(command.timerId, (end) => fireTimer(command, end));
        return;
      case 'cancel-timer':
        cancel(command.timerId);
        return;
      case 'cancel-activities':
        command.callIds.forEach(cancel);
        return;
      case 'publish':
      case 'roll-over':
      case 'end-run':
        return;
    }
  };
}
