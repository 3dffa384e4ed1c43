/** Tool `edit_file`: replaces a text that occurs exactly once in a file. */
import { z } from 'zod';
import { redactionMark } from '../../../workflows/core/secrets/own-secret-rules';
import { encodeText } from '../../untrusted/decode-text';
import { defineTool } from '../define-tool';
import type { ProbeAnswer, Tool, ToolContext } from '../tool';
import { ToolError } from '../tool-error';
import { changeFile, changesOneFile, pathInput, writeAtomically } from './change-file';
import { matchesOf } from './match-text';
import { readTextFile } from './text-file';
import type { TextFile } from './text-file';
import { withPlace, workspaceOf } from './workspace-root';

const input = z.object({
  path: pathInput,
  old_text: z
    .string()
    .min(1)
    .describe(
      'Text to replace, exactly as in the file, with its white space. Must occur exactly once.',
    ),
  new_text: z.string().describe('Text to put in its place.'),
});
type EditInput = z.output<typeof input>;

/** Attempts to edit a file that others change at the same time. */
const maxRaces = 5;
/** Line numbers that are listed if a text occurs too often. */
const maxLinesListed = 20;

const lineAt = (text: string, at: number): number => text.slice(0, at).split('\n').length;

/** Where lines equal the wanted ones except for white space at their ends. */
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
      `old_text contains ${redactionMark}, which replaces a secret in "${path}"`,
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
  const lines = found.slice(0, maxLinesListed).map(({ at }) => lineAt(file, at));
  const more = found.length > maxLinesListed ? ', …' : '';
  return new ToolError(
    `old_text occurs ${found.length} times in "${path}", at lines ${lines.join(', ')}${more}; it must occur once`,
    { hint: 'Include the lines before or after, so that the text is unique.' },
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
      `new_text contains ${redactionMark}, which replaces a secret and is not part of a file`,
      {
        code: 'invalid_params',
        hint: 'Leave the lines with the secret out of the edit.',
      },
    );
  }
}

/** Returns the answer to the model; undefined if the file changed in the meantime. */
function editOnce(edit: EditInput, context: ToolContext): Promise<string | undefined> {
  return changeFile(edit.path, context, async (place) => {
    const file = await readTextFile(place);
    const { text, line } = edited(place.path, file, edit);
    const isWritten = await writeAtomically(place, {
      bytes: encodeText(text, file),
      mode: file.mode,
      key: context.idempotencyKey,
      version: file.version,
    });
    const lines = edit.new_text.split('\n').length;
    return isWritten
      ? `Edited ${place.path}: line ${line}${lines > 1 ? ` to ${line + lines - 1}` : ''} is new.`
      : undefined;
  });
}

async function execute(edit: EditInput, context: ToolContext): Promise<string> {
  checkEdit(edit);
  for (let race = 0; race < maxRaces; race++) {
    context.signal.throwIfAborted();
    const done = await editOnce(edit, context);
    if (done !== undefined) return done;
  }
  throw new ToolError(`Another program keeps changing "${edit.path}"`, {
    hint: 'Stop the program that writes the file, then edit it again.',
  });
}

/** By content: applied if the new text occurs and the old one does not, except inside the new. */
async function probe(_key: string, edit: EditInput, context: ToolContext): Promise<ProbeAnswer> {
  const file = await withPlace(workspaceOf(context), edit.path, readTextFile).catch(
    () => undefined,
  );
  if (file === undefined) return { type: 'not-applied' };
  const applied = {
    type: 'applied',
    output: `Edited ${edit.path} (found done after a restart).`,
  } as const;
  const olds = matchesOf(file.text, edit.old_text).length;
  const hasNew = edit.new_text === '' || matchesOf(file.text, edit.new_text).length > 0;
  if (olds === 0 && hasNew) return applied;
  if (!hasNew || (olds === 1 && edit.new_text === '')) return { type: 'not-applied' };
  const oldsInNew = matchesOf(edit.new_text, edit.old_text).length;
  if (oldsInNew > 0 && olds === oldsInNew) return applied;
  return {
    type: 'unknown',
    evidence: `In ${edit.path} the old text occurs ${olds} times, and the new text occurs too.`,
  };
}

/** Edits a text file of the workspace. */
export const editFile: Tool = defineTool({
  name: 'edit_file',
  description:
    'Replaces one text in a file of the workspace. old_text must occur exactly once, so include enough lines around it. The rest of the file stays as it is.',
  input,
  ...changesOneFile,
  execute,
  probe,
});
