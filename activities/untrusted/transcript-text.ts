/** Distinguishes the runtime's own messages in a transcript, which have the user's role for lack of another, from people's. */
import { noteProvenance } from '../../workflows/core/model-call/next-request';

/**
 * A text as one entry of a record: its further lines are indented, so that none of them can pass for the beginning of another
 * entry or for the end of the record.
 */
export function indentLines(text: string): string {
  return text.replace(/\r\n?|[\n\u2028\u2029\u0085\v\f]/g, '\n  ');
}

const continuations = /^\((?:The agent runtime|Continue\.|The beginning of this conversation)/;

/**
 * Whether the runtime wrote a user message.
 *
 * Contract: tools cannot write one, so nothing of theirs can pass for the runtime's here; but a result of the runtime's own call
 * is in such a message, so it must not pass for a person's word.
 */
export function isRuntimeText(text: string): boolean {
  return text.startsWith(noteProvenance) || continuations.test(text);
}
