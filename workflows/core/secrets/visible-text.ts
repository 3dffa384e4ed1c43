/** Text as a person must see it: what is hidden, moves other text, or passes for another character is shown as an escape. */
import { isLookAlikeWord, suspectsOf } from './look-alikes';

/** Controls, format characters, line separators, unassigned characters, and characters that are blank but no space. */
const neverSeen = /[\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800\u{1d159}]/u;
const picture = /\p{Extended_Pictographic}/u;
const pictureEnd = /[\p{Extended_Pictographic}\p{Emoji_Modifier}\ufe0f]/u;

/** Scripts whose letters a joiner connects or separates, which a reader sees (UAX #31, A1 and A2). */
const joined =
  /[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Mongolian}\p{Script=Nko}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Khmer}]/u;

/** Whether a character that is not seen itself changes what is seen around it: joiners and selectors of emoji and scripts. */
function isNeeded(char: string, before: string, after: string): boolean {
  switch (char) {
    case '\u200c':
      return joined.test(before) && joined.test(after);
    case '\u200d':
      return (
        (pictureEnd.test(before) && picture.test(after)) ||
        (joined.test(before) && joined.test(after))
      );
    case '\ufe0f':
      return picture.test(before) || (/[0-9#*]/.test(before) && after === '\u20e3');
    case '\ufe0e':
      return picture.test(before);
    default:
      return false;
  }
}

/** A character as an escape: `\u{202e}`. */
function escaped(char: string): string {
  return `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`;
}

function isHidden(chars: readonly string[], index: number): boolean {
  const char = chars[index] ?? '';
  return (
    (char < ' ' || char > '~') &&
    neverSeen.test(char) &&
    !isNeeded(char, chars[index - 1] ?? '', chars[index + 1] ?? '')
  );
}

/** The text with every hidden, control and bidirectional character as an escape; for prose. Contract: pure; one line. */
export function visibleText(text: string): string {
  if (/^[ -~]*$/.test(text)) return text;
  const chars = Array.from(text);
  return chars.map((char, index) => (isHidden(chars, index) ? escaped(char) : char)).join('');
}

/** Spaces in a row that are shown as they are; more could push what follows out of view. */
const mostSpaces = 8;
const oddSpace = /[^\P{Zs} ]/u;

const shortEscapes: Readonly<Record<string, string>> = {
  '\n': '\\n',
  '\r': '\\r',
  '\t': '\\t',
  '\\': '\\\\',
  '"': '\\"',
};

/** A part of a text as it is shown, and the characters (UTF-16 units) that it stands for. */
interface Piece {
  readonly shown: string;
  readonly chars: number;
}

function* piecesOf(text: string, isQuoted: boolean): Generator<Piece, void> {
  const chars = Array.from(text);
  const suspects = suspectsOf(chars);
  for (let index = 0; index < chars.length; index += 1) {
    const char = chars[index] ?? '';
    let spaces = 0;
    while (chars[index + spaces] === ' ') spaces += 1;
    if (spaces > mostSpaces) {
      yield { shown: `${escaped(' ')}{${spaces}}`, chars: spaces };
      index += spaces - 1;
      continue;
    }
    const short = isQuoted ? shortEscapes[char] : undefined;
    const isOdd = suspects.has(index) || oddSpace.test(char) || isHidden(chars, index);
    yield { shown: short ?? (isOdd ? escaped(char) : char), chars: char.length };
  }
}

/**
 * The text with escapes also for characters that pass for others: of a second script in a word, look-alikes of ASCII, spaces of
 * other kinds, loose marks (R-PEOPLE-9). For what a person decides on. Contract: pure; one line.
 */
export function decisionText(text: string): string {
  return Array.from(piecesOf(text, false), ({ shown }) => shown).join('');
}

/** The beginning of a text in quotes, exactly: a backslash in the text is doubled, so that no text can imitate an escape. */
export function quotedStart(
  text: string,
  maxChars: number,
): { readonly quoted: string; readonly leftOut: number } {
  let shown = '';
  let taken = 0;
  for (const piece of piecesOf(text, true)) {
    if (shown.length + piece.shown.length > maxChars) break;
    shown += piece.shown;
    taken += piece.chars;
  }
  const note = isLookAlikeWord(text) ? ' (not Latin letters, though they look like them)' : '';
  return { quoted: `"${shown}"${note}`, leftOut: text.length - taken };
}

/** The beginning of a text, and how much is left out: `the beginnin… +30 characters`. */
export function startOf(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const kept = text.slice(0, maxChars).replace(/[\ud800-\udbff]$/, '');
  return `${kept}… +${text.length - kept.length} characters`;
}
