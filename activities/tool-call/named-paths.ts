/** Finds the paths that a text names whole. If a path with spaces cannot be told from words next to a path, it finds none. */
import type { FoundPath } from '../../workflows/core/tools/ports';

/** Characters of an output that are read: some milliseconds of work (ADR 0033). */
export const readChars = 256 * 1024;

/** Characters of a path, and of one of its parts. */
export const pathChars = 200;
const partChars = 120;

/** A line of a text, from 1. */
export interface ReadLine {
  readonly text: string;
  readonly line: number;
}

/** The runtime's own note where a text was cut, or a tool's. */
const cutNote =
  /^\s*(?:\[?…|\[?\.{3}(?![\\/])).*$|characters left out|[[(<…][^\])>]{0,80}\b(?:truncated|omitted|cut off)\b/i;

/** Stands for what was cut off a line: no path contains it. */
const cutMark = '\u0000';

/** The beginning of a text, up to a place where no name is cut. */
function headOf(text: string): string {
  if (text.length <= readChars) return text;
  const head = text.slice(0, readChars);
  const end = head.lastIndexOf('\n');
  return end > 0 ? head.slice(0, end) : wholeWords(head);
}

/** Characters of a word that may be a path with its surroundings, and of the place that is searched for one. */
const wordChars = 2 * pathChars;

/** A text without its last word. */
function wholeWords(text: string): string {
  const end = Math.max(...[' ', '\t', '"'].map((blank) => text.lastIndexOf(blank)));
  return text.slice(0, end + 1) + cutMark;
}

/** The lines of a text: only whole words of the line before a cut, and nothing of the line after it, which may begin anywhere. */
export function linesToRead(text: string): readonly ReadLine[] {
  const lines = headOf(text).split(/\r\n|[\r\n]/);
  const isCut = lines.map((line) => cutNote.test(line));
  return lines.flatMap((line, index) => {
    if (isCut[index] === true || isCut[index - 1] === true) return [];
    const whole = isCut[index + 1] === true ? wholeWords(line) : line;
    return [{ text: whole, line: index + 1 }];
  });
}

/** Whether all of a line is there. */
export function isWholeLine({ text }: ReadLine): boolean {
  return !text.includes(cutMark);
}

const extension = /^.*[^.\s]\.[A-Za-z]\w{0,8}$|^\.[A-Za-z][\w.-]*$/;
/** Ends of names that are not files. */
const noFile = /^(?:v?\d+(?:\.\d+)*(?:\.x)?|e\.g|i\.e|etc|a\.m|p\.m)$/i;
const separator = /[\\/]/;
// eslint-disable-next-line no-control-regex -- no path has them
const forbidden = /[\u0000-\u001f"<>|*?:`…]/;

function isBalanced(text: string): boolean {
  return ['()', '[]', '{}'].every(
    ([open = '', close = '']) => text.split(open).length === text.split(close).length,
  );
}

/** A word of a command. */
const option = /(?:^|\s)--?[A-Za-z]/;

function isPart(part: string): boolean {
  return part !== '' && part.length <= partChars && part.trim() === part && !part.startsWith('...');
}

/** Whether the parts end in a file's name: with an extension, or, if none is needed, in a folder and without spaces. */
function endsInFile(parts: readonly string[], needsExtension: boolean): boolean {
  const name = parts.at(-1) ?? '';
  return needsExtension
    ? extension.test(name) && !noFile.test(name)
    : parts.length > 1 && parts.every((part) => /^[A-Za-z_@.]\S*$/.test(part));
}

/** Whether a text has what no path is without: most texts have not, and are no further looked at. */
function hasPathMark(text: string, needsExtension: boolean): boolean {
  return text.includes('.') || (!needsExtension && separator.test(text));
}

/** Whether a text has the form of a path. Spaces belong to it unless a word before the last is a path itself. */
function isPath(text: string, needsExtension = true): boolean {
  if (!hasPathMark(text, needsExtension)) return false;
  if (text.length > pathChars || forbidden.test(text) || option.test(text)) return false;
  const [first = '', ...rest] = text.split(separator);
  const parts = first === '' ? rest : [first, ...rest];
  const words = text.split(/[\s,;]+/).slice(0, -1);
  return (
    isBalanced(text) &&
    endsInFile(parts, needsExtension) &&
    parts.every(isPart) &&
    !words.some((word) => isPath(word))
  );
}

/** Words that come before a path, are not part of it, and begin no name. */
const doneBefore = new RegExp(
  `^(?:${[
    'load(?:ed|ing)|compil(?:ed|ing)|lint(?:ed|ing)|running|processing|generat(?:ed|ing)|reading|writing|emitted',
    'opened|wrote|written|created|creating|updated|updating|modified|changed|deleted',
    'removed|added|renamed|saved|found|fixed|edited|copied|moved|checked|failed|passed|skipped|\\W+',
  ].join('|')})$`,
  'i',
);
/** In small letters: "In progress" may be a folder. */
const smallBefore =
  /^(?:in|at|of|to|on|for|from|and|or|with|by|is|was|as|see|into|onto|via|under|inside|within|than|if|that|this|it|are|e\.g\.|i\.e\.|matches|imports|exports|requires)$/;
/** A name may begin with these, too: "New folder", "Read me.md", "01 Intro.md". */
const maybeBefore =
  /^(?:an?|the|not|no|use|files?|path|import|new|like|open|read|write|create|update|change|delete|remove|add|rename|save|fix|edit|copy|move|check|error|warning|info|note|fail|pass|ok|skip|\d+)$/;

/** Status letters of version control before a path. */
const statusBefore = /^[MADRCU]{1,2}$/;

/** Whether no path begins with the word, as it stands there. */
function isSurelyBefore(word: string): boolean {
  return doneBefore.test(word) || smallBefore.test(word) || statusBefore.test(word);
}

/** Whether a path in running text begins behind the word, not with it. */
function isWordBefore(word: string): boolean {
  return isSurelyBefore(word) || maybeBefore.test(word);
}

/** Whether a place of its own with blanks begins with a word beside a path, or with how many there are of it: "01" may be a name. */
function beginsInWords([first = '']: readonly string[], group: string): boolean {
  const isCount = group.endsWith('line') && /^(?!0\d|(?:19|20)\d\d$)\d+$/.test(first);
  return isCount || isSurelyBefore(first);
}

/** Whether it begins with a word that may be beside a path, and a part of one. */
function isInDoubt([first = '']: readonly string[]): boolean {
  return isWordBefore(first.toLowerCase());
}

/** Ends of words, and numbers, after which no path continues. */
const endsBefore = /[,;:!?)\]}>"'”’»=|*]$|^\d[\d.:,%-]*[a-z]{0,3}$/i;

/** Whether a path in running text can begin after this word: a path with a space might have begun with the word. */
function canBeginAfter(text: string): boolean {
  const word = text.slice(-wordChars);
  return word === '' || isWordBefore(word) || endsBefore.test(word) || isPath(bareWord(word));
}

/** A piece of a line between delimiters. */
interface Field {
  readonly text: string;
  readonly line: number;
  /** Fields of one kind: paths without spaces among them show what the others are. */
  readonly group: string;
  /** Its delimiters enclose exactly a path. */
  readonly isEnclosed?: true;
}

/** Paths with a place of their own come first, then those with folders in running text, then bare names. */
interface Candidate extends FoundPath {
  readonly rank: 0 | 1 | 2;
}

/** A word of running text without what encloses it. */
function bareWord(word: string): string {
  let bare = word.replace(/^(?:--?)?[\w-]{1,40}=(?=.)/, '');
  for (let before = ''; before !== bare;) {
    before = bare;
    bare = bare
      .replace(/^["'“‘«*]+|(?<!["'”’»*,;:!?])["'”’»*,;:!?]+$/g, '')
      .replace(/(?<!\.)\.$/, '')
      .replace(/(?::\d+){1,2}$|#L\d+$|\(\d+(?:,\d+)?\)$|(?<=\.\w{1,9})::\S*$/, '');
    if (/^[([{]/.test(bare) && (!isBalanced(bare) || /^.[^)\]}]*[)\]}]$/.test(bare)))
      bare = bare.slice(1);
    if (/[)\]}]$/.test(bare) && !isBalanced(bare)) bare = bare.slice(0, -1);
  }
  return bare;
}

