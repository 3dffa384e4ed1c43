/** Tool `edit_file`: replaces a text that stands exactly once in a file. */
import { z } from 'zod';
import { redactionMark } from '../../../workflows/core/secrets/redaction-mark';
import { defineTool } from '../define-tool';
import type { ProbeAnswer, Tool, ToolContext } from '../tool';
import { ToolError } from '../tool-error';
import { writeAtomically } from './atomic-write';
import { withFileLock } from './file-lock';
import { explainingPath } from './missing-file';
import { readTextFile } from './text-file';
import type { TextFile } from './text-file';
import { refuseGitFolder } from '../workspace-path';
import { workspaceOf } from './workspace-of';
import { withPlace } from './workspace-root';

const input = z.object({
  path: z.string().min(1).describe('Full path relative to the workspace root.'),
  old_text: z
    .string()
    .min(1)
    .describe('Text to replace, exactly as in the file, blanks included. Must occur exactly once.'),
  new_text: z.string().describe('Text to put in its place.'),
});
type EditInput = z.output<typeof input>;

/** Attempts to edit a file that others change meanwhile. */
const maxRaces = 5;
/** Line numbers told where a text occurs too often. */
const maxLinesTold = 20;

/** Matches looked for; one more than one is already too many. */
const maxMatches = 1_000;

const withPlainLineEnds = (text: string): string => text.replace(/\r\n/g, '\n');

/** Where an offset of the text with plain line ends lies in the text itself. */
function offsetInFile(file: string, plainOffset: number): number {
  let offset = plainOffset;
  for (let at = file.indexOf('\r\n'); at >= 0 && at < offset; at = file.indexOf('\r\n', at + 2)) {
    offset += 1;
  }
  return offset;
}

/** Where a text stands in a file, whatever the line ends on both sides. */
function matchesOf(file: string, text: string): readonly { at: number; length: number }[] {
  const plainFile = withPlainLineEnds(file);
  const plain = withPlainLineEnds(text);
  const found: { at: number; length: number }[] = [];
  // Overlapping matches count too: "aa" stands twice in "aaa".
  let at = plain === '' ? -1 : plainFile.indexOf(plain);
  while (at >= 0 && found.length < maxMatches) {
    const start = offsetInFile(file, at);
    found.push({ at: start, length: offsetInFile(file, at + plain.length) - start });
    at = plainFile.indexOf(plain, at + 1);
  }
  return found;
}

const lineAt = (text: string, at: number): number => text.slice(0, at).split('\n').length;

/** Lines that are the wanted ones but for blanks at their ends or a mark in place of a secret. */
function nearMiss(file: string, text: string): string | undefined {
  const lines = file.split(/\r?\n/);
  const wanted = text.split(/\r?\n/).map((line) => line.trim());
  const trimmed = lines.map((line) => line.trim());
  const first = trimmed.findIndex((_, index) =>
    wanted.every((line, offset) => trimmed[index + offset] === line),
  );
  return first < 0 || wanted.join('') === ''
    ? undefined
    : `but for blanks it is at lines ${first + 1}-${first + wanted.length}`;
}

function noMatch(path: string, file: string, { old_text: text }: EditInput): ToolError {
  if (text.includes(redactionMark)) {
    return new ToolError(
      `old_text holds ${redactionMark}, which stands for a secret in "${path}"`,
      {
        hint: 'Leave the lines with the secret out of old_text and new_text.',
      },
    );
  }
  const miss = nearMiss(file, text);
  return new ToolError(
    `old_text does not occur in "${path}"${miss === undefined ? '' : `; ${miss}`}`,
    { hint: 'Read the file again and copy the text exactly, with its indentation.' },
  );
}

function manyMatches(path: string, file: string, found: readonly { at: number }[]): ToolError {
  const lines = found.slice(0, maxLinesTold).map(({ at }) => lineAt(file, at));
  const more = found.length > maxLinesTold ? ', …' : '';
  return new ToolError(
    `old_text occurs ${found.length} times in "${path}", at lines ${lines.join(', ')}${more}; it must occur once`,
    { hint: 'Take in the lines before or after, so that the text is unique.' },
  );
}

