/** What people send, as events: one reading of signals and updates for the workflow and for the client's fold of history. */
import { signalNames, updateNames } from './contract';
import type { UnstampedEvent } from './core/run-protocol';

/** Characters of a reason or a name that a person gives; the rest is cut. */
const reasonChars = 1_000;

/** The property `name` of a value that came over the wire. */
export function field(argument: unknown, name: string): unknown {
  return typeof argument === 'object' && argument !== null
    ? (argument as Record<string, unknown>)[name]
    : undefined;
}

function textField(argument: unknown, name: string): string {
  const value = field(argument, name);
  return typeof value === 'string' ? value : '';
}

function optionalText<Name extends string>(
  argument: unknown,
  name: Name,
): { [Key in Name]?: string } {
  const value = textField(argument, name).slice(0, reasonChars);
  return value === '' ? {} : ({ [name]: value } as { [Key in Name]?: string });
}

/**
 * The event of a signal; undefined for an unknown signal and for one that says nothing.
 *
 * Contract: total: whatever the argument is, a readable event comes of it.
 */
export function eventOfSignal(name: string, argument: unknown): UnstampedEvent | undefined {
  const by = optionalText(argument, 'by');
  switch (name) {
    case signalNames.escalate: {
      const reason = textField(argument, 'reason').slice(0, reasonChars);
      return {
        type: 'escalation-requested',
        reason: reason || 'a person asked to take over',
        ...by,
      };
    }
    case signalNames.stop: {
      const reason = textField(argument, 'reason').slice(0, reasonChars);
      return { type: 'stop-requested', reason: reason || 'a person stopped the run', ...by };
    }
    case signalNames.addMessage: {
      const text = textField(argument, 'text');
      return text.trim() === '' ? undefined : { type: 'message-added', text, ...by };
    }
    default:
      return undefined;
  }
}

/**
 * The event of an update; undefined for an unknown update.
 *
 * Contract: the argument has passed the update's validator.
 */
export function eventOfUpdate(name: string, argument: unknown): UnstampedEvent | undefined {
  const by = optionalText(argument, 'by');
  switch (name) {
    case updateNames.resolveApproval:
      return {
        type: 'approval-resolved',
        approvalId: textField(argument, 'approvalId'),
        decision: textField(argument, 'decision') === 'approve' ? 'approve' : 'reject',
        ...optionalText(argument, 'reason'),
        ...by,
      };
    case updateNames.answer:
      return {
        type: 'question-answered',
        questionId: textField(argument, 'questionId'),
        answer: textField(argument, 'answer'),
        ...by,
      };
    default:
      return undefined;
  }
}
