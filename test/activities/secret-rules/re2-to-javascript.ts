/** Rewrites a regular expression of Go's RE2 as one of JavaScript without flags, so that one table of sources is enough. */

interface Flags {
  readonly ignoresCase: boolean;
  readonly dotTakesAll: boolean;
}

const flagGroup = /^\(\?([is]*)(?:-([is]+))?([:)])/;

function changed(flags: Flags, on: string, off: string): Flags {
  const value = (letter: string, now: boolean): boolean =>
    off.includes(letter) ? false : on.includes(letter) || now;
  return {
    ignoresCase: value('i', flags.ignoresCase),
    dotTakesAll: value('s', flags.dotTakesAll),
  };
}

const other = (letter: string): string =>
  letter === letter.toLowerCase() ? letter.toUpperCase() : letter.toLowerCase();

const isLetter = (text: string): boolean => /^[A-Za-z]$/.test(text);

/** Length of an escape such as `\b` or `\x60`. */
function escapeLength(source: string, at: number): number {
  return source[at + 1] === 'x' ? 4 : 2;
}

/** A character class in both cases: letters and ranges of letters get their counterparts. */
function classBothCases(body: string): string {
  let both = '';
  for (let at = 0; at < body.length;) {
    if (body[at] === '\\') {
      const length = escapeLength(body, at);
      both += body.slice(at, at + length);
      at += length;
      continue;
    }
    const first = body[at] ?? '';
    const last = body[at + 2] ?? '';
    const isRange = body[at + 1] === '-' && isLetter(first) && isLetter(last);
    const part = isRange ? body.slice(at, at + 3) : first;
    both += part;
    if (isRange) both += `${other(first)}-${other(last)}`;
    else if (isLetter(first)) both += other(first);
    at += part.length;
  }
  return both;
}

/** Where a class that begins at `at` ends. */
function classEnd(source: string, at: number): number {
  let end = at + 1;
  if (source[end] === '^') end += 1;
  if (source[end] === ']') end += 1;
  while (source[end] !== ']') {
    if (end >= source.length) throw new Error(`class without an end in ${source}`);
    end += source[end] === '\\' ? escapeLength(source, end) : 1;
  }
  return end;
}

function classOf(source: string, at: number, end: number, { ignoresCase }: Flags): string {
  const inner = source.slice(at + 1, end);
  const isNegated = inner.startsWith('^');
  const rest = isNegated ? inner.slice(1) : inner;
  const body = rest.startsWith(']') ? `\\${rest}` : rest;
  return `[${isNegated ? '^' : ''}${ignoresCase ? classBothCases(body) : body}]`;
}

function literal(character: string, { ignoresCase, dotTakesAll }: Flags): string {
  if (character === '.' && dotTakesAll) return '[^]';
  return ignoresCase && isLetter(character) ? `[${character}${other(character)}]` : character;
}

/** The escape, class or character at a place, rewritten, and how long it is. */
function atomAt(
  source: string,
  at: number,
  flags: Flags,
): { readonly text: string; readonly length: number } {
  const character = source[at] ?? '';
  if (character === '\\') {
    const length = escapeLength(source, at);
    const escape = source.slice(at, at + length);
    return { text: escape === '\\z' ? '(?![^])' : escape, length };
  }
  if (character !== '[') return { text: literal(character, flags), length: 1 };
  const end = classEnd(source, at);
  return { text: classOf(source, at, end, flags), length: end + 1 - at };
}

/**
 * Rewrites a source: inline flags become classes of both cases, named groups plain ones, `\z` an end without a flag.
 *
 * Errors: throws for a class without an end; the caller compiles the result, which finds everything else.
 */
export function re2ToJavascript(re2: string): string {
  const source = re2.replaceAll('[[:alnum:]]', '[a-zA-Z0-9]').replace(/\(\?P<\w+>/g, '(');
  const groups: Flags[] = [];
  let flags: Flags = { ignoresCase: false, dotTakesAll: false };
  let javascript = '';
  for (let at = 0; at < source.length;) {
    const [whole, on = '', off = '', end] = flagGroup.exec(source.slice(at)) ?? [];
    if (whole !== undefined) {
      if (end === ':') {
        groups.push(flags);
        javascript += '(?:';
      }
      flags = changed(flags, on, off);
      at += whole.length;
      continue;
    }
    const { text, length } = atomAt(source, at, flags);
    if (text === '(') groups.push(flags);
    if (text === ')') flags = groups.pop() ?? flags;
    javascript += text;
    at += length;
  }
  return javascript;
}
