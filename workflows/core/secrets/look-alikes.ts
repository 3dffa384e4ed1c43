/** Characters that pass for others: words of two scripts, look-alikes of ASCII, marks without a letter (after Unicode UTS #39). */

/** Scripts that are told apart; a letter of any other is of the script `other`. */
const scripts = [
  ...['Latin', 'Cyrillic', 'Greek', 'Armenian', 'Cherokee', 'Coptic', 'Lisu', 'Deseret'],
  ...['Georgian', 'Hebrew', 'Arabic', 'Syriac', 'Ethiopic', 'Thai', 'Lao', 'Khmer', 'Myanmar'],
  ...['Devanagari', 'Bengali', 'Gurmukhi', 'Gujarati', 'Oriya', 'Tamil', 'Telugu', 'Kannada'],
  ...['Malayalam', 'Sinhala', 'Tibetan', 'Mongolian', 'Tifinagh'],
].map((name) => [name, new RegExp(`\\p{Script=${name}}`, 'u')] as const);

/** Chinese, Japanese and Korean writing mixes these in one word, also with Latin ("highly restrictive", UTS #39, 5.2). */
const eastAsian =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Bopomofo}\p{Script=Hangul}]/u;
const anyScript = /[\p{Script=Common}\p{Script=Inherited}]/u;

function scriptOf(char: string): string | undefined {
  if (/[A-Za-z]/.test(char)) return 'Latin';
  if (char <= '\u007f' || anyScript.test(char)) return undefined;
  if (eastAsian.test(char)) return 'East Asian';
  return scripts.find(([, pattern]) => pattern.test(char))?.[0] ?? 'other';
}

/** Letters that look like Latin ones (UTS #39, confusables), by script; of the scripts without a list, every letter may. */
const latinLike: Readonly<Record<string, string>> = {
  Cyrillic: 'АВЕЅІЈКМНОРСТУХҮԌԚԜѴаеѕіјорсухһԁӏԛԝүѵ',
  Greek: 'ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹͿονρϲϳ',
  Armenian: 'ՍՕԼհոսօցք',
};
const latinLikeScripts = ['Cherokee', 'Coptic', 'Lisu', 'Deseret'];

function looksLatin(char: string, script: string): boolean {
  return latinLikeScripts.includes(script) || (latinLike[script]?.includes(char) ?? false);
}

/** Letters, marks and digits in a row: places of the characters. */
type Word = readonly number[];

interface ReadText {
  readonly chars: readonly string[];
  readonly scriptAt: readonly (string | undefined)[];
  readonly words: readonly Word[];
}

function read(chars: readonly string[]): ReadText {
  const words: number[][] = [];
  let isInWord = false;
  for (const [index, char] of chars.entries()) {
    const isPart = /[\p{L}\p{M}\p{N}]/u.test(char);
    if (isPart && isInWord) words.at(-1)?.push(index);
    else if (isPart) words.push([index]);
    isInWord = isPart;
  }
  return { chars, scriptAt: chars.map(scriptOf), words };
}

/** Letters of a word that are not of its main script, where one word mixes scripts that no language mixes. */
function foreignLetters({ scriptAt }: ReadText, word: Word): Word {
  const counts = new Map<string, number>();
  for (const index of word) {
    const script = scriptAt[index];
    if (script !== undefined) counts.set(script, (counts.get(script) ?? 0) + 1);
  }
  const mixed = [...counts.keys()];
  if (mixed.every((script) => script === 'Latin' || script === 'East Asian') || mixed.length < 2)
    return [];
  const rank = (script: string): number =>
    2 * (counts.get(script) ?? 0) + Number(script === 'Latin');
  const main = mixed.reduce((best, script) => (rank(script) > rank(best) ? script : best));
  return word.filter((index) => scriptAt[index] !== undefined && scriptAt[index] !== main);
}

/** Letters and digits of full width, usual in East Asian texts. */
const wide = /[\uff01-\uff5e]/;

/** Beside digits of ASCII: digits of another kind, letters between two of them; and wide characters in a word of ASCII. */
function foreignForms({ chars }: ReadText, word: Word): Word {
  const isDigit = (index: number): boolean => /[0-9]/.test(chars[index] ?? '');
  const hasAscii = word.some((index) => /[A-Za-z0-9]/.test(chars[index] ?? ''));
  const hasDigit = word.some(isDigit);
  return word.filter((index) => {
    const char = chars[index] ?? '';
    if (char <= '\u007f') return false;
    if (wide.test(char)) return hasAscii;
    return hasDigit && (/\p{Nd}/u.test(char) || (isDigit(index - 1) && isDigit(index + 1)));
  });
}

