/** Text for terminals: safe against what a model or tool wrote, cut to the width, colored only if colors are wanted. */

/** Control characters, which could move the cursor or change the terminal, and characters that hide or reverse text. */
const unprintable = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\u2028\u2029]+/gu;
const wide =
  /[\u1100-\u115F\u2E80-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\u{1F300}-\u{1FAFF}\u{20000}-\u{3FFFD}]/u;
const segmenter = new Intl.Segmenter();

/** One line without anything that a terminal would obey. */
export function printable(text: string): string {
  return text.replace(/\s+/g, ' ').replace(unprintable, '').trim();
}

/** Columns that a printable text takes. */
export function widthOf(text: string): number {
  let width = 0;
  for (const { segment } of segmenter.segment(text)) width += wide.test(segment) ? 2 : 1;
  return width;
}

/** The text cut to this many columns, with an ellipsis for what is missing. */
export function cutTo(text: string, columns: number): string {
  if (widthOf(text) <= columns) return text;
  let kept = '';
  let width = 0;
  for (const { segment } of segmenter.segment(text)) {
    width += wide.test(segment) ? 2 : 1;
    if (width > columns - 1) break;
    kept += segment;
  }
  return `${kept}…`;
}

/** The text in lines of at most this many columns, broken at blanks if possible; all but the first are indented. */
export function wrapTo(text: string, columns: number, indent = 0): readonly string[] {
  const margin = ' '.repeat(Math.min(indent, Math.floor(columns / 2)));
  const lines: string[] = [];
  let line = '';
  const take = (piece: string): void => {
    if (line.trim() !== '' && widthOf(line + piece.trimEnd()) > columns) {
      lines.push(line.trimEnd());
      line = margin + piece.trimStart();
    } else line += piece;
  };
  for (const word of text.match(/^\s*\S*\s*|\S+\s*/g) ?? []) {
    const isLong = widthOf(word.trim()) > columns - margin.length;
    if (isLong) for (const { segment } of segmenter.segment(word)) take(segment);
    else take(word);
  }
  return [...lines, line.trimEnd()];
}

/** The text padded with blanks to this many columns. */
export function padTo(text: string, columns: number): string {
  return text + ' '.repeat(Math.max(columns - widthOf(text), 0));
}

const codes = { red: 31, green: 32, yellow: 33, cyan: 36, dim: 2, bold: 1 } as const;

/** Names of the colors in use. */
export type Color = keyof typeof codes;

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
