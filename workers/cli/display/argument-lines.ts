/** What a person decides on, in lines that nothing written by a model can imitate: each has a bar in front. */
import type { ShownArguments } from '../../../workflows/core/secrets/ports';
import type { DisplayLine } from './terminal-text';

const bar = '  | ';

/** A line of text that others wrote, already free of what a terminal obeys; where it is folded, the bar goes on. */
export function barredLine(text: string, depth = ''): DisplayLine {
  return { color: 'yellow', text: `${bar}${depth}${text}`, gutter: `${bar}${depth}  ` };
}

/** A quoted value in lines, where its text has line ends; each still shows its `\n`. */
function linesOf(value: string): readonly string[] {
  return value.match(/(?:[^\\]|\\[^n])+(?:\\n)?|\\n/g) ?? [value];
}

/** A line for each value, in `isWhole` for each line of a value; then how many there are besides. */
export function argumentLines(
  { fields, more, isPart }: ShownArguments,
  isWhole = false,
): readonly DisplayLine[] {
  if (fields.length === 0 && isPart !== true) return [{ text: '  no arguments' }];
  const lines = fields.flatMap(({ name, value }) => {
    const [first = '', ...others] = isWhole ? linesOf(value) : [value];
    return [barredLine(`${name}: ${first}`), ...others.map((other) => barredLine(other, '  '))];
  });
  return more === undefined ? lines : [...lines, { text: `  +${more} more values` }];
}
