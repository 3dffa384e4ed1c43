/** A section's rows as people read them on a terminal of 80 columns: what is wrong comes first. */
import type { JudgedRow } from './section';

const columns = 80;
/** Columns of a row's id; the longest one of the provider section has 45. */
const idColumns = 45;

function cut(text: string, width: number): string {
  return text.length <= width ? text : `${text.slice(0, width - 1)}…`;
}

/** Lines of at most 80 columns, indented. */
function wrapped(label: string, text: string): readonly string[] {
  const indent = ' '.repeat(label.length);
  const lines: string[] = [];
  let line = label;
  for (const word of text.split(/\s+/)) {
    const longer = line === label || line === indent ? `${line}${word}` : `${line} ${word}`;
    if (longer.length <= columns) {
      line = longer;
      continue;
    }
    lines.push(line);
    line = cut(`${indent}${word}`, columns);
  }
  return [...lines, line];
}

function rightLine({ id, expected }: JudgedRow): string {
  return cut(`ok   ${cut(id, idColumns).padEnd(idColumns)} ${expected}`, columns);
}

/** The table. Contract: no line is longer than 80 columns. */
export function scoreTable(section: string, rows: readonly JudgedRow[], elapsedMs: number): string {
  const wrong = rows.flatMap((row) => (row.wrong === undefined ? [] : [row.wrong]));
  const right = rows.filter((row) => row.wrong === undefined);
  return [
    ...wrong.flatMap((row) => [
      ...wrapped('WRONG  ', row.id),
      ...wrapped('       expected ', row.expected),
      ...wrapped('       got      ', row.got),
    ]),
    ...right.map(rightLine),
    `${section}: ${right.length} of ${rows.length} right in ${Math.round(elapsedMs / 100) / 10} s`,
  ].join('\n');
}
