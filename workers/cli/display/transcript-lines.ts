/** A transcript for people: every line is safe for a terminal, whatever a model or tool wrote. */
import { defined } from '../../../workflows/core/json';
import type { MediaBlock, Message } from '../../../workflows/core/message';
import type { DisplayLine } from './terminal-text';
import { printableLines } from './printable';

function textLines(prefix: string, text: string, color?: DisplayLine['color']): DisplayLine[] {
  return printableLines(text).map((line, index) => ({
    ...defined({ color }),
    text: `${index === 0 ? prefix : ' '.repeat(prefix.length)}${line}`,
  }));
}

function mediaText({ type, mediaType, name, bytes, ref, removed }: MediaBlock): string {
  const what = [type, ...(name === undefined ? [] : [name]), mediaType, `${bytes} bytes`].join(
    ', ',
  );
  return `(${what}, ref ${ref}${removed === true ? ', removed from requests' : ''})`;
}

function messageLines(message: Message): readonly DisplayLine[] {
  switch (message.role) {
    case 'user':
      return message.blocks.flatMap((block) =>
        block.type === 'text'
          ? textLines('user       ', block.text, 'bold')
          : textLines('user       ', mediaText(block), 'bold'),
      );
    case 'assistant':
      return message.blocks.flatMap((block) => {
        switch (block.type) {
          case 'text':
            return textLines('model      ', block.text);
          case 'refusal':
            return textLines('model      ', `(declined) ${block.text}`, 'yellow');
          case 'reasoning':
            return block.text === '' ? [] : textLines('reasoning  ', block.text, 'dim');
          case 'vendor-block':
            return textLines('vendor     ', JSON.stringify(block.content), 'dim');
          case 'tool-call':
            return textLines('call       ', `${block.name} ${JSON.stringify(block.input)}`, 'cyan');
        }
      });
    case 'tool':
      return message.results.flatMap(({ name, content, isError, blob, media = [] }) => [
        ...textLines(
          'result     ',
          `${name}${isError ? ' (failed)' : ''}:`,
          isError ? 'red' : 'dim',
        ),
        ...textLines('           ', content, 'dim'),
        ...media.flatMap((block) => textLines('           ', mediaText(block), 'dim')),
        ...(blob === undefined ? [] : textLines('           ', `(whole output: ${blob})`, 'dim')),
      ]);
  }
}

/** The lines of a whole transcript, an empty one between two messages. */
export function transcriptLines(messages: readonly Message[]): readonly DisplayLine[] {
  return messages.flatMap((message, index) => [
    ...(index === 0 ? [] : [{ text: '' }]),
    ...messageLines(message),
  ]);
}
