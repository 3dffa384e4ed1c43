/** Turns each command of the core into an activity, a timer, a subagent, or nothing; what returns becomes an event. */
import { CancellationScope, isCancellation, sleep } from '@temporalio/workflow';
import { activityIdOf, completedEvent, failedEvent, isActivityCommand } from './activity-events';
import { startActivity } from './activity-proxies';
import { endOfFailure, endOfResult } from './child-outcome';
import type { RunCommand, UnstampedEvent } from './core/run/protocol';
import { runSubagent } from './subagent-run';

/** Cancellable work in flight, by the id of its command. */
interface WorkInFlight {
  start<Result>(
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
    start(id, run, completed, failed) {
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
    if (isActivityCommand(command)) {
      work.start(
        activityIdOf(command),
        () => startActivity(command),
        (result) => completedEvent(command, result),
        (thrown) => failedEvent(command, thrown),
      );
      return;
    }
    switch (command.type) {
      case 'run-subagent': {
        const { callId, toolCallId } = command;
        work.start(
          callId,
          () => runSubagent(command),
          (result) => ({ type: 'subagent-ended', toolCallId, end: endOfResult(result) }),
          (thrown) => ({ type: 'subagent-ended', toolCallId, end: endOfFailure(thrown) }),
        );
        return;
      }
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