/** Punctuation that needs no space next to it. */
const wideMarks = /[，。、；：！？（）「」『』【】《》]/g;

/** Words of scripts without spaces, directly before what may be a path. */
const runsOn = /^[^\\/]*[\p{sc=Han}\p{sc=Hiragana}\p{sc=Katakana}][A-Za-z0-9_@]/u;

/** Paths without spaces in running text; none that may be the end of a path with spaces, or of one that began in `before`. */
function inWords({ text, line }: ReadLine, before = ''): readonly Candidate[] {
  const words = text.trim().replace(wideMarks, ` ${cutMark} `).split(/\s+/);
  return words.flatMap((word, index) => {
    // Without a period it has no extension.
    if (word.length > wordChars || !word.includes('.')) return [];
    const bare = bareWord(word);
    const isIn = canBeginAfter(words[index - 1] ?? before) || !word.startsWith(bare);
    if (!isIn || /\.{2,}\W*$/.test(word) || runsOn.test(word)) return [];
    const parts = bare.split(',');
    const paths = parts.length > 1 && parts.every((part) => isPath(part)) ? parts : [bare];
    return paths.flatMap((path): readonly Candidate[] =>
      isPath(path) && !path.includes(',')
        ? [{ path, line, rank: separator.test(path) ? 1 : 2 }]
        : [],
    );
  });
}

