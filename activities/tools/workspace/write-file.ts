/** Tool `write_file`: writes a whole file, new or existing. */
import { z } from 'zod';
import { redactionMark } from '../../../workflows/core/secrets/own-secret-rules';
import { encodeText } from '../../untrusted/decode-text';
import { defineTool } from '../define-tool';
import type { ProbeAnswer, Tool, ToolContext } from '../tool';
import { ToolError } from '../tool-error';
import { changeFile, changesOneFile, pathInput, writeAtomically } from './change-file';
import { maxFileBytes, readTextFile } from './text-file';
import type { TextFile } from './text-file';
import { refuseGitFolder, relativePathHint } from '../workspace-path';
import { errorCode, withPlace, workspaceOf } from './workspace-root';
import type { Place } from './workspace-root';

const input = z.object({
  path: pathInput,
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

/** Bytes to write, in the encoding of the file, with its BOM, and its line ends if all are alike. */
function bytesFor(content: string, before: TextFile | undefined): Buffer {
  const usesPairs = before?.lineEnd === '\r\n' && !/(^|[^\r])\n/.test(before.text);
  const text = usesPairs ? content.replace(/\r?\n/g, '\r\n') : content;
  if (before === undefined) return Buffer.from(text);
  const hasBom = before.hasBom || text.startsWith('\ufeff');
  return encodeText(text.replace(/^\ufeff/, ''), { ...before, hasBom });
}

async function write(place: Place, { content }: WriteInput, key: string): Promise<string> {
  const before = await existing(place);
  if (before === undefined && place.name.includes('\\')) {
    throw new ToolError(`No file was created: "${place.name}" contains a backslash`, {
      code: 'invalid_params',
      hint: relativePathHint,
    });
  }
  if (content.includes(redactionMark) && before?.text.includes(redactionMark) !== true) {
    throw new ToolError(
      `content contains ${redactionMark}, which replaces a secret and is not part of a file`,
      {
        code: 'invalid_params',
        hint: 'Use edit_file on the other lines, so that the secret stays as it is.',
      },
    );
  }
  const bytes = bytesFor(content, before);
  await writeAtomically(place, { bytes, mode: before?.mode ?? 0o644, key });
  return `${before === undefined ? 'Created' : 'Replaced'} ${place.path} (${bytes.length} bytes).`;
}

async function execute(file: WriteInput, context: ToolContext): Promise<string> {
  if (Buffer.byteLength(file.content) > maxFileBytes)
    throw new ToolError(`content has more than ${maxFileBytes} bytes`, { code: 'invalid_params' });
  // Also before a folder is created, when links are not resolved yet.
  refuseGitFolder(file.path);
  return changeFile(file.path, context, (place) => write(place, file, context.idempotencyKey), {
    createFolders: true,
  });
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
    'Writes a whole text file of the workspace: creates it, with its folders, or replaces it. To change a part of a file use edit_file.',
  input,
  ...changesOneFile,
  execute,
  probe,
});
