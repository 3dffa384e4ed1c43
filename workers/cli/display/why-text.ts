/** The explanation of a run as people read it: a paragraph, then a table. Pure. */
import type { RunExplanation } from '../../../client/why/explanation';
import type { Counted } from '../../../client/why/story';
import type { CommandOutput } from '../command-context';
import { printable } from './printable';
import { painter, widthOf, wrapTo } from './terminal-text';

/** Columns of a label and the space behind it, as in `holdfast show`. */
const labelColumns = 11;

const narrowIndent = 2;

/** `3 x what`, with the counts right-aligned. */
function countedLines(counted: readonly Counted[]): readonly string[] {
  const width = Math.max(...counted.map(({ times }) => String(times).length));
  return counted.map(({ what, times }) => `${String(times).padStart(width)} x ${what}`);
}

/** The text of `holdfast why`. A command is never broken, so that it can be copied: the terminal folds it. */
export function whyText(
  { paragraph, failed, tried, worked, cost, next }: RunExplanation,
  output: Pick<CommandOutput, 'hasColors' | 'isTerminal' | 'columns'>,
): string {
  const paint = painter(output.hasColors);
  const columns = output.isTerminal ? output.columns() : Infinity;
  /** Below the values; where it does not fit there, near the edge, so that the terminal folds less of it. */
  const commandLine = (command: string): string => {
    const fits = labelColumns + widthOf(command) <= columns;
    return ' '.repeat(fits ? labelColumns : narrowIndent) + paint('bold', command);
  };
  const rows = (label: string, values: readonly string[]): readonly string[] =>
    values.flatMap((value, place) => {
      const name = (place === 0 ? label : '').padEnd(labelColumns);
      const [first = '', ...more] = wrapTo(`${name}${printable(value)}`, columns, labelColumns);
      return [paint('dim', name) + first.slice(labelColumns), ...more];
    });
  const counted = (label: string, given: readonly Counted[]): readonly string[] =>
    rows(label, given.length === 0 ? ['nothing'] : countedLines(given));
  const steps = next.flatMap(({ text, command }, place) => [
    ...rows(place === 0 ? 'do now' : '', [text]),
    ...(command === undefined ? [] : [commandLine(printable(command))]),
  ]);
  return [
    ...wrapTo(printable(paragraph), columns),
    '',
    ...counted('failed', failed),
    ...counted('tried', tried),
    ...counted('worked', worked),
    ...rows('cost', [cost]),
    ...steps,
  ].join('\n');
}
