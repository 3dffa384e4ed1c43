/** Splits a command line into program and arguments, without a shell's powers. */
import { ToolError } from '../../tool-error';

/** What only a shell understands, outside of quotes. */
const shellOnly = /^(?:[|&;<>()`]|\$[({\w])/;

const noShell =
  'There is no shell: one program per call, without |, &&, ;, >, $VAR or `…`. Quote arguments that contain such characters.';

function refuse(what: string): never {
  throw new ToolError(`The command ${what}`, { code: 'invalid_params', hint: noShell });
}

/** A blank, a quoted part, an escaped character, a quote that is not closed, or any other character. */
const piece =
  /(?<blank>\s+)|"(?<double>(?:[^"\\]|\\[^])*)"|'(?<single>[^']*)'|\\(?<escaped>[^])|(?<open>["'])|(?<plain>[^])/g;

/** The text of a piece that is not blank. */
function textOf(piece: Readonly<Record<string, string | undefined>>, rest: string): string {
  const { double, single, escaped, open, plain = '' } = piece;
  if (open !== undefined) refuse(`has a quote ${open} that is not closed`);
  if (double !== undefined) return double.replace(/\\(["\\])/g, '$1');
  const quoted = single ?? escaped;
  if (quoted !== undefined) return quoted;
  if (!shellOnly.test(rest)) return plain;
  return refuse(`uses ${JSON.stringify(rest.slice(0, 2).trim())}, which needs a shell`);
}

/**
 * Program and arguments of a command line: blanks separate words, quotes and backslashes keep them together.
 *
 * Errors: `ToolError` `invalid_params` for an empty line, an open quote, or what only a shell understands.
 */
export function commandWords(line: string): readonly string[] {
  const words: string[] = [];
  let isOpen = false;
  for (const { groups = {}, index } of line.matchAll(piece)) {
    const isBlank = groups['blank'] !== undefined;
    if (!isBlank) {
      const text = textOf(groups, line.slice(index));
      words.push(isOpen ? `${words.pop() ?? ''}${text}` : text);
    }
    isOpen = !isBlank;
  }
  return words.length === 0 ? refuse('is empty') : words;
}
