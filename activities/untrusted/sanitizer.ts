/** Sanitizes text of tools, vendors and errors for every sink: no secrets, hidden characters or machine paths, and bounded. */
import { setImmediate as turn } from 'node:timers/promises';
import { literalPattern } from '../../workflows/core/literal-pattern';
import { stripHidden } from '../../workflows/core/secrets/hidden-characters';
import { withoutSecrets } from './known-secrets';

/** Which paths of a text are hidden. */
export type HiddenPaths = Pick<SanitizeOptions, 'root' | 'asGiven'>;

/** How a text is bounded and which paths in it are made relative. */
export interface SanitizeOptions {
  /** UTF-16 units of the result, at most. */
  readonly maxChars: number;
  /** Absolute path of the workspace: paths below it become relative to it. */
  readonly root?: string | undefined;
  /** Paths and stack traces stay as they are, as in an output. Default: the machine's paths are hidden, and stacks shortened. */
  readonly asGiven?: boolean | undefined;
}

/** Roots whose paths reveal a person or a machine; those of the system itself (`/usr`, `/etc`) reveal nothing and stay. */
const privateRoots =
  'home|Users|root|tmp|(?:private/)?var/(?:folders|tmp|lib|log|task|run)|private/tmp|mnt|media|Volumes|srv|workspaces?|github/(?:workspace|home)|__w';
