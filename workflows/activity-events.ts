/** What the result and the failure of each activity become: one table for the workflow and for the client's fold of history. */
import type { InfraError } from './core/failure';
import type { ActivityCommand, ActivityResults, UnstampedEvent } from './core/run/protocol';
import { modelCallEvent, prepareCallId } from './core/run/protocol';
import { failureFromActivity } from './failure-from-activity';

type CommandType = ActivityCommand['type'];
type CommandOf<Type extends CommandType> = Extract<ActivityCommand, { type: Type }>;

/** The events of one activity. */
interface Row<Type extends CommandType> {
  readonly completed: (command: CommandOf<Type>, result: ActivityResults[Type]) => UnstampedEvent;
  readonly failed: (command: CommandOf<Type>, failure: InfraError) => UnstampedEvent;
  /** Code of a failure that carries none, such as a lost worker's. */
  readonly lost: 'timeout' | 'tool_infrastructure' | 'worker_lost';
}

const rows: { readonly [Type in CommandType]: Row<Type> } = {
  'prepare-run': {
    completed: (_command, result) => ({ type: 'run-prepared', result }),
    failed: (_command, failure) => ({ type: 'run-preparation-failed', failure }),
    lost: 'worker_lost',
  },
  'call-model': {
    completed: ({ callId }, result) => modelCallEvent(callId, result),
    failed: ({ callId }, failure) => ({ type: 'model-call-failed', callId, failure }),
    lost: 'timeout',
  },
  compact: {
    completed: ({ callId }, result) => ({ type: 'compaction-completed', callId, result }),
    failed: ({ callId }, failure) => ({ type: 'compaction-failed', callId, failure }),
    lost: 'worker_lost',
  },
  'run-tool': {
    completed: ({ toolCallId }, result) => ({ type: 'tool-call-completed', toolCallId, result }),
    failed: ({ toolCallId }, failure) => ({ type: 'tool-call-failed', toolCallId, failure }),
    lost: 'tool_infrastructure',
  },
  'check-edit': {
    completed: ({ callId }, result) => ({ type: 'edit-checked', callId, result }),
    failed: ({ callId }, failure) => ({ type: 'edit-check-failed', callId, failure }),
    lost: 'tool_infrastructure',
  },
  notify: {
    completed: ({ callId }, result) => ({ type: 'notification-completed', callId, result }),
    failed: ({ callId }, failure) => ({ type: 'notification-failed', callId, failure }),
    lost: 'tool_infrastructure',
  },
  'plan-recovery': {
    completed: ({ callId }, result) => ({ type: 'recovery-planned', callId, result }),
    failed: ({ callId }, failure) => ({ type: 'recovery-plan-failed', callId, failure }),
    lost: 'timeout',
  },
};

function rowOf<Type extends CommandType>(command: CommandOf<Type>): Row<Type> {
  return rows[command.type];
}

/** Whether an activity carries out the command. */
export function isActivityCommand(command: { readonly type: string }): command is ActivityCommand {
  return Object.hasOwn(rows, command.type);
}

/** The activity id of a command. */
export function activityIdOf(command: ActivityCommand): string {
  return command.type === 'prepare-run' ? prepareCallId : command.callId;
}

/** The event of an activity's result. Contract: `result` is what the activity of this command returned. */
export function completedEvent<Type extends CommandType>(
  command: CommandOf<Type>,
  result: unknown,
): UnstampedEvent {
  return rowOf(command).completed(command, result as ActivityResults[Type]);
}

/** The event of an activity's failure. */
export function failedEvent<Type extends CommandType>(
  command: CommandOf<Type>,
  thrown: unknown,
): UnstampedEvent {
  const { failed, lost } = rowOf(command);
  return failed(command, failureFromActivity(thrown, lost));
}
