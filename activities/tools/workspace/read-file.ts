/** Tool `read_file`: a text file, or some of its lines. */
import { z } from 'zod';
import { visibleLines } from '../../untrusted/sanitizer';
import { defineTool } from '../define-tool';
import type { Tool } from '../tool';
import { ToolError } from '../tool-error';
import { pathInput } from './change-file';
import { explainingPath } from './path-errors';
import { readTextFile } from './text-file';
import { withPlace, workspaceOf } from './workspace-root';

/** Lines in one answer, where the call names no number. */
const defaultLines = 2_000;
/** Characters in one answer. */
const maxChars = 100_000;

/** Characters before and behind the lines of an answer that are cleaned with them: more than a secret has. */
const marginChars = 64 * 1024;

/** Index of the line that is so many characters before the line `at`, or behind it. */
function lineFrom(lines: readonly string[], at: number, chars: number, step: 1 | -1): number {
  let index = at;
  for (let seen = 0; seen < chars && lines[index] !== undefined; index += step)
    seen += (lines[index]?.length ?? 0) + 1;
  return Math.max(0, index);
}

/** Lines from `start` (from 1) that fit the bounds; a single longer line comes whole. `before` lines stand in front of all. */
function linesFrom(
  lines: readonly string[],
  start: number,
  count: number,
  before: number,
): { readonly body: string; readonly last: number } {
  let chars = 0;
  let last = start - 1;
  for (const line of lines.slice(start - 1, start - 1 + count)) {
    chars += line.length + 1;
    if (chars > maxChars && last >= start) break;
    last += 1;
  }
  return { body: lines.slice(start - 1, last).join('\n'), last: last + before };
}

/** Reads a text file of the workspace. */
export const readFile: Tool = defineTool({
  name: 'read_file',
  description:
    'Reads a text file of the workspace. Needs the full relative path as list_files and search_files print it (packages/a/src/file.ts), not the file name alone.',
  input: z.object({
    path: pathInput,
    start_line: z.int().min(1).default(1).describe('First line to read. Default: 1.'),
    max_lines: z
      .int()
      .min(1)
      .default(defaultLines)
      .describe(`Lines to read at most. Default: ${defaultLines}.`),
  }),
  effect: 'read',
  quick: true,
  label: 'path',
  execute: async ({ path, start_line: start, max_lines: count }, context) => {
    const file = await explainingPath(path, context, () =>
      withPlace(workspaceOf(context), path, async (place) => ({
        ...(await readTextFile(place)),
        path: place.path,
      })),
    );
    const lines = file.text.split(/\r?\n/);
    const total = lines.at(-1) === '' ? lines.length - 1 : lines.length;
    if (total === 0) return `${file.path} is empty.`;
    if (start > total)
      throw new ToolError(`"${file.path}" has ${total} lines; line ${start} does not exist`, {
        code: 'invalid_params',
      });
    const from = lineFrom(lines, start - 1, marginChars, -1);
    const to = lineFrom(lines, start - 1, maxChars + marginChars, 1);
    const seen = await visibleLines(lines.slice(from, Math.min(to, total)).join('\n'));
    const { body, last } = linesFrom(seen, start - from, count, from);
    const more = last < total ? `\n[… read on with start_line ${last + 1}]` : '';
    return `${file.path}, lines ${start}-${last} of ${total}:\n${body}${more}`;
  },
});
