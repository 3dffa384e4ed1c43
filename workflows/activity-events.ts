/** What the result and the failure of each activity become: for the workflow and for the client's fold of history. */
import { ActivityFailure, CancelledFailure } from '@temporalio/common';
import type { ModelCallHeldBack, SentReply } from './core/model-call/ports';
import { wholeReply } from './core/model-call/sent-call';
import type { ActivityCommand, UnstampedEvent } from './core/run/protocol';
import type { RunToolResult, TemporalWork } from './core/tools/ports';
import { activityTable, prepareCallId } from './core/run/protocol';
import { failureFromActivity } from './failure-from-activity';

/** Whether an activity carries out the command. */
export function isActivityCommand(command: { readonly type: string }): command is ActivityCommand {
  return Object.hasOwn(activityTable, command.type);
}

/** The activity id of a command. */
export function activityIdOf(command: ActivityCommand): string {
  return command.type === 'prepare-run' ? prepareCallId : command.callId;
}

/** Activity id of a call that brings in the result of the Temporal work that it prepared. */
export function resultIdOf(callId: string): string {
  return `${callId}.result`;
}

/** The Temporal work that a tool call prepared in place of a result (ADR 0058). */
export function preparedWork(command: ActivityCommand, result: unknown): TemporalWork | undefined {
  // Written by the activity `runTool`; history is its record.
  return command.type === 'run-tool' ? (result as RunToolResult).work : undefined;
}

/** What names the activity in its events. */
function identityOf(command: ActivityCommand): object {
  if (command.type === 'prepare-run') return {};
  const { callId } = command;
  return command.type === 'run-tool' ? { toolCallId: command.toolCallId } : { callId };
}

/** The event of an activity's result. Contract: `result` is what the activity of this command returned. */
export function completedEvent(command: ActivityCommand, result: unknown): UnstampedEvent {
  const { completed } = activityTable[command.type];
  const identity = identityOf(command);
  if (command.type !== 'call-model')
    return { type: completed, ...identity, result } as UnstampedEvent;
  // Written by the activity `callModel`; history is its record.
  const reply = result as SentReply | ModelCallHeldBack;
  return 'heldBack' in reply
    ? ({ type: 'model-call-held-back', ...identity, result: reply } as UnstampedEvent)
    : ({
        type: completed,
        ...identity,
        result: wholeReply(reply, command.input),
      } as UnstampedEvent);
}

/** The event of an activity's failure. */
export function failedEvent(command: ActivityCommand, thrown: unknown): UnstampedEvent {
  const { failed, lost } = activityTable[command.type];
  const failure = failureFromActivity(thrown, lost);
  return { type: failed, ...identityOf(command), failure } as UnstampedEvent;
}

/** Whether a local activity that gave no result ends its call, because it was cancelled. Any other call then runs as an ordinary activity. */
export function endsLocalCall(thrown: unknown): boolean {
  const cause = thrown instanceof ActivityFailure ? thrown.cause : thrown;
  return cause instanceof CancelledFailure;
}