const enclosed =
  /`([^`]{1,400})`|"([^"]{1,400})"|“([^“”]{1,400})”|«([^«»]{1,400})»|(?<=>)([^<>]{1,400})(?=<\/)|(?<![\p{L}\p{N}])'([^']{1,400})'(?![\p{L}\p{N}])|\]\(([^()\s]{1,400})\)/gu;
const listMark = /^(?:[-*•+]|\d+[.)]|[│├└─\s]+)\s+/u;
const hit = /^\s*([^:\s](?:[^:]*[^:\s])?):(?:\d+(?::\d+)?(?=[:\s]|$)|\s)/;
const cellEnds = [/[|│┃]/, /\t/, / {2,}/] as const;

/** Lines of a diff, whose paths have a letter in front. */
const ofDifference = /^(?:diff --git |(?:---|\+\+\+) [ab]\/|\+[^\s\\/]*[\\/])/;

function cellsOf(text: string, isCsv: boolean): readonly string[] {
  const end = isCsv ? /,/ : cellEnds.find((each) => each.test(text));
  return end === undefined ? [] : text.split(end);
}

/** The fields of a line; text without the form of a path is running text, in the group ''. */
function fieldsOf({ text, line }: ReadLine, kind: string, isCsv: boolean): readonly Field[] {
  const field = (part: string, group: string, more: Pick<Field, 'isEnclosed'> = {}): Field => ({
    text: part.trim(),
    line,
    group: `${kind}${group}`,
    ...more,
  });
  const [start = '', found = ''] = hit.exec(text.slice(0, wordChars)) ?? [];
  if (isPath(found) || isPath(found, false))
    return [
      field(found, 'hit'),
      ...fieldsOf({ text: text.slice(start.length), line }, kind, isCsv),
    ];
  if (ofDifference.test(text)) return [];
  const whole = text.trim().replace(listMark, '');
  // With a comma it may be a path, a row, or words: in doubt it is not a path.
  if (!isCsv && isPath(whole)) return /[,;]/.test(whole) ? [] : [field(whole, 'line')];
  const cells = cellsOf(whole, isCsv);
  if (cells.length > 1)
    return cells.flatMap((cell, index) =>
      cell.trim() === '' ? [] : fieldsOf({ text: cell, line }, `${kind}${index} `, false),
    );
  const quoted = [...whole.matchAll(enclosed)].map((match) =>
    field(match.slice(1).join(''), '', { isEnclosed: true }),
  );
  return [...quoted, field(whole.replace(enclosed, ` ${cutMark} `), '')];
}

/** Whether its spaces can only belong to one path: the first word has a folder, and no other word has one. */
function isOneOnly(words: readonly string[]): boolean {
  return (
    words.findIndex((word) => separator.test(word)) === 0 &&
    !words.slice(1).some((word) => separator.test(word))
  );
}

/** Placeholder for the beginning of a path if nobody knows what was cut. */
const unknownWord = 'cut/off';

/** The last word of a line, if it may be the beginning of a path that continues in `next`. */
function brokenWord(text: string, next: string): string | undefined {
  const [last = ''] = /(?<!\S)\S*[\p{L}\p{N}_-]$/u.exec(text.slice(-wordChars)) ?? [];
  const [folder] = /^[^\\/]*[\\/]/.exec(last) ?? [];
  const isWhole = folder === undefined || isPath(bareWord(last)) || next.startsWith(folder);
  return isWhole ? undefined : last;
}

/** Fields that may begin with the rest of a path, each with its beginning: in the line above, in the same column. */
function brokenFields(fields: readonly Field[]): ReadonlyMap<Field, string> {
  const broken = new Map<Field, string>();
  const columns = new Map<string, Field>();
  const read = new Set(fields.map(({ line }) => line));
  for (const field of fields) {
    const { text, line, group, isEnclosed } = field;
    const column = group.replace(/(?:line|hit)$/, '');
    const above = columns.get(column);
    columns.set(column, field);
    if (isEnclosed === true || group.endsWith('hit')) continue;
    const isBelow = above?.line === line - 1;
    const beginning = isBelow ? brokenWord(above.text, text) : undefined;
    if (beginning !== undefined) broken.set(field, beginning);
    else if (line > 1 && !read.has(line - 1)) broken.set(field, unknownWord);
  }
  return broken;
}

/** The paths of fields; `broken` are those that may begin with the rest of one. */
function pathsOf(
  fields: readonly Field[],
  broken: ReadonlyMap<Field, string>,
): readonly Candidate[] {
  const groups = new Map<string, { plain: number; all: number }>();
  for (const { text, group } of fields) {
    if (!isPath(text)) continue;
    const { plain, all } = groups.get(group) ?? { plain: 0, all: 0 };
    groups.set(group, { plain: plain + (/\s/.test(text) ? 0 : 1), all: all + 1 });
  }
  const isMostlyPlain = (group: string): boolean => {
    const { plain, all } = groups.get(group) ?? { plain: 0, all: 0 };
    return plain * 2 >= all;
  };
  return fields.flatMap((field) => {
    const { text, line, group, isEnclosed } = field;
    const beginning = broken.get(field);
    if (beginning !== undefined) return inWords(field, beginning);
    const words = text.split(/\s+/);
    const isHit = group.endsWith('hit') && isPath(text, false);
    if (words.length === 1 && (isPath(text) || isHit))
      return [{ path: text, line, rank: 0 as const }];
    if (!isPath(text) || beginsInWords(words, group)) return inWords(field);
    const isKnown = isEnclosed === true || isOneOnly(words) || isMostlyPlain(group);
    return isKnown && !isInDoubt(words) ? [{ path: text, line, rank: 0 as const }] : [];
  });
}

/** JSON keys whose values are paths. */
const pathKey = /path|file|name|dir|folder|source|src|target|dest|uri|location|module/i;

/** A JSON string, the quote that ends it, and the colon after a key. One without an end takes all the rest, in linear time. */
const jsonString = /"((?:[^"\\]|\\.?)*)("|$)(\s*:)?/g;

/** The fields of a JSON text, or of a cut one: its strings, each with the key before it. */
function fieldsOfJson(lines: readonly ReadLine[]): readonly Field[] {
  let key = '';
  return lines.flatMap(({ text, line }) =>
    [...text.matchAll(jsonString)].flatMap(([, literal = '', end, colon]) => {
      if (end === '') return [];
      const value = unescaped(literal);
      if (colon !== undefined) {
        key = value;
        return [];
      }
      if (isPath(value))
        return [
          {
            text: value,
            line,
            group: key,
            ...(pathKey.test(key) ? { isEnclosed: true as const } : {}),
          },
        ];
      if (pathKey.test(key) && isPath(value, false))
        return [{ text: value, line, group: `${key} hit` }];
      return linesToRead(value).flatMap((part) =>
        fieldsOf({ text: part.text, line }, `${key} `, false),
      );
    }),
  );
}

function unescaped(literal: string): string {
  try {
    return String(JSON.parse(`"${literal}"`));
  } catch {
    return '';
  }
}

function isCsv(lines: readonly ReadLine[]): boolean {
  const counts = new Set(
    lines.flatMap(({ text }) => (text.trim() === '' ? [] : [text.split(',').length])),
  );
  return lines.length > 1 && counts.size === 1 && !counts.has(1);
}

/**
 * The paths in a text, each once, the most certain first.
 *
 * Contract: pure; takes time linear in the text, and reads its first 262,144 characters.
 */
export function namedPaths(text: string): readonly FoundPath[] {
  if (!/[.\\/]/.test(text)) return [];
  const lines = linesToRead(text);
  const csv = isCsv(lines);
  const isJson = /^\s*(?:\{\s*["}]|\[\s*["{[\]\d])/.test(text);
  const fields = isJson ? fieldsOfJson(lines) : lines.flatMap((line) => fieldsOf(line, '', csv));
  const found = pathsOf(fields, isJson ? new Map() : brokenFields(fields));
  // A word of a path with spaces is not a path.
  const words = new Set(found.flatMap(({ path }) => (/\s/.test(path) ? path.split(/\s+/) : [])));
  const byPath = new Map<string, Candidate>();
  for (const each of found.toSorted((left, right) => left.rank - right.rank))
    if (!byPath.has(each.path) && !(each.rank > 0 && words.has(each.path)))
      byPath.set(each.path, each);
  return [...byPath.values()].map(({ path, line }) => ({ path, line }));
}
