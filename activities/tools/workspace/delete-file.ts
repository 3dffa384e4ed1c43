/** Tool `delete_file`: removes one file. */
import { lstat, unlink } from 'node:fs/promises';
import { z } from 'zod';
import { defineTool } from '../define-tool';
import type { Tool } from '../tool';
import { ToolError } from '../tool-error';
import { withFileLock } from './file-lock';
import { explainingPath } from './missing-file';
import { refuseGitFolder } from '../workspace-path';
import { workspaceOf } from './workspace-of';
import { entryPath, errorCode, withPlace } from './workspace-root';

/** Deletes a file of the workspace; of a link, the link itself. */
export const deleteFile: Tool = defineTool({
  name: 'delete_file',
  description: 'Deletes one file of the workspace. Folders cannot be deleted.',
  input: z.object({
    path: z.string().min(1).describe('Full path relative to the workspace root.'),
  }),
  effect: 'reconcilable',
  label: 'path',
  editsFile: 'path',
  execute: async ({ path }, context) => {
    const root = workspaceOf(context);
    return explainingPath(path, root, context, () =>
      withFileLock(root, () =>
        withPlace(
          root,
          path,
          async ({ folder, name, path: real }) => {
            refuseGitFolder(real);
            const entry = entryPath(folder, name);
            if ((await lstat(entry)).isDirectory()) {
              throw new ToolError(`"${real}" is a folder; only files can be deleted`, {
                code: 'invalid_params',
              });
            }
            await unlink(entry);
            await folder.handle.sync();
            return `Deleted ${real}.`;
          },
          { followsLast: false },
        ),
      ),
    );
  },
  probe: async (_key, { path }, context) => {
    const isGone = await withPlace(
      workspaceOf(context),
      path,
      async ({ folder, name }) => {
        await lstat(entryPath(folder, name));
        return false;
      },
      { followsLast: false },
    ).catch((thrown: unknown) => errorCode(thrown) === 'ENOENT');
    return isGone
      ? { type: 'applied', output: `Deleted ${path} (found done after a restart).` }
      : { type: 'not-applied' };
  },
});
