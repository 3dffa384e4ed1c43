/** Resolves paths that a model wrote: relative to the workspace, and never outside it. */
import { realpathSync } from 'node:fs';
import { lstat, readdir, readlink, realpath } from 'node:fs/promises';
import { fileURLToPath } from 'node:url';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { ToolError } from './tool-error';

/** Bytes of a path, as Linux allows. */
const maxPathBytes = 4_096;
/** Parts of a path: far more than projects have, and few enough for programs that delete them. */
const maxPathParts = 128;

/** Advice to the model when a path cannot be used. */
export const relativePathHint =
  'Give the path relative to the workspace root, with "/" between its parts, such as src/index.ts.';

/** Characters that some file systems ignore in names: HFS+ ignorables and zero-width characters. */
const ignorable = /\u034f|[\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff\u00ad]/g;

/** One name for all spellings that some file system treats as equal: case, Unicode form, ignored characters, final dots. */
export function foldedName(name: string): string {
  return name
    .normalize('NFKC')
    .replace(ignorable, '')
    .toLowerCase()
    .normalize('NFC')
    .replace(/(?<![. ])[. ]+$/, '');
}

/** True for git's own folder, in any spelling: its hooks and config run programs. */
export function isGitFolder(name: string): boolean {
  // On NTFS, text after a colon names a stream of the same folder.
  const folded = foldedName(name.split(':')[0] ?? '');
  return folded === '.git' || /^git~\d+$/.test(folded);
}

/**
 * Refuses to change git's own folder: its hooks and config run programs without any limit.
 *
 * Errors: `ToolError` `tool_denied`.
 */
export function refuseGitFolder(path: string): void {
  if (path.split('/').some(isGitFolder)) {
    throw new ToolError(`"${path}" belongs to git itself and may not be changed`, {
      code: 'tool_denied',
      hint: 'Change files of the project only.',
      recoverable: false,
    });
  }
}

/** A path as a model repeats it from an output: also as an address of a file. */
export function printedPath(given: string): string {
  if (!/^file:\/\//i.test(given)) return given;
  try {
    return fileURLToPath(given);
  } catch {
    return given;
  }
}

/** A path that a program printed, which knows the workspace by its real path, not by a link to it. */
function insideRealRoot(root: string, path: string): string | undefined {
  if (!isAbsolute(path)) return undefined;
  try {
    return pathInside(realpathSync(root), path);
  } catch {
    return undefined;
  }
}

/**
 * Parts of a path inside the workspace; none for the workspace itself.
 *
 * Errors: `ToolError` `invalid_params` for a path that leads out, is too long or too deep, or contains a NUL.
 */
export function pathParts(root: string, given: string): readonly string[] {
  const refuse = (why: string): never => {
    const shown = JSON.stringify(given.length > 120 ? `${given.slice(0, 120)}…` : given);
    throw new ToolError(`Path ${shown} ${why}`, { code: 'invalid_params', hint: relativePathHint });
  };
  if (given.includes('\0')) return refuse('contains a NUL character');
  if (Buffer.byteLength(given) > maxPathBytes)
    return refuse(`is longer than ${maxPathBytes} bytes`);
  // Models repeat absolute paths that a program printed; inside the workspace they are unambiguous.
  const isDrive = /^[A-Za-z]:\//.test(given);
  const path = printedPath(given);
  const inside =
    isDrive && !isAbsolute(path)
      ? undefined
      : (pathInside(root, resolve(root, path)) ?? insideRealRoot(root, path));
  if (inside === undefined)
    return refuse(
      isDrive || isAbsolute(path)
        ? 'is absolute and outside of the workspace'
        : 'leads out of the workspace',
    );
  const parts = inside.split('/').filter(Boolean);
  return parts.length > maxPathParts ? refuse(`has more than ${maxPathParts} parts`) : parts;
}

/** The path relative to a folder that holds it, with "/" between its parts; undefined if it is outside. */
export function pathInside(folder: string, path: string): string | undefined {
  const inside = relative(folder, path);
  const isOutside = inside.split(sep)[0] === '..' || isAbsolute(inside);
  return isOutside ? undefined : inside.replaceAll(sep, '/');
}

/** A name as its folder has it: if it is not there, the only one that differs by Unicode form alone. */
async function storedName(folder: string, name: string): Promise<string> {
  if (!/[^\0-\x7f]/.test(name)) return name;
  if ((await lstat(join(folder, name)).catch(() => undefined)) !== undefined) return name;
  const names = await readdir(folder).catch((): readonly string[] => []);
  const [only, second] = names.filter((other) => other.normalize('NFC') === name.normalize('NFC'));
  return only === undefined || second !== undefined ? name : only;
}

/**
 * A path below a folder as the disk has it: of composed and decomposed letters, which look alike, what is there. With both
 * there, it is the one that was given.
 */
export async function storedPath(folder: string, parts: readonly string[]): Promise<string> {
  let path = folder;
  for (const part of parts) path = join(path, await storedName(path, part));
  return path;
}

/** Links followed if their target does not exist yet. */
const maxLinks = 8;

/** The path with every link resolved, also of a file that does not exist yet. */
export async function realPathOf(path: string, links = 0): Promise<string> {
  try {
    return await realpath(path);
  } catch {
    const parent = dirname(path);
    if (parent === path || links > maxLinks) return path;
    const realParent = await realPathOf(parent, links);
    const here = join(realParent, basename(path));
    const entry = await lstat(here).catch(() => undefined);
    if (entry?.isSymbolicLink() !== true) return here;
    return realPathOf(resolve(realParent, await readlink(here)), links + 1);
  }
}
