/** The end of a transcript as plain text, short enough for a planner's prompt. */
import type { Message, ToolResultBlock } from '../../workflows/core/message';
import { asOneEntry } from '../untrusted/record-entry';
import { redactText } from '../../workflows/core/secrets/redact';
import { isRuntimeText } from '../untrusted/runtime-text';
import { boundText } from '../untrusted/sanitizer';

/** Characters of one message and of the whole tail (ADR 0026). */
const messageChars = 1_200;
const tailChars = 8_000;

function entry(who: string, text: string): string {
  return asOneEntry(`${who}: ${boundText(text, messageChars)}`);
}

function resultLine({ name, content, isError }: ToolResultBlock): string {
  return entry(`${isError ? 'error' : 'result'} of ${name}`, content);
}

/** What the runtime put in is no word of the user: a result stands in it. */
function whoSays(text: string): string {
  return isRuntimeText(text) ? 'runtime' : 'user';
}

function linesOf(message: Message): readonly string[] {
  switch (message.role) {
    case 'user':
      return message.blocks.flatMap((block) =>
        block.type === 'text' ? [entry(whoSays(block.text), block.text)] : [],
      );
    case 'assistant':
      return message.blocks.flatMap((block) => {
        if (block.type === 'tool-call')
          return [entry(`agent calls ${block.name}`, redactText(JSON.stringify(block.input)))];
        return block.type === 'text' ? [entry('agent', block.text)] : [];
      });
    case 'tool':
      return message.results.map(resultLine);
  }
}

/** The newest messages, oldest first. */
export function transcriptTail(messages: readonly Message[]): string {
  const lines: string[] = [];
  let chars = 0;
  for (const message of [...messages].reverse()) {
    const text = linesOf(message).join('\n');
    chars += text.length + 1;
    if (chars > tailChars) break;
    lines.unshift(text);
  }
  return lines.filter((line) => line !== '').join('\n');
}
