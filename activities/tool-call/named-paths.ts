/** Finds the paths that a text names whole. Where a path with blanks cannot be told from words beside a path, it finds none. */
import type { FoundPath } from '../../workflows/core/tools/ports';

/** Characters of an output that are read: some milliseconds of work (ADR 0033). */
export const readChars = 256 * 1024;

/** Characters of a path, and of one of its parts. */
const pathChars = 200;
const partChars = 120;

/** A line of a text, from 1. */
export interface ReadLine {
  readonly text: string;
  readonly line: number;
}

/** The runtime's own note where a text was cut, or a tool's. */
const cutNote = /^\s*(?:\[?…|\[?\.{3}).*$|characters left out/;

/** In the place of what was cut off a line: no path has it. */
const cutMark = '\u0000';

/** The beginning of a text, up to a place where no name can be cut. */
function headOf(text: string): string {
  if (text.length <= readChars) return text;
  const head = text.slice(0, readChars);
  const end = head.lastIndexOf('\n');
  return end > 0 ? head.slice(0, end) : head.replace(/[^\s"]*$/, cutMark);
}

/** The lines of a text: of the one before a cut only whole words, of the one behind it nothing, since it may begin anywhere. */
export function linesToRead(text: string): readonly ReadLine[] {
  const lines = headOf(text).split(/\r\n|[\r\n]/);
  const isCut = lines.map((line) => cutNote.test(line));
  return lines.flatMap((line, index) => {
    if (isCut[index] === true || isCut[index - 1] === true) return [];
    const whole = isCut[index + 1] === true ? line.replace(/[^\s"]*$/, cutMark) : line;
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

/** Whether the parts end in a file's name: with an extension, or, where that is not needed, in a folder and without blanks. */
function endsInFile(parts: readonly string[], needsExtension: boolean): boolean {
  const name = parts.at(-1) ?? '';
  return needsExtension
    ? extension.test(name) && !noFile.test(name)
    : parts.length > 1 && parts.every((part) => /^[A-Za-z_@.]\S*$/.test(part));
}

/** Whether a text has the form of a path. Blanks are part of it unless a word before the last is a path itself. */
function isPath(text: string, needsExtension = true): boolean {
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

/** Words that stand before a path, outside of it. */
const wordBefore = new RegExp(
  `^(?:${[
    'an?|the|in|at|of|to|on|for|from|and|or|with|by|is|was|as|not|no|see|use|file|files|path|import|new',
    'open(?:ed)?|read|wr(?:ite|ote|itten)|creat(?:e|ed|ing)|updat(?:e|ed|ing)|modified|chang(?:e|ed)|delet(?:e|ed)',
    'remov(?:e|ed)|add(?:ed)?|renam(?:e|ed)|sav(?:e|ed)|found|fix(?:ed)?|edit(?:ed)?|cop(?:y|ied)|moved?|check(?:ed)?',
    'error|warning|info|note|fail(?:ed)?|pass(?:ed)?|ok|skip(?:ped)?|[MADRCU]{1,2}|\\W+|\\d+',
  ].join('|')})$`,
  'i',
);

/** A piece of a line between delimiters. */
interface Field {
  readonly text: string;
  readonly line: number;
  /** Fields of one kind: paths without blanks among them show what the others are. */
  readonly group: string;
  /** What delimits it encloses exactly a path. */
  readonly isEnclosed?: true;
}

/** Before everything else come paths in a place of their own, then those with folders in running text, then bare names. */
interface Candidate extends FoundPath {
  readonly rank: 0 | 1 | 2;
}

/** A word of running text without what encloses it. */
function bareWord(word: string): string {
  let bare = word.replace(/^(?:--?)?[\w-]{1,40}=(?=.)/, '');
  for (let before = ''; before !== bare;) {
    before = bare;
    bare = bare
      .replace(/^["'“‘«*]+|["'”’»*,;:!?]+$/g, '')
      .replace(/(?<!\.)\.$/, '')
      .replace(/(?::\d+){1,2}$|#L\d+$|\(\d+(?:,\d+)?\)$/, '');
    if (/^[([{]/.test(bare) && (!isBalanced(bare) || /^.[^)\]}]*[)\]}]$/.test(bare)))
      bare = bare.slice(1);
    if (/[)\]}]$/.test(bare) && !isBalanced(bare)) bare = bare.slice(0, -1);
  }
  return bare;
}

/** Paths without blanks in running text; not the last word of what may be one with blanks. */
function inWords({ text, line }: ReadLine): readonly Candidate[] {
  const words = text.split(/\s+/);
  return words.flatMap((word, index) => {
    const before = words[index - 1] ?? '';
    const mayContinue =
      separator.test(before) && /[\w)\]]$/.test(before) && !isPath(bareWord(before));
    if (mayContinue || /\.{2,}\W*$/.test(word)) return [];
    const bare = bareWord(word);
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
  /`([^`]+)`|"([^"]+)"|“([^”]+)”|«\s*([^»]+?)\s*»|(?<![\p{L}\p{N}])'([^']+)'(?![\p{L}\p{N}])|\]\(([^)\s]+)\)/gu;
const listMark = /^(?:[-*•+]|\d+[.)]|[│├└─\s]+)\s+/u;
const hit = /^\s*([^:]*[^:\s]):(?:\d+(?::\d+)?(?=[:\s]|$)|\s)/;
const cellEnds = [/\|/, /\t/, / {2,}/] as const;

/** The fields of a line; what has the form of no path is running text, in the group ''. */
function fieldsOf({ text, line }: ReadLine, kind: string, isCsv: boolean): readonly Field[] {
  const field = (part: string, group: string, more: Pick<Field, 'isEnclosed'> = {}): Field => ({
    text: part.trim(),
    line,
    group: `${kind}${group}`,
    ...more,
  });
  const [start = '', found = ''] = hit.exec(text) ?? [];
  if (isPath(found) || isPath(found, false))
    return [
      field(found, 'hit'),
      ...fieldsOf({ text: text.slice(start.length), line }, kind, isCsv),
    ];
  const whole = text.trim().replace(listMark, '');
  if (isPath(whole)) return [field(whole, 'line')];
  const end = isCsv ? /,/ : cellEnds.find((each) => each.test(whole));
  const cells = end === undefined ? [] : whole.split(end);
  if (cells.length > 1)
    return cells.flatMap((cell, index) =>
      fieldsOf({ text: cell, line }, `${kind}${index} `, false),
    );
  const quoted = [...whole.matchAll(enclosed)].map((match) =>
    field(match.slice(1).join(''), '', { isEnclosed: true }),
  );
  return [...quoted, field(whole.replace(enclosed, ` ${cutMark} `), '')];
}

/** Whether a blank in it can only be one of a path: its folder comes first, and no other word has one. */
function isOneOnly(words: readonly string[]): boolean {
  return (
    words.findIndex((word) => separator.test(word)) === 0 &&
    !words.slice(1).some((word) => separator.test(word))
  );
}

function pathsOf(fields: readonly Field[]): readonly Candidate[] {
  const groups = new Map<string, { plain: number; all: number }>();
  for (const { text, group } of fields) {
    if (!isPath(text)) continue;
    const { plain, all } = groups.get(group) ?? { plain: 0, all: 0 };
    groups.set(group, { plain: plain + (/\s/.test(text) ? 0 : 1), all: all + 1 });
  }
  return fields.flatMap((field) => {
    const { text, line, group, isEnclosed } = field;
    const words = text.split(/\s+/);
    const isHit = group.endsWith('hit') && isPath(text, false);
    if (words.length === 1 && (isPath(text) || isHit))
      return [{ path: text, line, rank: 0 as const }];
    if (!isPath(text) || wordBefore.test(words[0] ?? '')) return inWords(field);
    const { plain, all } = groups.get(group) ?? { plain: 0, all: 0 };
    const isKnown = isEnclosed === true || isOneOnly(words) || plain * 2 >= all;
    return isKnown ? [{ path: text, line, rank: 0 as const }] : [];
  });
}

/** Keys of JSON whose values are paths. */
const pathKey = /path|file|name|dir|folder|source|src|target|dest|uri|location|module/i;

/** The fields of a text in JSON, or of what is left of one: its strings, each with the key before it. */
function fieldsOfJson(lines: readonly ReadLine[]): readonly Field[] {
  let key = '';
  return lines.flatMap(({ text, line }) =>
    [...text.matchAll(/"((?:[^"\\]|\\.)*)"(\s*:)?/g)].flatMap(([, literal = '', colon]) => {
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
 * Contract: pure; in time linear in the text, of which the first 262,144 characters are read.
 */
export function namedPaths(text: string): readonly FoundPath[] {
  const lines = linesToRead(text);
  const csv = isCsv(lines);
  const fields = /^\s*(?:\{\s*["}]|\[\s*["{[\]\d])/.test(text)
    ? fieldsOfJson(lines)
    : lines.flatMap((line) => fieldsOf(line, '', csv));
  const found = pathsOf(fields);
  // A word of a path with blanks is none.
  const words = new Set(found.flatMap(({ path }) => (/\s/.test(path) ? path.split(/\s+/) : [])));
  const byPath = new Map<string, Candidate>();
  for (const each of found.toSorted((left, right) => left.rank - right.rank))
    if (!byPath.has(each.path) && !(each.rank > 0 && words.has(each.path)))
      byPath.set(each.path, each);
  return [...byPath.values()].map(({ path, line }) => ({ path, line }));
}
