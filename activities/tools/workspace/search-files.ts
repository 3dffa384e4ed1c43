/** Tool `search_files`: the lines in which a text occurs, with full relative paths. */
import { z } from 'zod';
import { literalPattern } from '../../../workflows/core/literal-pattern';
import { visibleLines } from '../../untrusted/sanitizer';
import { defineTool } from '../define-tool';
import type { Tool, ToolContext } from '../tool';
import { ToolError } from '../tool-error';
import { lineMatcher } from './line-matcher';
import type { LineMatcher } from './line-matcher';
import { explainingPath } from './path-errors';
import { readTextFile } from './text-file';
import { walkFiles } from './walk-files';
import { foldedName } from '../workspace-path';
import { errorCode, pathAsStored, withPlace, workspaceOf } from './workspace-root';

/** Lines in one answer. */
const maxMatches = 100;
/** Paths listed because their name matches. */
const maxNames = 20;
/** Bytes above which a file is skipped: it is generated, or data. */
const maxSearchedBytes = 2 * 1024 * 1024;

interface Findings {
  readonly lines: string[];
  readonly names: string[];
  /** Notes about what was not looked at. */
  readonly notes: Set<string>;
  skipped: number;
  isCut: boolean;
}

interface Search {
  readonly matcher: LineMatcher;
  readonly query: string;
  readonly context: ToolContext;
  readonly findings: Findings;
}

/** Text of a file; undefined for what is not searched: binary, large, deleted in the meantime, not readable. */
async function searchableText(root: string, path: string): Promise<string | undefined> {
  try {
    return (await withPlace(root, path, (place) => readTextFile(place, maxSearchedBytes))).text;
  } catch (thrown) {
    if (thrown instanceof ToolError || errorCode(thrown) !== undefined) return undefined;
    throw thrown;
  }
}

async function searchFile({ findings, matcher, context }: Search, path: string): Promise<void> {
  const text = await searchableText(workspaceOf(context), path);
  if (text === undefined) {
    findings.skipped += 1;
    return;
  }
  const left = maxMatches - findings.lines.length;
  if ((await matcher.match(text, 1)).length === 0) return;
  // Matched as the model may read it, so that no match tells what a secret holds.
  const found = await matcher.match((await visibleLines(text)).join('\n'), left + 1);
  findings.isCut = found.length > left;
  for (const { line, text: shown } of found.slice(0, left))
    findings.lines.push(`${path}:${line}: ${shown}`);
}

async function searchAll(search: Search, from: string, includeIgnored: boolean): Promise<void> {
  const { findings } = search;
  const wanted = foldedName(search.query);
  for await (const { path, type } of walkFiles(search.context, from, { includeIgnored })) {
    if (type === 'rest') findings.notes.add(path);
    if (type !== 'file' && type !== 'link') continue;
    const isNamed = wanted !== '' && foldedName(path).includes(wanted);
    if (isNamed && findings.names.length < maxNames) findings.names.push(path);
    else if (isNamed)
      findings.notes.add(`[… more files match by path than ${maxNames}; narrow the search]`);
    if (!findings.isCut) await searchFile(search, path);
  }
}

function report({ lines, names, notes, skipped, isCut }: Findings): string {
  const parts: string[] = [];
  if (lines.length > 0) {
    parts.push(
      `${lines.length} matching lines${isCut ? ' (there are more; narrow the search)' : ''}. ` +
        'Each is PATH:LINE: TEXT. For read_file and edit_file use the whole PATH, up to the colon before the line number, not the file name alone.',
      ...lines,
    );
  }
  if (names.length > 0) parts.push('Files whose path contains the query:', ...names);
  if (parts.length === 0) parts.push('Nothing matches.');
  parts.push(...notes);
  if (skipped > 0)
    parts.push(`(${skipped} files skipped: binary, not readable, or larger than 2 MB)`);
  return parts.join('\n');
}

/** Searches the workspace's text files. */
export const searchFiles: Tool = defineTool({
  name: 'search_files',
  description:
    'Finds lines in the text files of the workspace, and files by their path. Prints FULL/RELATIVE/PATH:LINE: TEXT; use that whole path with the other file tools.',
  input: z.object({
    query: z
      .string()
      .min(1)
      .max(1_000)
      .describe('Text to find, or a regular expression with regex true.'),
    path: z
      .string()
      .default('.')
      .describe('Folder or file to search, relative to the workspace root. Default: all.'),
    regex: z
      .boolean()
      .default(false)
      .describe('Treat the query as a regular expression (JavaScript).'),
    ignore_case: z.boolean().default(false),
    include_ignored: z
      .boolean()
      .default(false)
      .describe('Also search node_modules, dist, and similar folders.'),
  }),
  effect: 'read',
  quick: true,
  label: 'query',
  execute: async (input, context) => {
    const from = await pathAsStored(workspaceOf(context), input.path);
    const pattern = input.regex ? input.query : literalPattern(input.query);
    const matcher = lineMatcher(pattern, input.ignore_case);
    const findings: Findings = { lines: [], names: [], notes: new Set(), skipped: 0, isCut: false };
    const search = { matcher, query: input.query, context, findings };
    try {
      await explainingPath(input.path, context, () =>
        searchAll(search, from, input.include_ignored).catch((thrown: unknown) => {
          if (errorCode(thrown) !== 'ENOTDIR') throw thrown;
          return searchFile(search, from);
        }),
      );
    } finally {
      await matcher.close();
    }
    return report(findings);
  },
});
