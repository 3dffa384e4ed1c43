/** Changes files of a workspace: one change at a time, outside protected places, each file replaced whole or not at all. */
import { createHash } from 'node:crypto';
import { constants } from 'node:fs';
import { lstat, open, rename, rm } from 'node:fs/promises';
import { z } from 'zod';
import type { ApprovalContext, ToolContext } from '../tool';
import { pathParts } from '../workspace-path';
import { explainingPath } from './path-errors';
import {
  refuseHiddenRun,
  refuseRepository,
  refuseRepositoryHead,
  runsLater,
} from './protected-places';
import {
  entryPath,
  errorCode,
  fileVersion,
  temporaryName,
  withPlace,
  workspaceOf,
} from './workspace-root';
import type { Place, PlaceOptions } from './workspace-root';

/** Input of a tool that takes one file. */
export const pathInput = z.string().min(1).describe('Full path relative to the workspace root.');

/** A person sees changes of files that programs run later. What is no path in the workspace is refused without a person. */
function asksFirst({ path }: { readonly path: string }, { workspace }: ApprovalContext): boolean {
  try {
    return workspace !== undefined && runsLater(pathParts(workspace, path));
  } catch {
    return false;
  }
}

/** What the tools that change one file have in common. */
export const changesOneFile = {
  effect: 'reconcilable',
  label: 'path',
  editsFile: 'path',
  approval: asksFirst,
} as const;

/** Changes in progress, by workspace: the tool calls of an iteration run in parallel. */
const tails = new Map<string, Promise<unknown>>();

async function afterOthers<Result>(root: string, change: () => Promise<Result>): Promise<Result> {
  const before = tails.get(root) ?? Promise.resolve();
  const mine = before.then(change, change);
  const tail = mine.catch(() => undefined);
  tails.set(root, tail);
  try {
    return await mine;
  } finally {
    if (tails.get(root) === tail) tails.delete(root);
  }
}

/**
 * Runs a change of one file when all earlier changes in the workspace have settled.
 *
 * Errors: as `explainingPath`; `ToolError` `tool_denied` for protected places; those of `change`.
 */
export function changeFile<Result>(
  path: string,
  context: ToolContext,
  change: (place: Place) => Promise<Result>,
  options: PlaceOptions = {},
): Promise<Result> {
  const root = workspaceOf(context);
  const changePlace = async (place: Place): Promise<Result> => {
    refuseHiddenRun(pathParts(root, path), place.path);
    await refuseRepository(root, place.folder.path);
    return change(place);
  };
  return explainingPath(path, context, () =>
    afterOthers(root, () => withPlace(root, path, changePlace, options)),
  );
}

/** What is written, and over what. */
export interface AtomicWrite {
  readonly bytes: Buffer;
  readonly mode: number;
  /** The same for each attempt, so that a later attempt clears what an earlier one left. */
  readonly key: string;
  /** Version of the file that the content was made from; the file must still have it. Absent: any file, or none. */
  readonly version?: string;
}

async function hasVersion(path: string, version: string): Promise<boolean> {
  try {
    return fileVersion(await lstat(path)) === version;
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT') return false;
    throw thrown;
  }
}

/**
 * Writes a file: a new one beside it, made durable, then renamed over it. Returns false, with nothing changed, if the file no
 * longer has the expected version.
 *
 * Contract: a reader sees the old content or the new one, never a part; a link that was swapped in is replaced, not followed.
 * Errors: system errors as they are.
 */
export async function writeAtomically(
  { folder, name }: Place,
  { bytes, mode, key, version }: AtomicWrite,
): Promise<boolean> {
  refuseRepositoryHead(name, bytes);
  const digest = createHash('sha256').update(`${key}\0${name}`).digest('hex').slice(0, 16);
  const target = entryPath(folder, name);
  const temporary = entryPath(folder, temporaryName(digest));
  await rm(temporary, { force: true });
  const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
  const handle = await open(temporary, flags, 0o600);
  try {
    await handle.writeFile(bytes);
    await handle.chmod(mode);
    await handle.sync();
  } catch (thrown) {
    await rm(temporary, { force: true });
    throw thrown;
  } finally {
    await handle.close();
  }
  if (version !== undefined && !(await hasVersion(target, version))) {
    await rm(temporary, { force: true });
    return false;
  }
  await rename(temporary, target);
  await folder.handle.sync();
  return true;
}
