/** The end of a transcript as plain text, short enough for a planner's prompt. */
import type { Message } from '../../workflows/core/message';
import { recordLines } from '../context/record-text';

/** Characters of one entry and of the whole tail (ADR 0026). */
const entryChars = 1_200;
const tailChars = 8_000;

/** The newest messages, oldest first. */
export function transcriptTail(messages: readonly Message[]): string {
  const lines: string[] = [];
  let chars = 0;
  for (const message of messages.toReversed()) {
    const text = recordLines([message], entryChars).join('\n');
    chars += text.length + 1;
    if (chars > tailChars) break;
    if (text !== '') lines.unshift(text);
  }
  return lines.join('\n');
}
