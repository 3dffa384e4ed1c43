/** Opens files below a root: a folder is opened first and its place checked then, so that nothing that is swapped in leads out. */
import { constants, existsSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { lstat, mkdir, open, readlink, realpath } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { basename, dirname, join, posix, relative } from 'node:path';
import { InfraException } from '../../lifecycle/infra-exception';
import type { ToolContext } from '../tool';
import { ToolError } from '../tool-error';
import {
  pathInside,
  pathParts,
  realPathOf,
  refuseGitFolder,
  relativePathHint,
  storedPath,
} from '../workspace-path';
import { refuseProtectedPlace } from './protected-places';

/**
 * Absolute path of the run's workspace.
 *
 * Errors: `InfraException` `workspace_missing` if the run was started without one.
 */
export function workspaceOf({ workspace }: Pick<ToolContext, 'workspace'>): string {
  if (workspace !== undefined) return workspace;
  throw new InfraException({
    code: 'workspace_missing',
    message:
      'The agent has workspace tools but the run has no workspace; start it with the option workspace (an absolute path).',
  });
}

/** With `/proc`, a name is opened relative to its open folder, whatever the folder's path is now. */
const descriptorFolder = existsSync('/proc/self/fd') ? '/proc/self/fd' : undefined;

/** An open folder inside the workspace. */
export interface OpenFolder {
  readonly handle: FileHandle;
  /** Path relative to the root; empty for the root itself. */
  readonly path: string;
  /** Where its entries are reached. */
  readonly place: string;
}

/** An entry: its open folder and its name. */
export interface Place {
  readonly folder: OpenFolder;
  readonly name: string;
  /** Path relative to the root with links resolved: the file's identity. */
  readonly path: string;
}

/** Changes whenever the file does. */
export function fileVersion({ dev, ino, size, mtimeMs, ctimeMs }: Stats): string {
  return [dev, ino, size, mtimeMs, ctimeMs].join();
}

/** Name of the unfinished file of a write, by a digest of 16 hex digits. */
export function temporaryName(digest: string): string {
  return `.holdfast-${digest}.tmp`;
}

/** True for the unfinished file of a write that was interrupted. */
export function isTemporaryName(name: string): boolean {
  return /^\.holdfast-[0-9a-f]{16}\.tmp$/.test(name);
}

/** Path of an entry of an open folder, for system calls. */
export function entryPath(folder: OpenFolder, name: string): string {
  return join(folder.place, name);
}

/** `code` of a system error. By shape, not by class: errors of another realm (a test runner, a thread) are not an `Error` here. */
export function errorCode(thrown: unknown): string | undefined {
  if (typeof thrown !== 'object' || thrown === null) return undefined;
  const isSystemError = 'code' in thrown && 'syscall' in thrown && typeof thrown.code === 'string';
  return isSystemError ? String(thrown.code) : undefined;
}

function leadsOut(path: string): ToolError {
  return new ToolError(`Path "${path}" is a link that leads out of the workspace`, {
    code: 'invalid_params',
    hint: relativePathHint,
  });
}

async function realRoot(root: string): Promise<string> {
  try {
    return await realpath(root);
  } catch (thrown) {
    throw new InfraException(
      {
        code: 'workspace_missing',
        message: `The run's workspace cannot be opened (${errorCode(thrown) ?? 'unknown error'}); create the folder or start the run with another one.`,
      },
      { cause: thrown },
    );
  }
}

/** Opens a folder, and then checks where that is: whatever a link on the way leads to by now, it is below the root. */
async function openInside(root: string, path: string): Promise<OpenFolder> {
  const handle = await open(path, constants.O_RDONLY | constants.O_DIRECTORY);
  try {
    const place = descriptorFolder === undefined ? path : `${descriptorFolder}/${handle.fd}`;
    const opened = await (descriptorFolder === undefined ? realpath : readlink)(place);
    const inside = pathInside(root, opened);
    if (inside === undefined) throw leadsOut(relative(root, path));
    refuseProtectedPlace(root, opened);
    return { handle, path: inside, place };
  } catch (thrown) {
    await handle.close();
    throw thrown;
  }
}

async function openFolder(root: string, path: string, createFolders = false): Promise<OpenFolder> {
  try {
    return await openInside(root, path);
  } catch (thrown) {
    if (!createFolders || errorCode(thrown) !== 'ENOENT' || path === root) throw thrown;
  }
  await createFolder(root, path);
  return openInside(root, path);
}

async function createFolder(root: string, path: string): Promise<void> {
  const parent = await openFolder(root, dirname(path), true);
  try {
    refuseGitFolder(`${parent.path}/${basename(path)}`);
    await mkdir(entryPath(parent, basename(path)));
  } catch (thrown) {
    if (errorCode(thrown) !== 'EEXIST') throw thrown;
  } finally {
    await parent.handle.close();
  }
}

/** A path relative to the root, with the names that the disk has, links not followed. Errors: as `pathParts`. */
export async function pathAsStored(root: string, path: string): Promise<string> {
  return pathInside(root, await storedPath(root, pathParts(root, path))) ?? '';
}

/** The root and an entry below it, both with all links resolved. */
async function resolved(
  givenRoot: string,
  path: string,
  followsLast = true,
): Promise<{ readonly root: string; readonly entry: string }> {
  const root = await realRoot(givenRoot);
  const whole = await storedPath(root, pathParts(givenRoot, path));
  const entry = followsLast
    ? await realPathOf(whole)
    : join(await realPathOf(dirname(whole)), basename(whole));
  if (pathInside(root, entry) === undefined) throw leadsOut(path);
  return { root, entry };
}

/** How a place is looked up. */
export interface PlaceOptions {
  /** Create missing folders on the way, never in git's own. Default false. */
  readonly createFolders?: boolean;
  /** Follow the last part if it is a link (inside the workspace). Default true. */
  readonly followsLast?: boolean;
}

/**
 * Runs `use` with the open folder of a path's last part.
 *
 * Contract: the folder is below the root, whatever is renamed or linked in the meantime (with `/proc`; elsewhere only `openFile`
 * notices a swap within the call). It is closed when `use` has settled.
 * Errors: `ToolError` `invalid_params` for paths and links that lead out, `tool_denied` for protected places; `InfraException` `workspace_missing`; system errors as
 * they are.
 */
export async function withPlace<Result>(
  root: string,
  path: string,
  use: (place: Place) => Promise<Result>,
  { createFolders = false, followsLast = true }: PlaceOptions = {},
): Promise<Result> {
  const { root: real, entry } = await resolved(root, path, followsLast);
  const isRoot = entry === real;
  const folder = await openFolder(real, isRoot ? real : dirname(entry), createFolders);
  const name = isRoot ? '.' : basename(entry);
  try {
    refuseProtectedPlace(real, join(real, folder.path, name));
    return await use({ folder, name, path: posix.join(folder.path, name) });
  } finally {
    await folder.handle.close();
  }
}

/** An open regular file. */
export interface OpenFile {
  readonly handle: FileHandle;
  readonly stats: Stats;
}

/**
 * Opens an entry of a folder for reading, without following a link and without waiting for a pipe.
 *
 * Errors: `ToolError` if it is not a regular file; system errors as they are.
 */
export async function openFile({ folder, name, path }: Place): Promise<OpenFile> {
  const flags = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;
  const handle = await open(entryPath(folder, name), flags);
  try {
    const stats = await handle.stat();
    if (stats.isDirectory()) {
      throw new ToolError(`"${path}" is a folder, not a file`, {
        code: 'invalid_params',
        hint: 'Use list_files to see what is in a folder.',
      });
    }
    if (!stats.isFile()) {
      throw new ToolError(`"${path}" is not a regular file`, { code: 'invalid_params' });
    }
    await checkStillInside(folder, name, stats);
    return { handle, stats };
  } catch (thrown) {
    await handle.close();
    throw thrown;
  }
}

/** Where folders are reached by path, checks afterwards that no link was swapped in. */
async function checkStillInside(folder: OpenFolder, name: string, stats: Stats): Promise<void> {
  if (descriptorFolder !== undefined) return;
  const path = entryPath(folder, name);
  const now = await lstat(path);
  const isSame = now.ino === stats.ino && now.dev === stats.dev;
  if (!isSame || (await realpath(folder.place)) !== folder.place) {
    throw leadsOut(posix.join(folder.path, name));
  }
}

/**
 * Runs `use` with an open folder.
 *
 * Errors: as `withPlace`; `ENOTDIR` if it is a file.
 */
export async function withFolder<Result>(
  root: string,
  path: string,
  use: (folder: OpenFolder) => Promise<Result>,
): Promise<Result> {
  const { root: real, entry } = await resolved(root, path);
  const folder = await openFolder(real, entry);
  try {
    return await use(folder);
  } finally {
    await folder.handle.close();
  }
}
