/** Tool `list_files`: full relative paths of the entries of a folder. */
import { z } from 'zod';
import { defineTool } from '../define-tool';
import type { Tool } from '../tool';
import { explainingPath } from './path-errors';
import { walkFiles } from './walk-files';
import { pathAsStored, workspaceOf } from './workspace-root';

/** Paths in one answer; breadth first, so that the upper levels are whole. */
const maxListed = 500;

const marks = {
  file: '',
  folder: '/',
  link: ' (link)',
  'ignored-folder': '/ (contents left out)',
  rest: '',
};

/** Lists files below a folder of the workspace. */
export const listFiles: Tool = defineTool({
  name: 'list_files',
  description:
    'Lists files and folders of the workspace, one full relative path per line. Generated folders (node_modules, dist, …) are listed, but not their contents unless you ask for them.',
  input: z.object({
    path: z
      .string()
      .default('.')
      .describe('Folder, relative to the workspace root. Default: the root.'),
    recursive: z
      .boolean()
      .default(true)
      .describe('Also list what is in folders below. Default: true.'),
    include_ignored: z
      .boolean()
      .default(false)
      .describe('Also enter node_modules, dist and the like. Default: false.'),
  }),
  effect: 'read',
  quick: true,
  label: 'path',
  execute: async ({ path, recursive, include_ignored: includeIgnored }, context) => {
    const from = await pathAsStored(workspaceOf(context), path);
    const lines: string[] = [];
    await explainingPath(path, context, async () => {
      const walk = walkFiles(context, from, { includeIgnored, isRecursive: recursive });
      for await (const entry of walk) {
        if (lines.length >= maxListed) {
          lines.push(`[… more than ${maxListed} entries; list a folder further down]`);
          break;
        }
        lines.push(`${entry.path}${marks[entry.type]}`);
      }
    });
    return lines.length === 0 ? `The folder ${path} is empty.` : lines.join('\n');
  },
});
