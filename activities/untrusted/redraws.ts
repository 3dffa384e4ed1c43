/** Folds what programs draw again and again, such as a progress bar, to its last state, as a terminal shows it (ADR 0044). */
/* eslint-disable no-control-regex -- what terminals obey */
import { setImmediate as turn } from 'node:timers/promises';

/** Lines that can still be drawn over: more than terminals have. */
const screenLines = 200;
/** Columns that a jump may skip. */
const maxColumn = 500;
/** Characters that are drawn without a break for other work of the process. */
const sliceChars = 1024 * 1024;

/** A cursor movement or an erasure, the start of a line, a backspace, a line end, other sequences, or text. */
const piece =
  /\r{0,4}\n|\r|\u0008|(?:\u001b\[|\u009b)([0-?]{0,16})[ -/]{0,4}([@-~])|[^\r\n\u0008\u001b\u009b]+|[\u001b\u009b]/g;

/** What redraws a line: anything else needs no folding. */
const drawing = /\r(?!\n)|\u0008|(?:\u001b\[|\u009b)[0-9;]{0,16}[A-GJK]/;

/** A screen that remembers its last lines. */
class Screen {
  readonly #done: string[] = [];
  #lines: string[][] = [[]];
  #row = 0;
  #column = 0;
  /** Something was drawn over or erased. */
  isFolded = false;

  draw(text: string): void {
    for (const [whole, amount = '', final] of text.matchAll(piece)) {
      if (final !== undefined) this.#control(final, amount);
      else if (whole.endsWith('\n')) this.#lineEnd();
      else if (whole === '\r') this.#column = 0;
      else if (whole === '\u0008') this.#column = Math.max(0, this.#column - 1);
      else this.#print(whole);
    }
  }

  text(): string {
    return [...this.#done, ...this.#lines.map((line) => line.join('').trimEnd())].join('\n');
  }

  get #line(): string[] {
    return (this.#lines[this.#row] ??= []);
  }

  #print(text: string): void {
    const line = this.#line;
    if (this.#column < line.length) this.isFolded = true;
    while (line.length < this.#column) line.push(' ');
    for (const char of text) {
      line[this.#column] = char;
      this.#column += 1;
    }
  }

  #lineEnd(): void {
    this.#column = 0;
    this.#row += 1;
    if (this.#row >= this.#lines.length) this.#lines.push([]);
    if (this.#lines.length <= screenLines) return;
    const [first = []] = this.#lines.splice(0, 1);
    this.#done.push(first.join('').trimEnd());
    this.#row -= 1;
  }

  #erase(from: number, to = Infinity): void {
    const line = this.#line;
    if (line.length > from) this.isFolded = true;
    if (to >= line.length) line.length = Math.min(line.length, from);
    else line.fill(' ', from, to);
  }

  #control(final: string, given: string): void {
    const [first = ''] = given.split(';');
    const amount = Number(first);
    const count = Number.isNaN(amount) ? 0 : Math.max(1, amount);
    const isAll = amount === 2 || amount === 3;
    switch (final) {
      case 'A':
      case 'F':
        this.#row = Math.max(0, this.#row - count);
        if (final === 'F') this.#column = 0;
        return;
      case 'B':
      case 'E':
        this.#row = Math.min(this.#lines.length - 1, this.#row + count);
        if (final === 'E') this.#column = 0;
        return;
      case 'C':
        this.#column = Math.min(maxColumn, this.#column + count);
        return;
      case 'D':
        this.#column = Math.max(0, this.#column - count);
        return;
      case 'G':
        this.#column = Math.min(maxColumn, count - 1);
        return;
      case 'K':
        if (isAll) this.#erase(0);
        else if (amount === 1) this.#erase(0, this.#column + 1);
        else this.#erase(this.#column);
        return;
      case 'J':
        // Of a whole screen only what was drawn over is lost: a program that clears it first is no reason to forget.
        if (amount === 0) {
          this.#erase(this.#column);
          this.#lines.length = this.#row + 1;
        }
        return;
      default:
        return;
    }
  }
}

/** What the model reads about it. */
const foldedNote = '[Lines that were redrawn show their last state, as on a terminal.]';

function shown(screen: Screen): string {
  return screen.isFolded ? `${screen.text()}\n${foldedNote}` : screen.text();
}

/**
 * The output of a program as a terminal shows it: what a carriage return, a backspace, or a cursor movement draws over is gone,
 * and so is what is erased.
 *
 * Contract: says so in a line at the end if it left anything out. Time grows with the text; yields to the event loop. `\r\n` is a line end. A text that redraws nothing is unchanged.
 */
export async function foldRedraws(text: string): Promise<string> {
  if (!drawing.test(text)) return text;
  const screen = new Screen();
  for (let from = 0; from < text.length;) {
    const end = text.indexOf('\n', from + sliceChars);
    const to = end < 0 ? text.length : end + 1;
    screen.draw(text.slice(from, to));
    from = to;
    await turn();
  }
  return shown(screen);
}

/** States of one line from which on a text that is no program's is taken for progress. */
const leastStates = 3;

/** Letters that states of one line begin with. */
const stem = (state: string): string => state.replace(/[^\p{L}]/gu, '').slice(0, 4);

/** Whether a line was drawn several times: its states begin alike. Otherwise carriage returns may be line ends of old. */
function isProgress(line: string): boolean {
  if (/\u0008|(?:\u001b\[|\u009b)[0-9;]{0,16}[A-FJK]/.test(line)) return true;
  const states = line.split('\r').filter((state) => state.trim() !== '');
  const [first = ''] = states;
  return (
    states.length >= leastStates &&
    states.filter((state) => stem(state) === stem(first)).length * 2 > states.length
  );
}

/** Whether a text of any tool surely shows progress, so that it may be folded. */
export function showsProgress(text: string): boolean {
  return drawing.test(text) && text.split(/\r{0,4}\n/).some(isProgress);
}

/** As `foldRedraws` where it `showsProgress`. Synchronous, so for the texts in a value and the end of an output. */
export function withoutRedraws(text: string): string {
  if (!showsProgress(text)) return text;
  const screen = new Screen();
  screen.draw(text);
  return shown(screen);
}
