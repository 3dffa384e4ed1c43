/** Which parameter names the file that a tool changes, and which file that is on disk. */
import { basename, resolve, sep } from 'node:path';
import { shortHash } from '../../workflows/core/errors/fingerprint';
import type { JsonObject } from '../../workflows/core/json';
import type { ProposedToolCall, ToolEffect } from '../../workflows/core/tools/ports';
import type { Tool } from './tool';
import { verbGroupOf, wordsOf } from './tool-verbs';
import { pathInside, printedPath, realPathOf, storedPath } from './workspace-path';

const fileNames: readonly string[] = [
  'file_path',
  'filePath',
  'filepath',
  'path',
  'target_file',
  'file',
  'filename',
];

/** The input among these names that holds a file's path, if one does. */
export function fileField(names: readonly string[]): string | undefined {
  return fileNames.find((name) => names.includes(name));
}

/** The input that names the edited file, for a changing tool whose own name says that it changes files. */
export function editedFileField(
  name: string,
  effect: ToolEffect,
  inputNames: readonly string[],
): string | undefined {
  const words = wordsOf(name);
  const changesFiles =
    words.includes('file') && words.some((word) => verbGroupOf(word) === 'change');
  return effect !== 'read' && changesFiles ? fileField(inputNames) : undefined;
}

/** Characters of a path that travel with a call; a longer one is named by its hash. */
const pathChars = 200;

/**
 * Identity of a file that a tool is about to change: `./a`, a link to it, and, once it exists, another case on a file system
 * that ignores case are the same.
 *
 * Contract: never throws; relative to the workspace, or the base name for a file outside. No file is opened.
 */
export async function fileIdentity(workspace: string | undefined, given: string): Promise<string> {
  const root = workspace === undefined ? sep : await realPathOf(workspace);
  const path = resolve(root, printedPath(given.replaceAll('\0', '')));
  const below = pathInside(root, path);
  const real = await realPathOf(
    below === undefined ? path : await storedPath(root, below.split('/').filter(Boolean)),
  );
  const inside = pathInside(root, real) ?? '';
  const identity = inside === '' ? `${basename(real)} (outside, ${shortHash(real)})` : inside;
  return identity.length <= pathChars
    ? identity
    : `${basename(real).slice(0, 80)} (${shortHash(identity)})`;
}

/** The file that a call edits, if its tool says which input names it. */
export async function editedFileOf(
  tool: Pick<Tool, 'editsFile'> | undefined,
  input: JsonObject,
  workspace: string | undefined,
): Promise<Pick<ProposedToolCall, 'editedFile'>> {
  const given = tool?.editsFile === undefined ? undefined : input[tool.editsFile];
  return typeof given === 'string' && given !== ''
    ? { editedFile: await fileIdentity(workspace, given) }
    : {};
}
