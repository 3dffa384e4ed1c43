/** Tool `delete_file`: removes one file. */
import { lstat, unlink } from 'node:fs/promises';
import { z } from 'zod';
import { defineTool } from '../define-tool';
import type { Tool } from '../tool';
import { ToolError } from '../tool-error';
import { changeFile, changesOneFile, pathInput } from './change-file';
import { entryPath, errorCode, withPlace, workspaceOf } from './workspace-root';

/** A link itself is deleted, not the file that it leads to. */
const linkItself = { followsLast: false };

/** Deletes a file of the workspace. */
export const deleteFile: Tool = defineTool({
  name: 'delete_file',
  description: 'Deletes one file of the workspace. Folders cannot be deleted.',
  input: z.object({ path: pathInput }),
  ...changesOneFile,
  execute: ({ path }, context) =>
    changeFile(
      path,
      context,
      async ({ folder, name, path: real }) => {
        const entry = entryPath(folder, name);
        if ((await lstat(entry)).isDirectory())
          throw new ToolError(`"${real}" is a folder; only files can be deleted`, {
            code: 'invalid_params',
          });
        await unlink(entry);
        await folder.handle.sync();
        return `Deleted ${real}.`;
      },
      linkItself,
    ),
  probe: async (_key, { path }, context) => {
    const isGone = await withPlace(
      workspaceOf(context),
      path,
      ({ folder, name }) => lstat(entryPath(folder, name)),
      linkItself,
    ).then(
      () => false,
      (thrown: unknown) => errorCode(thrown) === 'ENOENT',
    );
    return isGone
      ? { type: 'applied', output: `Deleted ${path} (found done after a restart).` }
      : { type: 'not-applied' };
  },
});
