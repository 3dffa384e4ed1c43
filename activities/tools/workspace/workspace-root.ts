/** Opens files below a root, folder by folder and without following links, so that nothing that is swapped in leads out. */
import { constants, existsSync } from 'node:fs';
import type { Stats } from 'node:fs';
import { lstat, mkdir, open, readlink, realpath } from 'node:fs/promises';
import type { FileHandle } from 'node:fs/promises';
import { join, posix } from 'node:path';
import { InfraException } from '../../lifecycle/infra-exception';
import type { ToolContext } from '../tool';
import { ToolError } from '../tool-error';
import { pathParts, refuseGitFolder, relativePathHint } from '../workspace-path';

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

/** Links followed in one path, as in Linux. */
const maxLinks = 40;

/** With `/proc`, a name is opened relative to its open folder, whatever the folder's path is now. */
const descriptorFolder = existsSync('/proc/self/fd') ? '/proc/self/fd' : undefined;

/** An open folder inside the workspace. */
export interface OpenFolder {
  readonly handle: FileHandle;
  /** Path from the root; empty for the root itself. */
  readonly parts: readonly string[];
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

const folderFlags = constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW;

function folderAt(handle: FileHandle, path: string, parts: readonly string[]): OpenFolder {
  const place = descriptorFolder === undefined ? path : `${descriptorFolder}/${handle.fd}`;
  return { handle, parts, place };
}

async function openRoot(root: string): Promise<OpenFolder> {
  try {
    const handle = await open(root, constants.O_RDONLY | constants.O_DIRECTORY);
    return folderAt(handle, await realpath(root), []);
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

/** The parts of a link's target, seen from the root. */
async function linkParts(
  root: string,
  folder: OpenFolder,
  name: string,
): Promise<readonly string[]> {
  const target = await readlink(entryPath(folder, name));
  const real = await realpath(root);
  const absolute = target.startsWith('/')
    ? posix.normalize(target)
    : posix.join(real, ...folder.parts, target);
  const base = absolute === root || absolute.startsWith(`${root}/`) ? root : real;
  if (absolute !== base && !absolute.startsWith(`${base}/`)) {
    throw leadsOut([...folder.parts, name]);
  }
  return absolute.slice(base.length).split('/').filter(Boolean);
}

function leadsOut(parts: readonly string[]): ToolError {
  return new ToolError(`Path "${parts.join('/')}" is a link that leads out of the workspace`, {
    code: 'invalid_params',
    hint: relativePathHint,
  });
}

/** Thrown inside the walk: the path continues at other parts. */
class LinkMet extends Error {
  constructor(readonly parts: readonly string[]) {
    super('link');
  }
}

interface WalkOptions {
  readonly root: string;
  readonly createFolders: boolean;
}

async function isLink(folder: OpenFolder, name: string): Promise<boolean> {
  const stats = await lstat(entryPath(folder, name)).catch(() => undefined);
  return stats?.isSymbolicLink() === true;
}

async function openChild(
  folder: OpenFolder,
  name: string,
  rest: readonly string[],
  { root, createFolders }: WalkOptions,
): Promise<OpenFolder> {
  const path = entryPath(folder, name);
  if (createFolders) {
    refuseGitFolder([...folder.parts, name].join('/'));
    await mkdir(path).catch((thrown: unknown) => {
      if (errorCode(thrown) !== 'EEXIST') throw thrown;
    });
  }
  try {
    return folderAt(await open(path, folderFlags), path, [...folder.parts, name]);
  } catch (thrown) {
    // Linux reports ENOTDIR for a link that O_DIRECTORY may not follow, others ELOOP.
    const mayBeLink = ['ELOOP', 'ENOTDIR', 'EMLINK'].includes(errorCode(thrown) ?? '');
    if (!mayBeLink || !(await isLink(folder, name))) throw thrown;
    throw new LinkMet([...(await linkParts(root, folder, name)), ...rest]);
  }
}

/** Opens the folder of the last part; the last part itself is followed if it is a link. */
async function openPlaceOnce(options: WalkOptions, parts: readonly string[]): Promise<Place> {
  let folder = await openRoot(options.root);
  try {
    for (const [index, part] of parts.slice(0, -1).entries()) {
      const next = await openChild(folder, part, parts.slice(index + 1), options);
      await folder.handle.close();
      folder = next;
    }
    const name = parts.at(-1) ?? '.';
    return { folder, name, path: [...folder.parts, name].join('/') };
  } catch (thrown) {
    await folder.handle.close();
    throw thrown;
  }
}

async function openPlace(
  options: WalkOptions,
  given: readonly string[],
  followsLast: boolean,
): Promise<Place> {
  let parts = given;
  for (let links = 0; links <= maxLinks; links++) {
    try {
      const place = await openPlaceOnce(options, parts);
      if (!followsLast || parts.length === 0 || !(await isLink(place.folder, place.name))) {
        return place;
      }
      try {
        parts = await linkParts(options.root, place.folder, place.name);
      } finally {
        await place.folder.handle.close();
      }
    } catch (thrown) {
      if (!(thrown instanceof LinkMet)) throw thrown;
      parts = thrown.parts;
    }
  }
  throw new ToolError(`Path "${given.join('/')}" goes through too many links`, {
    code: 'invalid_params',
    hint: relativePathHint,
  });
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
 * Errors: `ToolError` `invalid_params` for paths and links that lead out; `InfraException` `workspace_missing`; system errors as
 * they are.
 */
export async function withPlace<Result>(
  root: string,
  path: string,
  use: (place: Place) => Promise<Result>,
  { createFolders = false, followsLast = true }: PlaceOptions = {},
): Promise<Result> {
  const place = await openPlace({ root, createFolders }, pathParts(root, path), followsLast);
  try {
    return await use(place);
  } finally {
    await place.folder.handle.close();
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
    throw leadsOut([...folder.parts, name]);
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
  return withPlace(root, path, async ({ folder, name, path: real }) => {
    if (name === '.') return use(folder);
    const handle = await open(entryPath(folder, name), folderFlags);
    try {
      return await use(folderAt(handle, entryPath(folder, name), real.split('/')));
    } finally {
      await handle.close();
    }
  });
}
