/** What people send, as events: one reading of signals and updates for the workflow and for the client's fold of history. */
import { signalNames, updateNames } from './contract';
import type { Attachment } from './core/message';
import { readAttachments } from './core/attachments';
import type { JsonObject } from './core/json';
import type { UnstampedEvent } from './core/run/protocol';
import { attachmentsPerText } from './core/limits';
import { shortened } from './core/shortened';

/** Characters of a reason or a name that a person gives; the rest is cut. */
const reasonChars = 1_000;

/** Characters of an Ed25519 signature in base64url: 64 bytes (RFC 8032). */
export const signatureChars = 86;

/** The property `name` of a received value. */
export function field(argument: unknown, name: string): unknown {
  return typeof argument === 'object' && argument !== null
    ? (argument as Record<string, unknown>)[name]
    : undefined;
}

/** Received values are JSON. */
function isObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function textField(argument: unknown, name: string): string {
  const value = field(argument, name);
  return typeof value === 'string' ? value : '';
}

function optionalText<Name extends string>(
  argument: unknown,
  name: Name,
): { [Key in Name]?: string } {
  const value = shortened(textField(argument, name), reasonChars);
  return value === '' ? {} : ({ [name]: value } as { [Key in Name]?: string });
}

function kindOf(value: unknown): string {
  if (value === undefined) return 'an unreadable payload';
  if (value === null) return 'null';
  return Array.isArray(value) ? 'an array' : typeof value;
}

/** What is wrong with attachments that `AgentClient.upload` did not make. */
export const noAttachments = `"attachments" must be what AgentClient.upload returned: at most ${attachmentsPerText} images and files of a store`;

function withSome(attachments: readonly Attachment[]): {
  readonly attachments?: readonly Attachment[];
} {
  return attachments.length === 0 ? {} : { attachments };
}

function messageEvent(argument: unknown, by: { by?: string }): UnstampedEvent {
  const text = field(argument, 'text');
  const attachments = readAttachments(field(argument, 'attachments'));
  const isText = typeof text === 'string' && text.trim() !== '';
  if (isText && attachments !== undefined)
    return { type: 'message-added', text, ...withSome(attachments), ...by };
  if (isText)
    return { type: 'signal-dropped', signal: signalNames.addMessage, problem: noAttachments };
  const got = typeof text === 'string' ? 'an empty one' : `${kindOf(text)} in ${kindOf(argument)}`;
  const problem = `${signalNames.addMessage} takes { text } with a text that is not empty, got ${got}`;
  return { type: 'signal-dropped', signal: signalNames.addMessage, problem };
}

/**
 * The event of a signal; undefined for an unknown signal.
 *
 * Contract: total: any argument becomes a readable event, at least one that says that the signal was dropped.
 */
export function eventOfSignal(name: string, argument: unknown): UnstampedEvent | undefined {
  const by = optionalText(argument, 'by');
  switch (name) {
    case signalNames.escalate: {
      const reason = shortened(textField(argument, 'reason'), reasonChars);
      return {
        type: 'escalation-requested',
        reason: reason || 'a person asked to take over',
        ...by,
      };
    }
    case signalNames.stop: {
      const reason = shortened(textField(argument, 'reason'), reasonChars);
      return { type: 'stop-requested', reason: reason || 'a person stopped the run', ...by };
    }
    case signalNames.addMessage:
      return messageEvent(argument, by);
    default:
      return undefined;
  }
}

function decisionEvent(argument: unknown): Extract<UnstampedEvent, { type: 'approval-resolved' }> {
  const input = field(argument, 'input');
  const approves = textField(argument, 'decision') === 'approve';
  const signature = textField(argument, 'signature').slice(0, signatureChars);
  return {
    type: 'approval-resolved',
    approvalId: textField(argument, 'approvalId'),
    decision: approves ? 'approve' : 'reject',
    ...(approves && isObject(input) ? { input } : {}),
    ...optionalText(argument, 'reason'),
    ...optionalText(argument, 'by'),
    ...(signature === '' ? {} : { signature }),
  };
}

/** What an update comes to. */
export type DecisionEvent = Extract<
  UnstampedEvent,
  { type: 'approval-resolved' | 'question-answered' }
>;

/**
 * The event of an update; undefined for an unknown update.
 *
 * Contract: the argument has passed the update's validator.
 */
export function eventOfUpdate(name: string, argument: unknown): DecisionEvent | undefined {
  const by = optionalText(argument, 'by');
  switch (name) {
    case updateNames.resolveApproval:
      return decisionEvent(argument);
    case updateNames.answer:
      return {
        type: 'question-answered',
        questionId: textField(argument, 'questionId'),
        answer: textField(argument, 'answer'),
        ...withSome(readAttachments(field(argument, 'attachments')) ?? []),
        ...by,
      };
    default:
      return undefined;
  }
}
