/** Turns a system error on a path into what the model can act on; a miss tells the full paths that were likely meant. */
import { InfraException } from '../../lifecycle/infra-exception';
import { nearestName } from '../nearest-name';
import type { ToolContext } from '../tool';
import { ToolError } from '../tool-error';
import { walkFiles } from './walk-files';
import { foldedName, relativePathHint } from '../workspace-path';
import { errorCode } from './workspace-root';

/** Paths told for one miss. */
const maxSuggestions = 5;

/** Names in a trusted hint are names only: nothing that could be read as a sentence. */
const plainPath = /^[\w./@+-]{1,200}$/;

const lastName = (path: string): string => path.split(/[\\/]/).at(-1) ?? path;

/** Parts that two paths have in common, counted from the end. */
function commonEnd(a: string, b: string): number {
  const left = a.split(/[\\/]/).reverse();
  const right = b.split('/').reverse();
  const difference = left.findIndex(
    (part, index) => foldedName(part) !== foldedName(right[index] ?? ''),
  );
  return difference < 0 ? left.length : difference;
}

/** Full relative paths that were likely meant: the same name elsewhere, else the nearest name. */
async function likelyPaths(
  root: string,
  path: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const wanted = foldedName(lastName(path));
  const all: string[] = [];
  const walk = walkFiles({ root, from: '.', includeIgnored: false, isRecursive: true, signal });
  for await (const entry of walk) {
    if (entry.type === 'file' || entry.type === 'folder') {
      all.push(entry.path);
    }
  }
  const sameName = all
    .filter((candidate) => foldedName(lastName(candidate)) === wanted)
    .sort((a, b) => commonEnd(path, b) - commonEnd(path, a));
  if (sameName.length > 0) {
    return sameName.slice(0, maxSuggestions);
  }
  const meant = nearestName(lastName(path), [...new Set(all.map(lastName))]);
  return meant === undefined
    ? []
    : all.filter((candidate) => lastName(candidate) === meant).slice(0, maxSuggestions);
}

/**
 * The error for a path that does not exist.
 *
 * Contract: rejects only when the signal aborts. Source: R-REC-7.
 */
async function missingPathError(
  path: string,
  root: string,
  context: Pick<ToolContext, 'signal'>,
): Promise<ToolError> {
  const likely = await likelyPaths(root, path, context.signal).catch((): readonly string[] => []);
  context.signal.throwIfAborted();
  const shown = path.length > 120 ? `${path.slice(0, 120)}…` : path;
  if (likely.length === 0) {
    return new ToolError(`There is no "${shown}" in the workspace, nor a file of that name`, {
      hint: `${relativePathHint} Use list_files or search_files to find it.`,
    });
  }
  const isSame = likely.some(
    (candidate) => foldedName(lastName(candidate)) === foldedName(lastName(path)),
  );
  const list = likely.map((candidate) => `"${candidate}"`).join(', ');
  const sayable = likely.filter((candidate) => plainPath.test(candidate));
  const advice =
    sayable.length === 0 ? relativePathHint : `Use the full relative path: ${sayable.join(' or ')}`;
  return new ToolError(
    `There is no "${shown}" in the workspace. ${isSame ? 'Files of that name' : 'The nearest names'}: ${list}`,
    { hint: advice },
  );
}

/** Why a path cannot be used, by system error. */
const reasons: ReadonlyMap<string, string> = new Map([
  ['EACCES', 'may not be opened: permission denied'],
  ['EPERM', 'may not be changed: not permitted'],
  ['EISDIR', 'is a folder, not a file'],
  ['ENOTDIR', 'goes through a file as if it were a folder'],
  ['ELOOP', 'is a link that cannot be followed'],
  ['EINVAL', 'is no valid path here'],
  ['ENAMETOOLONG', 'has a part that is too long'],
  ['EROFS', 'is on a read-only disk'],
  ['ENXIO', 'is no regular file'],
  ['ETXTBSY', 'is a program that runs'],
]);

/** What only people can mend. */
const machineFaults: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EIO', 'EMFILE', 'ENFILE']);

/**
 * Runs work on a path and turns system errors into `ToolError`s.
 *
 * Errors: `ToolError` for what the model can correct; `InfraException` `tool_infrastructure` for a full or broken disk; anything
 * else as it was thrown.
 */
export async function explainingPath<Result>(
  path: string,
  root: string,
  context: Pick<ToolContext, 'signal'>,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (thrown) {
    const code = errorCode(thrown);
    if (code === 'ENOENT') {
      throw await missingPathError(path, root, context);
    }
    const reason = code === undefined ? undefined : reasons.get(code);
    if (reason !== undefined) {
      const shown = path.length > 120 ? `${path.slice(0, 120)}…` : path;
      throw new ToolError(`Path "${shown}" ${reason}`, { hint: relativePathHint, cause: thrown });
    }
    if (code !== undefined && machineFaults.has(code)) {
      throw new InfraException(
        {
          code: 'tool_infrastructure',
          message: `The worker's disk or process is at its limit (${code}) while a tool used the workspace.`,
        },
        { cause: thrown },
      );
    }
    throw thrown;
  }
}
