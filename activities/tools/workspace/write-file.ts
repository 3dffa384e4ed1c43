/** Tool `write_file`: a whole new content for a new or an existing file. */
import { z } from 'zod';
import { redactionMark } from '../../../workflows/core/secrets/redaction-mark';
import { defineTool } from '../define-tool';
import type { ProbeAnswer, Tool, ToolContext } from '../tool';
import { ToolError } from '../tool-error';
import { writeAtomically } from './atomic-write';
import { withFileLock } from './file-lock';
import { explainingPath } from './missing-file';
import { maxFileBytes, readTextFile } from './text-file';
import type { TextFile } from './text-file';
import { refuseGitFolder, relativePathHint } from '../workspace-path';
import { workspaceOf } from './workspace-of';
import { errorCode, withPlace } from './workspace-root';
import type { Place } from './workspace-root';

const input = z.object({
  path: z.string().min(1).describe('Full path relative to the workspace root.'),
  content: z.string().describe('The whole content of the file.'),
});
type WriteInput = z.output<typeof input>;

async function existing(place: Place): Promise<TextFile | undefined> {
  try {
    return await readTextFile(place);
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT') {
      return undefined;
    }
    throw thrown;
  }
}

/** Bytes to write: BOM and line ends as the file has them, if it has only one kind. */
function bytesFor(content: string, before: TextFile | undefined): Buffer {
  const usesPairs = before?.lineEnd === '\r\n' && !/(^|[^\r])\n/.test(before.text);
  const text = usesPairs ? content.replace(/\r?\n/g, '\r\n') : content;
  const needsBom = before?.hasBom === true && !text.startsWith('\ufeff');
  return Buffer.from(`${needsBom ? '\ufeff' : ''}${text}`);
}

async function write(place: Place, { content }: WriteInput, key: string): Promise<string> {
  refuseGitFolder(place.path);
  const before = await existing(place);
  if (before === undefined && place.name.includes('\\')) {
    throw new ToolError(`No file was made: "${place.name}" holds a backslash`, {
      code: 'invalid_params',
      hint: relativePathHint,
    });
  }
  if (content.includes(redactionMark) && before?.text.includes(redactionMark) !== true) {
    throw new ToolError(
      `content holds ${redactionMark}, which stands for a secret and is no text`,
      {
        code: 'invalid_params',
        hint: 'Use edit_file on the other lines, so that the secret stays as it is.',
      },
    );
  }
  const bytes = bytesFor(content, before);
  await writeAtomically(place, { bytes, mode: before?.mode ?? 0o644, key, expected: 'any' });
  return `${before === undefined ? 'Created' : 'Replaced'} ${place.path} (${bytes.length} bytes).`;
}

async function execute(file: WriteInput, context: ToolContext): Promise<string> {
  const root = workspaceOf(context);
  if (Buffer.byteLength(file.content) > maxFileBytes) {
    throw new ToolError(`content has more than ${maxFileBytes} bytes`, { code: 'invalid_params' });
  }
  // Before a folder is made: the parts as given; after links are resolved: the place itself.
  refuseGitFolder(file.path);
  return explainingPath(file.path, root, context, () =>
    withFileLock(root, () =>
      withPlace(root, file.path, (place) => write(place, file, context.idempotencyKey), {
        createFolders: true,
      }),
    ),
  );
}

async function probe(_key: string, file: WriteInput, context: ToolContext): Promise<ProbeAnswer> {
  const isThere = await withPlace(workspaceOf(context), file.path, async (place) => {
    const now = await existing(place);
    const same = (text: string): string => text.replace(/\r\n/g, '\n').replace(/^\ufeff/, '');
    return now !== undefined && same(now.text) === same(file.content);
  }).catch(() => false);
  return isThere
    ? { type: 'applied', output: `Wrote ${file.path} (found done after a restart).` }
    : { type: 'not-applied' };
}

/** Writes a text file of the workspace. */
export const writeFile: Tool = defineTool({
  name: 'write_file',
  description:
    'Writes a whole text file of the workspace: a new one, folders included, or in place of an old one. To change a part of a file use edit_file.',
  input,
  effect: 'reconcilable',
  label: 'path',
  editsFile: 'path',
  execute,
  probe,
});
