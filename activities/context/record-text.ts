/** A conversation as plain lines: what a model summarizes, and what replaces a summary if no model can. */
import type { AssistantMessage, MediaBlock, Message } from '../../workflows/core/message';
import { withoutSecrets } from '../untrusted/known-secrets';
import { headToCut, tailFromCut } from '../untrusted/sanitizer';
import { indentLines, isRuntimeText } from '../untrusted/transcript-text';
import { wellFormedText } from '../providers/request/well-formed';

/** Characters of one line: a huge result must not displace everything else. */
const lineChars = 3_000;

function cut(text: string, chars: number): string {
  if (text.length <= chars) return text;
  const head = Math.ceil((chars * 2) / 3);
  return `${wellFormedText(headToCut(text.slice(0, head)))} […] ${wellFormedText(tailFromCut(text.slice(text.length - (chars - head))))}`;
}

/** One entry, indented so that no line of it can pass for another speaker or for the end of the record. */
function entry(who: string, text: string, chars: number): string {
  return indentLines(`${who}: ${cut(text, chars)}`);
}

function speakerOf(text: string): string {
  return isRuntimeText(text) ? 'RUNTIME' : 'USER';
}

function assistantLines(message: AssistantMessage, chars: number): readonly string[] {
  return message.blocks.flatMap((block): readonly string[] => {
    switch (block.type) {
      case 'text':
      case 'refusal':
        return block.text.trim() === '' ? [] : [entry('AGENT', block.text, chars)];
      case 'tool-call':
        return [
          entry(
            `AGENT CALLS ${block.name}`,
            withoutSecrets(JSON.stringify(block.input)),
            chars / 2,
          ),
        ];
      case 'reasoning':
      case 'vendor-block':
        return [];
    }
  });
}

/** An image or a document in words, with the ref under which it can be seen again. */
function mediaLine({ type, name, mediaType, ref }: MediaBlock): string {
  return `(${type === 'image' ? 'an image' : 'a document'}: ${name ?? mediaType}, ref ${ref})`;
}

/** The lines of a conversation without its summaries, since those are merged unchanged. */
export function recordLines(messages: readonly Message[], chars = lineChars): readonly string[] {
  return messages.flatMap((message): readonly string[] => {
    switch (message.role) {
      case 'user':
        return message.summary !== undefined
          ? []
          : message.blocks.map((block) =>
              block.type === 'text'
                ? entry(speakerOf(block.text), block.text, chars)
                : `USER: ${mediaLine(block)}`,
            );
      case 'assistant':
        return assistantLines(message, chars);
      case 'tool':
        return message.results.flatMap(({ name, isError, content, media = [] }) => [
          entry(`${isError ? 'ERROR' : 'RESULT'} OF ${name}`, content, chars),
          ...media.map((block) => `RESULT OF ${name}: ${mediaLine(block)}`),
        ]);
    }
  });
}

/** Characters of one line of the plain description, and lines of it. */
const plainLineChars = 160;
const plainLines = 24;

/**
 * Tier 4: what happened, described without a model.
 *
 * Source: R-CTX-1.
 */
export function plainDescription(messages: readonly Message[]): string {
  const lines = recordLines(messages).map((line) => cut(line.replace(/\s+/g, ' '), plainLineChars));
  const shown =
    lines.length <= plainLines
      ? lines
      : [
          ...lines.slice(0, plainLines / 2),
          `(${lines.length - plainLines} more lines)`,
          ...lines.slice(lines.length - plainLines / 2),
        ];
  return [`${messages.length} messages, described without a model:`, ...shown].join('\n');
}