function edited(path: string, file: TextFile, edit: EditInput): { text: string; line: number } {
  const found = matchesOf(file.text, edit.old_text);
  const [only] = found;
  if (only === undefined) {
    throw noMatch(path, file.text, edit);
  }
  if (found.length > 1) {
    throw manyMatches(path, file.text, found);
  }
  const replacement = edit.new_text.replace(/\r?\n/g, file.lineEnd);
  return {
    text: file.text.slice(0, only.at) + replacement + file.text.slice(only.at + only.length),
    line: lineAt(file.text, only.at),
  };
}

function checkEdit({ old_text: before, new_text: after }: EditInput): void {
  if (before === after) {
    throw new ToolError('old_text and new_text are equal; nothing would change', {
      code: 'invalid_params',
    });
  }
  if (after.includes(redactionMark) && !before.includes(redactionMark)) {
    throw new ToolError(
      `new_text holds ${redactionMark}, which stands for a secret and is no text`,
      {
        code: 'invalid_params',
        hint: 'Leave the lines with the secret out of the edit.',
      },
    );
  }
}

async function editOnce(root: string, edit: EditInput, key: string): Promise<string | undefined> {
  return withPlace(root, edit.path, async (place) => {
    refuseGitFolder(place.path);
    const file = await readTextFile(place);
    const { text, line } = edited(place.path, file, edit);
    const isWritten = await writeAtomically(place, {
      bytes: Buffer.from(`${file.hasBom ? '\ufeff' : ''}${text}`),
      mode: file.mode,
      key,
      expected: { version: file.version },
    });
    const lines = edit.new_text.split('\n').length;
    return isWritten
      ? `Edited ${place.path}: line ${line}${lines > 1 ? ` to ${line + lines - 1}` : ''} is new.`
      : undefined;
  });
}

async function execute(edit: EditInput, context: ToolContext): Promise<string> {
  const root = workspaceOf(context);
  checkEdit(edit);
  return explainingPath(edit.path, root, context, () =>
    withFileLock(root, async () => {
      for (let race = 0; race < maxRaces; race++) {
        context.signal.throwIfAborted();
        const done = await editOnce(root, edit, context.idempotencyKey);
        if (done !== undefined) {
          return done;
        }
      }
      throw new ToolError(`"${edit.path}" is being changed by something else all the time`, {
        hint: 'Stop the program that writes the file, then edit it again.',
      });
    }),
  );
}

/** By content: the new text stands there and the old one does not, but inside the new. */
async function probe(_key: string, edit: EditInput, context: ToolContext): Promise<ProbeAnswer> {
  const root = workspaceOf(context);
  const text = await withPlace(root, edit.path, readTextFile)
    .then((file) => file.text)
    .catch(() => undefined);
  if (text === undefined) {
    return { type: 'not-applied' };
  }
  const olds = matchesOf(text, edit.old_text).length;
  const hasNew = edit.new_text === '' || matchesOf(text, edit.new_text).length > 0;
  if (olds === 0 && hasNew) {
    return { type: 'applied', output: `Edited ${edit.path} (found done after a restart).` };
  }
  if (olds === 1 && (edit.new_text === '' || !hasNew)) {
    return { type: 'not-applied' };
  }
  const oldsInNew = matchesOf(edit.new_text, edit.old_text).length;
  if (hasNew && oldsInNew > 0 && olds === oldsInNew) {
    return { type: 'applied', output: `Edited ${edit.path} (found done after a restart).` };
  }
  return hasNew
    ? {
        type: 'unknown',
        evidence: `In ${edit.path} the old text occurs ${olds} times and the new text stands there too.`,
      }
    : { type: 'not-applied' };
}

/** Edits a text file of the workspace. */
export const editFile: Tool = defineTool({
  name: 'edit_file',
  description:
    'Replaces one text in a file of the workspace. old_text must occur exactly once, so take in enough lines around it. The rest of the file, its line ends and its mode stay as they are.',
  input,
  effect: 'reconcilable',
  label: 'path',
  editsFile: 'path',
  execute,
  probe,
});