const pathCharacter = '[^\\s"\'`<>|:;,()\\[\\]{}*?\\\\]';
const absolutePath = new RegExp(
  `(?<![\\w.~:/-])(?:file://)?/(?:${privateRoots})(?:/${pathCharacter}{1,255}){1,64}/?`,
  'g',
);
const filePath = new RegExp(
  `(?<![\\w.~/-])file:///?(?:${privateRoots})(?:/${pathCharacter}{1,255}){1,64}/?`,
  'g',
);
const windowsPath =
  /(?<![\w.-])(?:\\\\\?\\)?[A-Za-z]:(?:\\{1,2}[^\s"'`<>|:;,()[\]{}*?\\/]{1,255}){2,64}/g;

const lastPart = (path: string): string =>
  path
    .split(/[\\/]/)
    .filter((part) => part !== '')
    .at(-1) ?? path;

/** A text with the paths below a root relative to it. */
export function relativeToRoot(text: string, root: string | undefined): string {
  const base = root?.replace(/(?<![\\/])[\\/]+$/, '') ?? '';
  if (base.length <= 1) return text;
  const below = new RegExp(
    `(?<![\\w.~/-])(?:file://)?(?:/private)?${literalPattern(base)}(?:(/)(?=([\\w.@~+-])?)|(?![\\w.-]))`,
    'g',
  );
  return text.replace(below, (_whole, _slash: unknown, next: unknown) =>
    next === undefined ? '.' : '',
  );
}

function relativePaths(text: string, root: string | undefined): string {
  return relativeToRoot(text, root)
    .replace(filePath, lastPart)
    .replace(absolutePath, lastPart)
    .replace(windowsPath, lastPart);
}

/** Frames that stay of each stack trace. */
const keptFrames = 5;
const frameLine =
  /^\s{0,40}(?:at (?:async )?\S.{0,1000}(?:[:(]\d+|\)|<anonymous>|native)|File ".{1,1000}", line \d+)/;
const foreignFrame = /node:|node_modules|internal\/|site-packages|<frozen|\bjava\.base\b/;

/** Shortens runs of stack frames: own frames first, five in all, and says how many are gone. */
function trimStacks(text: string): string {
  if (!/^\s{0,40}(?:at |File ")/m.test(text)) {
    return text;
  }
  const kept: string[] = [];
  let run: string[] = [];
  const endRun = (): void => {
    if (run.length > keptFrames) {
      const own = run.filter((line) => !foreignFrame.test(line));
      const chosen = new Set((own.length > 0 ? own : run).slice(0, keptFrames));
      kept.push(...run.filter((line) => chosen.has(line)).slice(0, keptFrames));
      kept.push(`    … ${run.length - Math.min(chosen.size, keptFrames)} more frames`);
    } else {
      kept.push(...run);
    }
    run = [];
  };
  for (const line of text.split('\n')) {
    if (frameLine.test(line)) {
      run.push(line);
    } else {
      endRun();
      kept.push(line);
    }
  }
  endRun();
  return kept.join('\n');
}

/** Share of a bounded text that its head gets; errors give the cause first, programs give the result last. */
const headShare = 0.6;
/** Below this length a text keeps its head only. */
const minBothEnds = 120;
/** Room for the note about what is left out, with the largest count. */
const noteChars = 48;

const endsInHalfPair = (text: string): boolean => /[\ud800-\udbff]$/.test(text);
const beginsInHalfPair = (text: string): boolean => /^[\udc00-\udfff]/.test(text);
const wholeHead = (text: string): string => (endsInHalfPair(text) ? text.slice(0, -1) : text);
const wholeTail = (text: string): string => (beginsInHalfPair(text) ? text.slice(1) : text);

/** Share of a cut text that may be dropped with the broken line or word at its end: a part of a name would pass for a name (ADR 0033). */
const brokenShare = 0.6;

/** The beginning of a text, up to the end of its last whole line, or else word, if one ends near. */
export function headToCut(text: string): string {
  const least = text.length * (1 - brokenShare);
  const line = text.lastIndexOf('\n');
  const end = line >= least ? line : text.search(/\s\S*$/);
  return end >= least ? text.slice(0, end) : text;
}

/** The end of a text, from its first whole line, or else word, if one begins near. */
export function tailFromCut(text: string): string {
  const most = text.length * brokenShare;
  const line = text.indexOf('\n');
  const start = line >= 0 && line <= most ? line : text.search(/\s/);
  return start >= 0 && start <= most ? text.slice(start + 1) : text;
}

function bound(head: string, tail: string, totalChars: number, maxChars: number): string {
  if (maxChars < minBothEnds) {
    return maxChars < 1 ? '' : `${wholeHead(head.slice(0, maxChars - 1))}…`;
  }
  const room = maxChars - noteChars;
  const headRoom = Math.floor(room * headShare);
  const first = wholeHead(headToCut(head.slice(0, headRoom)));
  const last = wholeTail(tailFromCut(tail.slice(-(room - headRoom))));
  const leftOut = totalChars - first.length - last.length;
  return `${first}\n[… ${leftOut} characters left out …]\n${last}`;
}

/**
 * Keeps head and tail of a text, with a note of how much is left out.
 *
 * Contract: the result has at most `maxChars` UTF-16 units and no half of a surrogate pair.
 */
export function boundText(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : bound(text, text, text.length, maxChars);
}

/** The same by bytes of JSON, the size of a payload for any script. */
export function boundBytes(text: string, maxBytes: number): string {
  let bounded = boundText(text, maxBytes);
  while (Buffer.byteLength(JSON.stringify(bounded)) > maxBytes)
    bounded = boundText(text, Math.floor(bounded.length * 0.8));
  return bounded;
}

/** Characters read beyond what is kept, so that no secret is cut by the bound before it is recognized. */
const marginChars = 16_384;
/** Characters that a rule reads at most, with what it needs round the secret. */
const reachChars = 24_576;
/** Where a long text is cut before it is read, the broken line is dropped, up to this length. */
const brokenLineChars = 4_096;

/** The text without its last line, where a cut may have broken it. */
export function withoutLastLine(text: string): string {
  const from = Math.max(0, text.length - brokenLineChars);
  const lineEnd = text.indexOf('\n', from);
  return text.slice(0, lineEnd < 0 ? from : text.lastIndexOf('\n'));
}

/** The text without its first line, where a cut may have broken it. */
export function withoutFirstLine(text: string): string {
  const lineEnd = text.lastIndexOf('\n', brokenLineChars);
  return text.slice(lineEnd < 0 ? brokenLineChars : text.indexOf('\n') + 1);
}

/**
 * Keeps head and tail of a text that is too long to be cleaned whole, with a note of how much is left out.
 *
 * Contract: cut at line ends if any are near, so that the sanitizing that follows sees no half of a secret; at most
 * `maxChars` and the note.
 */
export function cutMiddle(text: string, maxChars: number): string {
  if (text.length <= maxChars) return text;
  const headRoom = Math.floor(maxChars * headShare);
  const head = wholeHead(withoutLastLine(text.slice(0, headRoom)));
  const tail = wholeTail(withoutFirstLine(text.slice(headRoom - maxChars)));
  const leftOut = text.length - head.length - tail.length;
  return `${head}\n[… ${leftOut} characters left out: too long to be kept whole …]\n${tail}`;
}

function clean(visible: string, { root, asGiven = false }: HiddenPaths): string {
  const safe = withoutSecrets(visible);
  return asGiven ? safe : relativePaths(trimStacks(safe), root);
}

/**
 * Makes text fit for every sink: hidden characters and terminal sequences removed, secrets redacted, length bounded with head and
 * tail kept. Unless it stays as given, stack traces are trimmed, and absolute paths become relative (below `root`) or lose all but
 * their last part (personal and temporary places).
 *
 * Contract: pure; never throws; of a text of any length only `maxChars` and a margin at both ends is worked on; the result is
 * well-formed Unicode without NUL.
 */
export function sanitizeText(text: string, { maxChars, ...paths }: SanitizeOptions): string {
  const window = maxChars + marginChars;
  if (text.length <= 2 * window) {
    return boundText(clean(stripHidden(text), paths), maxChars);
  }
  const head = clean(withoutLastLine(stripHidden(text.slice(0, window))), paths);
  const tail = clean(withoutFirstLine(stripHidden(text.slice(-window))), paths);
  return bound(head, tail, text.length, maxChars);
}

/** Characters of a piece: about 100 ms of work in the worst case. */
const pieceChars = 128 * 1024;
/** Characters before a place that are searched for one where no token can be. */
const searchChars = 16_384;
/** Characters before the end of a piece at which a cut is tried: the longest secret that a rule knows whole has 20,000. */
const cutsTried = [0, 1_024, 4_096, 8_192, 16_384, 32_768];

/** A place to cut at or before `end`: after a line, else where no token can be, else anywhere but in a surrogate pair. */
function placeBefore(text: string, end: number): number {
  const from = Math.max(0, end - searchChars);
  const region = text.slice(from, end);
  const line = region.lastIndexOf('\n');
  if (line >= 0) return from + line + 1;
  const gap = /[^\w+/=.~%-](?=[\w+/=.~%-]{0,16384}$)/.exec(region);
  if (gap !== null && !/[\ud800-\udfff]/.test(gap[0])) return from + gap.index + 1;
  return /[\ud800-\udbff]/.test(text.charAt(end - 1)) ? end - 1 : end;
}

const visible = (text: string): string => withoutSecrets(stripHidden(text));

/** Whether no secret crosses a place: what is found on both sides together is what is found on each. */
function isBetweenSecrets(text: string, at: number): boolean {
  const before = text.slice(Math.max(0, at - reachChars), at);
  const after = text.slice(at, at + reachChars);
  return visible(before + after) === visible(before) + visible(after);
}

/** A place at or before `end`, and behind `from`, that no secret crosses, if one is near. */
export function placeBetweenSecrets(text: string, end: number, from = 0): number {
  const ends = cutsTried.map((chars) => end - chars).filter((at) => at > from);
  const places = ends.map((at) => placeBefore(text, at)).filter((at) => at > from);
  return places.find((at) => isBetweenSecrets(text, at)) ?? places[0] ?? end;
}

/** Where a piece that begins at `from` ends. */
function cutAt(text: string, from: number): number {
  const end = from + pieceChars;
  return end >= text.length ? text.length : placeBetweenSecrets(text, end, from);
}

/** Characters of the end of a text that is still arriving in which its last word is looked for. */
const wordChars = 200;

/** Where the last word of a text begins that may go on, and become a secret; in a longer row without blanks, the last token. */
export function lastWordStart(text: string): number {
  const back = (word: RegExp, most: number): number => {
    let at = text.length;
    while (at > 0 && text.length - at < most && word.test(text.charAt(at - 1))) at -= 1;
    return at;
  };
  const start = back(/[!-~]/, wordChars);
  const at = text.length - start < wordChars ? start : back(/[\w+/=.~%-]/, searchChars);
  return /[\ud800-\udbff]/.test(text.charAt(at - 1)) ? at - 1 : at;
}

/** Cleans a text in pieces that end between secrets, and yields to the event loop between them, so that heartbeats still go out. */
async function inPieces(text: string, cleaned: (piece: string) => string): Promise<string> {
  const pieces: string[] = [];
  for (let from = 0; from < text.length;) {
    const to = cutAt(text, from);
    pieces.push(cleaned(text.slice(from, to)));
    from = to;
    await turn();
  }
  return pieces.join('');
}

/**
 * Sanitizes a whole text for the store: like `sanitizeText`, but nothing is left out.
 *
 * Contract: deterministic in its arguments. A secret that is longer than 32,768 characters, or has no line end, blank or
 * bracket in 16,384, may be cut in two and then keeps a part.
 */
export function sanitizeWhole(text: string, paths: HiddenPaths): Promise<string> {
  return inPieces(text, (piece) => sanitizeText(piece, { maxChars: 2 * pieceChars, ...paths }));
}

/** A whole text without secrets, such as JSON, whose characters must stay. Contract: that of `sanitizeWhole`. */
export function withoutSecretsInPieces(text: string): Promise<string> {
  return inPieces(text, withoutSecrets);
}

/** A whole text without secrets and hidden characters, as a person or a caller gets it. Contract: that of `sanitizeWhole`. */
export function visibleText(text: string): Promise<string> {
  return inPieces(text, visible);
}

/**
 * The lines of a file without secrets and hidden characters, to take some of them: a secret is recognized by all of its lines.
 *
 * Contract: as many lines as the text has by `\n` and `\r\n`; otherwise that of `sanitizeWhole`.
 */
export async function visibleLines(text: string): Promise<readonly string[]> {
  const plain = text.replace(/\r\n/g, '\n').replace(/[\r\u2028\u2029\u0085\v\f]/g, ' ');
  return (await visibleText(plain)).split('\n');
}
