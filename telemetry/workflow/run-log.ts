/** What a run decides, as log lines with iteration, trace and span: errors, plans, decisions, waits, ends. */
import { log } from '@temporalio/workflow';
import type { RunStep } from '../../workflows/run-observer';
import type { TimelineEntry } from '../../workflows/core/run/protocol';

/** Entries of every iteration: the trace has them as spans. */
const routine: ReadonlySet<TimelineEntry['type']> = new Set([
  'IterationStartedEvent',
  'ModelRepliedEvent',
  'ToolCallStartedEvent',
  'ToolCallSucceededEvent',
  // The `ErrorEvent` of the same error is logged.
  'NoToolCallEvent',
  'ToolResultErrorEvent',
]);

/** Entries that somebody should look at. */
const warnings: ReadonlySet<TimelineEntry['type']> = new Set([
  'EditRefusedEvent',
  'ErrorEvent',
  'EscalatedEvent',
  'NotificationFailedEvent',
  'PromptCutEvent',
  'SignalDroppedEvent',
  'StuckEvent',
]);

/** Fields that hold what people and models say: the store and the history have it, a log need not. */
const contents: ReadonlySet<string> = new Set(['goal', 'note', 'preview', 'task', 'text']);

function fieldsOf({ type: _type, atMs: _at, ...entry }: TimelineEntry): Record<string, unknown> {
  // The message of an end that is no failure is the head of the answer.
  const isAnswer = 'status' in entry && entry.status === 'completed';
  return Object.fromEntries(
    Object.entries(entry).filter(([key]) => !contents.has(key) && !(isAnswer && key === 'message')),
  );
}

/** Logs a step. The SDK logs nothing in replays, and adds the ids of workflow, run and trace. */
export function logStep({ event, decided: [state, commands] }: RunStep): void {
  if (event.type === 'approval-resolved') {
    const { approvalId, decision, by } = event;
    log.info('ApprovalResolved', {
      iteration: state.counters.iterations,
      approvalId,
      decision,
      by,
    });
  }
  for (const command of commands) {
    if (command.type !== 'publish' || routine.has(command.entry.type)) continue;
    const { entry } = command;
    log[warnings.has(entry.type) ? 'warn' : 'info'](entry.type, fieldsOf(entry));
  }
}
