/** Splits a command line into program and arguments, without a shell's powers. */
import { ToolError } from '../../tool-error';

/** What only a shell understands, outside of quotes. */
const shellOnly = /^(?:[|&;<>()`]|\$[({\w])/;

const noShell =
  'There is no shell: one program per call, without |, &&, ;, >, $VAR or `…`. Quote arguments that hold such characters.';

interface Word {
  text: string;
  isOpen: boolean;
}

function refuse(what: string): never {
  throw new ToolError(`The command ${what}`, { code: 'invalid_params', hint: noShell });
}

/** Reads a quoted part; returns its text and where it ends. */
function quoted(line: string, start: number): { readonly text: string; readonly end: number } {
  const quote = line[start];
  let text = '';
  for (let at = start + 1; at < line.length; at++) {
    const next = line[at + 1];
    if (line[at] === quote) {
      return { text, end: at };
    }
    if (quote === '"' && line[at] === '\\' && (next === '"' || next === '\\')) {
      text += next;
      at += 1;
    } else {
      text += line[at] ?? '';
    }
  }
  return refuse(`has a quote ${quote ?? ''} that is not closed`);
}

/**
 * Program and arguments of a command line: blanks part words, quotes and backslashes keep them together.
 *
 * Errors: `ToolError` `invalid_params` for an empty line, an open quote, or what only a shell understands.
 */
export function commandWords(line: string): readonly string[] {
  const words: string[] = [];
  const word: Word = { text: '', isOpen: false };
  const endWord = (): void => {
    if (word.isOpen) {
      words.push(word.text);
    }
    word.text = '';
    word.isOpen = false;
  };
  for (let at = 0; at < line.length; at++) {
    const character = line[at] ?? '';
    if (/\s/.test(character)) {
      endWord();
      continue;
    }
    if (shellOnly.test(line.slice(at, at + 2))) {
      return refuse(`uses ${JSON.stringify(line.slice(at, at + 2).trim())}, which needs a shell`);
    }
    word.isOpen = true;
    if (character === '"' || character === "'") {
      const part = quoted(line, at);
      word.text += part.text;
      at = part.end;
    } else if (character === '\\' && at + 1 < line.length) {
      at += 1;
      word.text += line[at] ?? '';
    } else {
      word.text += character;
    }
  }
  endWord();
  return words.length === 0 ? refuse('is empty') : words;
}
