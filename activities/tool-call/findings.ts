/** What a whole output says: the paths that it names, and lines that are facts. Nothing that was cut counts (ADR 0033). */
import type { FoundPath, OutputFindings } from '../../workflows/core/tools/ports';
import { isWholeLine, linesToRead, namedPaths, readChars } from './named-paths';

/** Paths of one output: what the memory of a run holds; and characters of them all, so that history stays small (ADR 0033). */
const maxPaths = 48;
const allPathsChars = 4_000;

/** Facts of one output, and characters of one. */
const maxFacts = 4;
const factChars = 160;

/** What may stand directly before or behind a path that is named whole. */
const joins = /[\p{L}\p{M}\p{N}_@+~\-/\\]/u;

/** A line end or a tab in a string of JSON. */
const lineEndInJson = /\\[nrt]$/;

/** Whether the tool itself wrote the path whole: what is left of a longer one that was made private is none. */
function isInOutput(raw: string, path: string, root: string | undefined): boolean {
  for (let at = raw.indexOf(path); at >= 0; at = raw.indexOf(path, at + 1)) {
    const before = raw.slice(Math.max(0, at - 2 - (root?.length ?? 0)), at);
    const isBelowRoot = root !== undefined && before.slice(0, -1).endsWith(root);
    const isOpen = joins.test(before.slice(-1)) && !isBelowRoot && !lineEndInJson.test(before);
    if (!isOpen && !joins.test(raw.charAt(at + path.length))) return true;
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

function bounded(found: readonly FoundPath[]): readonly FoundPath[] {
  let chars = 0;
  return found.slice(0, maxPaths).filter(({ path }) => (chars += path.length) <= allPathsChars);
}

function factsOf(whole: string, paths: readonly FoundPath[]): readonly string[] {
  const lines = linesToRead(whole)
    .filter(isWholeLine)
    .map((line) => ({ ...line, text: line.text.trim() }))
    .filter(({ text }) => text !== '' && text.length <= factChars);
  const naming = lines.filter(({ line }) => paths.some((found) => found.line === line));
  const chosen = naming.length > 0 ? naming.slice(0, maxFacts) : lines.slice(0, 1);
  return chosen.map(({ text }) => text);
}

/**
 * The findings of a call that worked.
 *
 * Contract: pure. `whole` is the sanitized output with nothing left out, `raw` the same as the tool gave it.
 * Source: R-REC-13.
 */
export function findingsOf(
  whole: string,
  raw: string,
  root: string | undefined,
): OutputFindings | undefined {
  const head = raw.slice(0, 2 * readChars);
  const held = namedPaths(whole).filter(({ path }) =>
    spellings(path).some((spelled) => isInOutput(head, spelled, root)),
  );
  const paths = bounded(held);
  const facts = factsOf(whole, paths);
  return paths.length + facts.length === 0 ? undefined : { paths, facts };
}
