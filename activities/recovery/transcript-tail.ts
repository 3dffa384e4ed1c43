/** The end of a transcript as plain text, short enough for a planner's prompt. */
import type { Message, ToolResultBlock } from '../../workflows/core/message';
import { boundText } from '../sanitise';

/** Characters of one message and of the whole tail (ADR 0026). */
const messageChars = 1_200;
const tailChars = 8_000;

function resultLine({ name, content, isError }: ToolResultBlock): string {
  return `${isError ? 'error' : 'result'} of ${name}: ${boundText(content, messageChars)}`;
}

function linesOf(message: Message): readonly string[] {
  switch (message.role) {
    case 'user':
      return message.blocks.flatMap((block) =>
        block.type === 'text' ? [`user: ${boundText(block.text, messageChars)}`] : [],
      );
    case 'assistant':
      return message.blocks.flatMap((block) => {
        if (block.type === 'tool-call')
          return [
            `agent calls ${block.name} ${boundText(JSON.stringify(block.input), messageChars)}`,
          ];
        return block.type === 'text' ? [`agent: ${boundText(block.text, messageChars)}`] : [];
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
