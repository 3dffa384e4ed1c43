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
import { codeSpan } from './core/view/markdown';
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
    ...inheritedSearchAttributes(request.agent),
  });
}

/** Waits for a timer; says nothing if it is cancelled. */
async function fireTimer(
  { timerId, delayMs, summary }: Extract<RunCommand, { type: 'start-timer' }>,
  emit: (event: UnstampedEvent) => void,
): Promise<void> {
  try {
    await sleep(delayMs, { summary });
    emit({ type: 'timer-fired', timerId });
  } catch (thrown) {
    if (!isCancellation(thrown)) throw thrown;
  }
}

/**
 * Makes the executor of one segment.
 *
 * Contract: `emit` only appends to the event queue. Each activity and timer has its own cancellation scope.
 */
export function createCommandExecutor(
  emit: (event: UnstampedEvent) => void,
): (command: RunCommand) => void {
  /** Of what is in flight, by the id of its command. */
  const scopes = new Map<string, CancellationScope>();

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

  function start(id: string, work: () => Promise<void>): void {
    const scope = new CancellationScope();
    scopes.set(id, scope);
    void scope.run(work).finally(() => {
      if (scopes.get(id) === scope) scopes.delete(id);
    });
  }

  return (command) => {
    if (isActivityCommand(command)) {
      const failed = (thrown: unknown): UnstampedEvent => failedEvent(command, thrown);
      const completed = (result: unknown): UnstampedEvent => completedEvent(command, result);
      const goOn = (result: unknown): UnstampedEvent | Promise<UnstampedEvent> => {
        const work = preparedWork(command, result);
        return work === undefined || command.type !== 'run-tool'
          ? completed(result)
          : runPreparedWork(command, work).then(completed, failed);
      };
      start(activityIdOf(command), () => begin(command).then(goOn, failed).then(emit));
      return;
    }
    switch (command.type) {
      case 'run-subagent': {
        const { callId, toolCallId } = command;
        start(callId, () =>
          runSubagent(command)
            .then(endOfResult, endOfFailure)
            .then((end) => {
              emit({ type: 'subagent-ended', toolCallId, end });
            }),
        );
        return;
      }
      case 'start-timer':
        start(command.timerId, () => fireTimer(command, emit));
        return;
      case 'cancel-timer':
        scopes.get(command.timerId)?.cancel();
        return;
      case 'cancel-activities':
        for (const id of command.callIds) scopes.get(id)?.cancel();
        return;
      case 'publish':
      case 'roll-over':
      case 'end-run':
        return;
    }
  };
}