/** Whether a word is joined to a Latin one, as in an address or a path. */
function isJoinedToLatin({ chars, scriptAt }: ReadText, word: Word): boolean {
  const [first = 0] = word;
  const last = word.at(-1) ?? 0;
  return [
    [first - 1, first - 2],
    [last + 1, last + 2],
  ].some(
    ([between = 0, beyond = 0]) =>
      /[-._@/:\\]/.test(chars[between] ?? '') && scriptAt[beyond] === 'Latin',
  );
}

/** Words of one script all of whose letters look Latin, where no other word shows that its language is meant, or in an address. */
function lookAlikeWords(text: ReadText): readonly Word[] {
  const { chars, scriptAt, words } = text;
  const isLike = (index: number): boolean => looksLatin(chars[index] ?? '', scriptAt[index] ?? '');
  const isAmbiguous = (script: string | undefined): boolean =>
    script !== undefined && (script in latinLike || latinLikeScripts.includes(script));
  const genuine = new Set(
    scriptAt.filter((script, index) => isAmbiguous(script) && !isLike(index)),
  );
  return words.filter((word) => {
    const letters = word.filter((index) => scriptAt[index] !== undefined);
    if (letters.length === 0 || !letters.every(isLike)) return false;
    return isJoinedToLatin(text, word) || !letters.some((index) => genuine.has(scriptAt[index]));
  });
}

/** Look-alikes of `/`, `:`, `.` and `!`, which delimit addresses and commands (UTS #39, confusables). */
const likeDelimiters = /[\u01c3\u2024\u2044\u2215\u2236\u2571\u29f8\ua789]/u;

/** A character that another one stands for: of width or style only (NFKC), or the same character twice in Unicode (NFC). */
function isVariant(char: string, hasEastAsian: boolean): boolean {
  if (char <= '\u007f') return false;
  if (likeDelimiters.test(char)) return true;
  const composed = char.normalize('NFC');
  if (composed !== char && Array.from(composed).length === 1) return true;
  if (hasEastAsian && wide.test(char)) return false;
  // Ordinals are seen as such.
  return (
    /[\p{L}\p{Nl}\p{Nd}\p{P}\p{S}]/u.test(char) &&
    !/[ªº]/.test(char) &&
    /^[!-~]$/.test(char.normalize('NFKC'))
  );
}

/** Marks in a row that writing needs (UTS #39, 5.4). */
const mostMarks = 4;

/** A mark that is on no letter, on too many others, strikes a letter through, or makes a letter that exists as one character. */
function isLooseMark(chars: readonly string[], index: number): boolean {
  const char = chars[index] ?? '';
  const before = chars[index - 1] ?? '';
  const composes = (): boolean => Array.from((before + char).normalize('NFC')).length === 1;
  // Vowels of Korean syllables that are written letter by letter.
  if (/[\u1160-\u11ff]/.test(char)) return composes();
  // Selectors of emoji are marks too, and hidden unless an emoji needs them.
  if (!/\p{M}/u.test(char) || /[\ufe00-\ufe0f]/.test(char)) return false;
  if (char === '\u20e3') return before !== '\ufe0f' && !/[0-9#*]/.test(before);
  if (/[\u0335-\u0338]|\p{Me}/u.test(char) || !/[\p{L}\p{M}]/u.test(before)) return true;
  if (composes()) return true;
  const marks = chars.slice(Math.max(index - mostMarks, 0), index);
  return marks.length === mostMarks && marks.every((mark) => /\p{M}/u.test(mark));
}

/** Whether a text has nothing but ASCII. */
const isPlain = (chars: readonly string[]): boolean => chars.every((char) => char <= '\u007f');

/** Places of the characters that pass for others. Contract: pure; what is hidden is not among them. */
export function suspectsOf(chars: readonly string[]): ReadonlySet<number> {
  if (isPlain(chars)) return new Set();
  const text = read(chars);
  const hasEastAsian = text.scriptAt.includes('East Asian');
  const hasLatin = text.scriptAt.includes('Latin');
  const single = chars.flatMap((char, index) =>
    isVariant(char, hasEastAsian) || isLooseMark(chars, index) ? [index] : [],
  );
  return new Set([
    ...single,
    ...text.words.flatMap((word) => [...foreignLetters(text, word), ...foreignForms(text, word)]),
    ...(hasLatin ? lookAlikeWords(text).flat() : []),
  ]);
}

/** Whether a text without Latin letters has a word that looks Latin: it stays readable, but must be marked. */
export function isLookAlikeWord(text: string): boolean {
  const chars = Array.from(text);
  if (isPlain(chars)) return false;
  const known = read(chars);
  return !known.scriptAt.includes('Latin') && lookAlikeWords(known).length > 0;
}
