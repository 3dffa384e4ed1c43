/** Text for terminals: safe against what a model or tool wrote, cut to the width, colored only if colors are wanted. */
import stringWidth from 'string-width';
import wrapAnsi from 'wrap-ansi';
import { printable } from './printable';

const segmenter = new Intl.Segmenter();
/** Least width of a table's last column, which holds texts; and the indent of a row's further lines. */
const leastLastColumns = 30;
const indentColumns = 2;

/** Columns that a printable text takes. */
export const widthOf: (text: string) => number = stringWidth;

/** The text cut to this many columns, with an ellipsis for what is missing. */
export function cutTo(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let kept = '';
  for (const { segment } of segmenter.segment(text)) {
    if (widthOf(kept + segment) >= columns) break;
    kept += segment;
  }
  return `${kept}…`;
}

/** A text in lines of at most so many columns, broken where they are full, so that no blank is lost; all but the first begin with `gutter`. */
export function foldTo(text: string, columns: number, gutter: string): readonly string[] {
  if (columns === Infinity) return [text];
  const lines: string[] = [];
  let line = '';
  for (const { segment } of segmenter.segment(text)) {
    if (widthOf(line + segment) > columns && line !== gutter && line !== '') {
      lines.push(line);
      line = gutter;
    }
    line += segment;
  }
  return [...lines, line];
}

/** A printable text in lines of at most so many columns, broken at blanks if possible; all but the first are indented. */
export function wrapTo(text: string, columns: number, indent = 0): readonly string[] {
  const lead = /^ */.exec(text)?.[0] ?? '';
  const margin = ' '.repeat(Math.min(indent, Math.floor(columns / 2)));
  const wrapped = (part: string, width: number): readonly string[] =>
    wrapAnsi(part, Math.max(width, 1), { hard: true, trim: false }).split('\n');
  const [first = ''] = wrapped(text.slice(lead.length), columns - lead.length);
  const rest = text.slice(lead.length + first.length).trimStart();
  const more = rest === '' ? [] : wrapped(rest, columns - margin.length);
  return [lead + first, ...more.map((line) => margin + line.trimStart())].map((line) =>
    line.trimEnd(),
  );
}

/**
 * Rows in columns. Columns that do not fit on one line go to a further line, in every row alike, so a narrow terminal loses no
 * column. Lines are cut to the width, except for the first cell, which people copy. Cells are made printable.
 */
export function table(cells: readonly (readonly string[])[], columns: number): readonly string[] {
  const rows = cells.map((row) => row.map(printable));
  const widths = (rows[0] ?? []).map((_cell, column) =>
    Math.max(...rows.map((row) => widthOf(row[column] ?? ''))),
  );
  const lines = linesOfColumns(widths, columns);
  return rows.flatMap((row) =>
    lines.flatMap((line, place) => {
      const [first = '', ...rest] = line.map((column) =>
        padTo(row[column] ?? '', widths[column] ?? 0),
      );
      const isCopied = place === 0;
      const kept = isCopied ? `${first}  ` : '  ';
      const tail = (isCopied ? rest : [first, ...rest]).join('  ').trimEnd();
      const text = kept + cutTo(tail, Math.max(columns - widthOf(kept), 1));
      return text.trim() === '' ? [] : [text.trimEnd()];
    }),
  );
}

/** The columns of each line: a column goes to its predecessor's line if that has room, otherwise to a new line. */
function linesOfColumns(
  widths: readonly number[],
  columns: number,
): readonly (readonly number[])[] {
  const lines: number[][] = [[]];
  let used = 0;
  for (const [column, width] of widths.entries()) {
    const isLast = column === widths.length - 1;
    const needed = isLast ? Math.min(width, leastLastColumns) : width;
    const isFull = used > 0 && used + 2 + needed > columns;
    if (isFull) lines.push([]);
    lines.at(-1)?.push(column);
    used = isFull ? indentColumns + width : used + (used > 0 ? 2 : 0) + width;
  }
  return lines;
}

function padTo(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(columns - widthOf(text), 0));
}

const codes = { red: 31, green: 32, yellow: 33, cyan: 36, dim: 2, bold: 1 } as const;

/** Names of the colors in use. */
export type Color = keyof typeof codes;

/** A line for people, with its color. */
export interface DisplayLine {
  readonly color?: Color;
  /** Must not be cut: a person has to read all of it. */
  readonly isWhole?: true;
  /** Of text that others wrote: it is folded where a line is full, and this begins the lines that follow. */
  readonly gutter?: string;
  readonly text: string;
}

/** Colors a text. */
export type Paint = (color: Color, text: string) => string;

/** Makes the painter of one output. */
export function painter(hasColors: boolean): Paint {
  return (color, text) => (hasColors ? `\u001B[${codes[color]}m${text}\u001B[0m` : text);
}

/** `0:42`, `12:05`, `3:00:07`. */
export function duration(ms: number): string {
  const seconds = Math.max(Math.floor(ms / 1_000), 0);
  const two = (value: number): string => String(value).padStart(2, '0');
  const minutes = Math.floor(seconds / 60);
  if (minutes < 60) return `${minutes}:${two(seconds % 60)}`;
  return `${Math.floor(minutes / 60)}:${two(minutes % 60)}:${two(seconds % 60)}`;
}

/** `950`, `12.3k`, `4.5M`. */
export function shortNumber(value: number): string {
  if (value < 1_000) return String(value);
  if (value < 1_000_000) return `${(value / 1_000).toFixed(1)}k`;
  return `${(value / 1_000_000).toFixed(1)}M`;
}
