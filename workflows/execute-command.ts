/** Turns each command of the core into an activity, a timer or nothing; what comes back becomes an event. */
import { CancellationScope, isCancellation, sleep } from '@temporalio/workflow';
import {
  callModel,
  checkEdit,
  compact,
  notify,
  planRecovery,
  prepareRun,
  runTool,
} from './activity-proxies';
import { modelCallEvent, prepareCallId } from './core/run/protocol';
import type { ActivityCommand, RunCommand, UnstampedEvent } from './core/run/protocol';
import { endOfFailure, endOfResult } from './child-outcome';
import { failureFromActivity } from './failure-from-activity';
import { runSubagent } from './subagent-run';

/** Cancellable work in flight, by the id of its command. */
interface WorkInFlight {
  activity<Result>(
    id: string,
    run: () => Promise<Result>,
    completed: (result: Result) => UnstampedEvent,
    failed: (thrown: unknown) => UnstampedEvent,
  ): void;
  timer(id: string, delayMs: number, summary: string): void;
  cancel(id: string): void;
}

function createWorkInFlight(emit: (event: UnstampedEvent) => void): WorkInFlight {
  const scopes = new Map<string, CancellationScope>();

  function inScope(id: string, work: () => Promise<void>): void {
    const scope = new CancellationScope();
    scopes.set(id, scope);
    void scope.run(work).finally(() => {
      if (scopes.get(id) === scope) scopes.delete(id);
    });
  }

  return {
    activity(id, run, completed, failed) {
      inScope(id, () => run().then(completed, failed).then(emit));
    },
    timer(id, delayMs, summary) {
      inScope(id, async () => {
        try {
          await sleep(delayMs, { summary });
          emit({ type: 'timer-fired', timerId: id });
        } catch (thrown) {
          if (!isCancellation(thrown)) throw thrown;
        }
      });
    },
    cancel(id) {
      scopes.get(id)?.cancel();
    },
  };
}

/** An activity that is started as it comes; the others have something of their own round them. */
type PlainCommand = Exclude<ActivityCommand, { type: 'notify' | 'plan-recovery' }>;

function startPlan(
  work: WorkInFlight,
  command: Extract<RunCommand, { type: 'plan-recovery' }>,
): void {
  const { callId } = command;
  work.activity(
    callId,
    () => planRecovery(command),
    (result) => ({ type: 'recovery-planned', callId, result }),
    (thrown) => ({
      type: 'recovery-plan-failed',
      callId,
      failure: failureFromActivity(thrown, 'timeout'),
    }),
  );
}

function startEditCheck(
  work: WorkInFlight,
  command: Extract<ActivityCommand, { type: 'check-edit' }>,
): void {
  const { callId } = command;
  work.activity(
    callId,
    () => checkEdit(command),
    (result) => ({ type: 'edit-checked', callId, result }),
    (thrown) => ({
      type: 'edit-check-failed',
      callId,
      failure: failureFromActivity(thrown, 'tool_infrastructure'),
    }),
  );
}

/** Starts an activity; what comes of it is an event. */
function startActivity(work: WorkInFlight, command: PlainCommand): void {
  switch (command.type) {
    case 'prepare-run':
      work.activity(
        prepareCallId,
        () => prepareRun(command),
        (result) => ({ type: 'run-prepared', result }),
        (thrown) => ({
          type: 'run-preparation-failed',
          failure: failureFromActivity(thrown, 'worker_lost'),
        }),
      );
      return;
    case 'call-model':
      work.activity(
        command.callId,
        () => callModel(command),
        (result) => modelCallEvent(command.callId, result),
        (thrown) => ({
          type: 'model-call-failed',
          callId: command.callId,
          failure: failureFromActivity(thrown, 'timeout'),
        }),
      );
      return;
    case 'compact':
      work.activity(
        command.callId,
        () => compact(command),
        (result) => ({ type: 'compaction-completed', callId: command.callId, result }),
        (thrown) => ({
          type: 'compaction-failed',
          callId: command.callId,
          failure: failureFromActivity(thrown, 'worker_lost'),
        }),
      );
      return;
    case 'run-tool':
      work.activity(
        command.callId,
        () => runTool(command),
        (result) => ({ type: 'tool-call-completed', toolCallId: command.toolCallId, result }),
        (thrown) => ({
          type: 'tool-call-failed',
          toolCallId: command.toolCallId,
          failure: failureFromActivity(thrown, 'tool_infrastructure'),
        }),
      );
      return;
    case 'check-edit':
      startEditCheck(work, command);
      return;
  }
}

function startNotification(
  work: WorkInFlight,
  command: Extract<RunCommand, { type: 'notify' }>,
): void {
  const { callId } = command;
  work.activity(
    callId,
    () => notify(command),
    (result) => ({ type: 'notification-completed', callId, result }),
    (thrown) => ({
      type: 'notification-failed',
      callId,
      failure: failureFromActivity(thrown, 'tool_infrastructure'),
    }),
  );
}

function startSubagent(
  work: WorkInFlight,
  command: Extract<RunCommand, { type: 'run-subagent' }>,
): void {
  const { callId, toolCallId } = command;
  work.activity(
    callId,
    () => runSubagent(command),
    (result) => ({ type: 'subagent-ended', toolCallId, end: endOfResult(result) }),
    (thrown) => ({ type: 'subagent-ended', toolCallId, end: endOfFailure(thrown) }),
  );
}

/** Carries out one command of the core. */
export type CommandExecutor = (command: RunCommand) => void;

/**
 * Makes the executor of one segment.
 *
 * Contract: `emit` only appends to the event queue. Each activity and timer has its own cancellation scope.
 */
export function createCommandExecutor(emit: (event: UnstampedEvent) => void): CommandExecutor {
  const work = createWorkInFlight(emit);
  return (command) => {
    switch (command.type) {
      case 'prepare-run':
      case 'call-model':
      case 'compact':
      case 'run-tool':
      case 'check-edit':
        startActivity(work, command);
        return;
      case 'notify':
        startNotification(work, command);
        return;
      case 'plan-recovery':
        startPlan(work, command);
        return;
      case 'run-subagent':
        startSubagent(work, command);
        return;
      case 'start-timer':
        work.timer(command.timerId, command.delayMs, command.summary);
        return;
      case 'cancel-timer':
        work.cancel(command.timerId);
        return;
      case 'cancel-activities':
        for (const id of command.callIds) work.cancel(id);
        return;
      case 'publish':
      case 'roll-over':
      case 'end-run':
        return;
    }
  };
}
