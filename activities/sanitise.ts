/** Makes text of tools, vendors and errors fit for every sink: no secrets, no hidden characters, no machine paths, bounded. */
import { redactText } from './redact';

/** How a text is bounded and which paths in it are made relative. */
export interface SanitiseOptions {
  /** UTF-16 units of the result, at most. */
  readonly maxChars: number;
  /** Absolute path of the workspace: paths below it become relative to it. */
  readonly root?: string;
}

/** Terminal sequences: CSI, OSC, DCS and their kin, single escapes; in 7-bit and 8-bit form. */
const terminalSequences = new RegExp(
  [
    '(?:\\u001b\\[|\\u009b)[0-?]{0,64}[ -/]{0,8}[@-~]?',
    '(?:\\u001b[\\]PX^_]|[\\u0090\\u0098\\u009d-\\u009f])[^\\u0007\\u001b\\u009c]{0,4096}(?:\\u0007|\\u001b\\\\|\\u009c)',
    '\\u001b[ -/]{0,8}[0-~]?',
  ].join('|'),
  'gu',
);

/** Line ends of every kind: CRLF, CR, line and paragraph separators, NEL, VT, FF. */
const lineEnds = /\r\n?|[\u2028\u2029\u0085\v\f]/gu;

const joiner = '(?:\\u200c|\\u200d|[\\ufe00-\\ufe0e])';

/**
 * Characters that a person does not see: C0 and C1 controls, bidi controls, zero-width and filler characters, tags,
 * variation selectors that carry bytes, annotations, non-characters.
 */
const hiddenCharacters = new RegExp(
  [
    '[\\u0000-\\u0008\\u000e-\\u001f\\u007f-\\u009f]',
    '\\u034f|\\u17b4|\\u17b5|[\\u180b-\\u180f]|[\\u00ad\\u061c\\u115f\\u1160\\u3164\\uffa0]',
    '[\\u200b\\u200e\\u200f\\u202a-\\u202e\\u2060-\\u206f\\ufeff\\ufff0-\\ufffb\\ufffe\\uffff]',
    '[\\u{e0000}-\\u{e0fff}\\u{1bca0}-\\u{1bca3}\\u{1d173}-\\u{1d17a}]',
    // Joiners and selectors are needed in emoji and some scripts, never beside ASCII or in runs.
    `(?<=[!-~])${joiner}+|${joiner}+(?=[!-~])`,
    `(?<=(?:${joiner}|\\ufe0f){2})(?:${joiner}|\\ufe0f)+`,
  ].join('|'),
  'gu',
);

const loneSurrogates = /\p{Surrogate}/gu;

/**
 * Removes what a person would not see and what breaks wires: terminal sequences, control, bidi, zero-width and tag characters;
 * lone surrogates become U+FFFD; all line ends become `\n`; tabs stay.
 */
export function stripHidden(text: string): string {
  return text
    .replace(loneSurrogates, '\ufffd')
    .replace(terminalSequences, '')
    .replace(lineEnds, '\n')
    .replace(hiddenCharacters, '');
}

/** Roots whose paths tell of a person or a machine; those of the system itself (`/usr`, `/etc`) say nothing and stay. */
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

const escaped = (text: string): string => text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');

function relativePaths(text: string, root: string | undefined): string {
  let clean = text;
  const base = root?.replace(/[\\/]+$/, '') ?? '';
  if (base.length > 1) {
    const below = new RegExp(
      `(?<![\\w.~/-])(?:file://)?(?:/private)?${escaped(base)}(?:(/)(?=([\\w.@~+-])?)|(?![\\w.-]))`,
      'g',
    );
    clean = clean.replace(below, (_whole, _slash: unknown, next: unknown) =>
      next === undefined ? '.' : '',
    );
  }
  return clean
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

/** Share of a bounded text that its head gets; errors tell the cause first, programs tell the result last. */
const headShare = 0.6;
/** Below this length a text keeps its head only. */
const minBothEnds = 120;
/** Room for the note that tells what is left out, with the largest count. */
const noteChars = 48;

const endsInHalfPair = (text: string): boolean => /[\ud800-\udbff]$/.test(text);
const beginsInHalfPair = (text: string): boolean => /^[\udc00-\udfff]/.test(text);
const wholeHead = (text: string): string => (endsInHalfPair(text) ? text.slice(0, -1) : text);
const wholeTail = (text: string): string => (beginsInHalfPair(text) ? text.slice(1) : text);

function bound(head: string, tail: string, totalChars: number, maxChars: number): string {
  if (maxChars < minBothEnds) {
    return maxChars < 1 ? '' : `${wholeHead(head.slice(0, maxChars - 1))}…`;
  }
  const room = maxChars - noteChars;
  const headRoom = Math.floor(room * headShare);
  const first = wholeHead(head.slice(0, headRoom));
  const last = wholeTail(tail.slice(-(room - headRoom)));
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

/** Characters read beyond what is kept, so that no secret is cut by the bound before it is recognised. */
const marginChars = 16_384;
/** Where a long text is cut before it is read, the broken line goes, up to this length. */
const brokenLineChars = 4_096;

function withoutLastLine(text: string): string {
  const from = Math.max(0, text.length - brokenLineChars);
  const lineEnd = text.indexOf('\n', from);
  return text.slice(0, lineEnd < 0 ? from : text.lastIndexOf('\n'));
}

function withoutFirstLine(text: string): string {
  const lineEnd = text.lastIndexOf('\n', brokenLineChars);
  return text.slice(lineEnd < 0 ? brokenLineChars : text.indexOf('\n') + 1);
}

function clean(visible: string, root: string | undefined): string {
  return relativePaths(trimStacks(redactText(visible)), root);
}

/**
 * Makes text fit for every sink: hidden characters and terminal sequences removed, secrets redacted, stack traces trimmed,
 * absolute paths made relative (below `root`) or cut to their last part (personal and temporary places), length bounded with
 * head and tail kept.
 *
 * Contract: pure; never throws; of a text of any length only `maxChars` and a margin at both ends is worked on; the result is
 * well-formed Unicode without NUL.
 */
export function sanitiseText(text: string, { maxChars, root }: SanitiseOptions): string {
  const window = maxChars + marginChars;
  if (text.length <= 2 * window) {
    return boundText(clean(stripHidden(text), root), maxChars);
  }
  const head = clean(withoutLastLine(stripHidden(text.slice(0, window))), root);
  const tail = clean(withoutFirstLine(stripHidden(text.slice(-window))), root);
  return bound(head, tail, text.length, maxChars);
}
