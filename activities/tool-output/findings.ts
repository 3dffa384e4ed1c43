/** Finds what a whole output says: the paths that it names, and lines that are facts. Nothing that was cut counts (ADR 0033). */
import { withoutTerminalSequences } from '../../workflows/core/secrets/hidden-characters';
import { relativeToRoot, withoutLastLine } from '../untrusted/sanitizer';
import type { FoundPath, OutputFindings } from '../../workflows/core/tools/ports';
import {
  isWholeLine,
  linesToRead,
  namedPaths,
  pathChars,
  readChars,
} from '../tool-call/named-paths';

/** Paths of one output: as many as a run's memory holds; and their characters together, so that history stays small (ADR 0033). */
const maxPaths = 48;
const allPathsChars = 4_000;

/** Paths of one output that are looked up in the tool's own output: each takes a pass over it. */
const maxChecked = 500;

/** Facts of one output, and characters of one fact. */
const maxFacts = 4;
const factChars = 160;

/** Characters that join a word to a path: if one is directly before or after it, the path is not whole. */
const joins = /[\p{L}\p{M}\p{N}_@+~\-/\\]/u;

/** A line end or a tab in a JSON string, before a path and after one. */
const lineEndInJson = /\\[nrt]$/;
const endsInJson = /^\\+[nrt"]/;

/** The beginning of an absolute path, up to one of its spaces. */
const openPath =
  /(?:^|[\s"'`(=])(?:file:\/\/)?(?:\/|[A-Za-z]:[\\/])(\S{0,400}[\p{L}\p{N}]) (?:\S{1,400} )?$/u;

/** Whether a path can begin after this text. */
function isBeginning(before: string, root: string | undefined): boolean {
  if (root !== undefined && before.slice(0, -1).endsWith(root)) return true;
  if (joins.test(before.slice(-1))) return lineEndInJson.test(before);
  const open = openPath.exec(before)?.[1];
  return open === undefined || /\.\w{1,9}$/.test(open);
}

/** Whether the tool itself wrote the path whole: the rest of a longer path that was made private does not count. */
function isInOutput(raw: string, path: string, root: string | undefined): boolean {
  const room = Math.max(pathChars, 2 + (root?.length ?? 0));
  for (let at = raw.indexOf(path); at >= 0; at = raw.indexOf(path, at + 1)) {
    const behind = raw.slice(at + path.length, at + path.length + 4);
    const isEnd = !joins.test(behind.slice(0, 1)) || endsInJson.test(behind);
    if (isEnd && isBeginning(raw.slice(Math.max(0, at - room), at), root)) return true;
  }
  return false;
}

/** A path as it is, and as JSON may have it. */
function spellings(path: string): readonly string[] {
  const escaped = JSON.stringify(path).slice(1, -1);
  const ascii = escaped.replace(
    /[\u0080-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return [...new Set([path, escaped, ascii, escaped.replaceAll('/', '\\/')])];
}

/** The first paths that the output holds, up to their bounds. */
function bounded(
  named: readonly FoundPath[],
  isHeld: (path: string) => boolean,
): readonly FoundPath[] {
  const found: FoundPath[] = [];
  let chars = 0;
  for (const each of named.slice(0, maxChecked)) {
    if (!isHeld(each.path)) continue;
    chars += each.path.length;
    if (found.length === maxPaths || chars > allPathsChars) break;
    found.push(each);
  }
  return found;
}

/** The lines that the tool itself wrote, with the root removed from paths: a line that was partly made private does not count. */
function writtenLines(raw: string, root: string | undefined): ReadonlySet<string> {
  const below = root === undefined ? raw : raw.replaceAll(`${root}/`, '');
  return new Set(below.split(/[\n\r\u2028\u2029\u0085\v\f]/).map((line) => line.trim()));
}

function factsOf(
  whole: string,
  paths: readonly FoundPath[],
  written: ReadonlySet<string>,
): readonly string[] {
  const lines = linesToRead(whole)
    .filter(isWholeLine)
    .map((line) => ({ ...line, text: line.text.trim() }))
    .filter(({ text }) => text !== '' && text.length <= factChars && !text.includes('…'))
    .filter(({ text }) => written.has(text));
  const naming = lines.filter(({ line }) => paths.some((found) => found.line === line));
  const chosen = naming.length > 0 ? naming.slice(0, maxFacts) : lines.slice(0, 1);
  return chosen.map(({ text }) => text);
}

/** The beginning of an output, with paths below the workspace relative to it, so that each file has one path. */
function readHead(whole: string, root: string | undefined): string {
  const isWhole = whole.length <= 2 * readChars;
  const head = isWhole ? whole : withoutLastLine(whole.slice(0, 2 * readChars));
  return relativeToRoot(head, root);
}

/** The paths that a whole output names, those below the workspace relative to it. */
export function pathsIn(whole: string, root: string | undefined): readonly FoundPath[] {
  return namedPaths(readHead(whole, root));
}

/**
 * The findings of a call that worked.
 *
 * Contract: pure. `whole` is the complete sanitized output, `raw` the output as the tool gave it.
 * Source: R-REC-15.
 */
export function findingsOf(
  whole: string,
  raw: string,
  root: string | undefined,
): OutputFindings | undefined {
  const head = withoutTerminalSequences(raw.slice(0, 2 * readChars));
  const paths = bounded(pathsIn(whole, root), (path) =>
    spellings(path).some((spelled) => isInOutput(head, spelled, root)),
  );
  const facts = factsOf(readHead(whole, root), paths, writtenLines(head, root));
  return paths.length + facts.length === 0 ? undefined : { paths, facts };
}
