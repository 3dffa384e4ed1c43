/** Turns a system error on a path into what the model can act on; for a missing file it lists the paths that were likely meant. */
import { InfraException } from '../../lifecycle/infra-exception';
import { nearestName } from '../nearest-name';
import type { ToolContext } from '../tool';
import { ToolError } from '../tool-error';
import { walkFiles } from './walk-files';
import { foldedName, relativePathHint } from '../workspace-path';
import { errorCode } from './workspace-root';

/** Paths listed for one missing path. */
const maxSuggestions = 5;

/** Only such paths may be in a trusted hint: nothing that reads as a sentence. */
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
async function likelyPaths(path: string, context: ToolContext): Promise<readonly string[]> {
  const wanted = foldedName(lastName(path));
  const all: string[] = [];
  for await (const { path: found, type } of walkFiles(context, ''))
    if (type === 'file' || type === 'folder') all.push(found);
  const sameName = all
    .filter((candidate) => foldedName(lastName(candidate)) === wanted)
    .sort((a, b) => commonEnd(path, b) - commonEnd(path, a));
  if (sameName.length > 0) return sameName.slice(0, maxSuggestions);
  const meant = nearestName(lastName(path), [...new Set(all.map(lastName))]);
  return all.filter((candidate) => lastName(candidate) === meant).slice(0, maxSuggestions);
}

const shortened = (path: string): string => (path.length > 120 ? `${path.slice(0, 120)}…` : path);

/** The error for a path that does not exist (R-REC-7). Contract: rejects only when the signal aborts. */
async function missingPathError(path: string, context: ToolContext): Promise<ToolError> {
  const likely = await likelyPaths(path, context).catch((): readonly string[] => []);
  context.signal.throwIfAborted();
  const missing = `There is no "${shortened(path)}" in the workspace`;
  if (likely.length === 0)
    return new ToolError(`${missing}, nor a file of that name`, {
      hint: `${relativePathHint} Use list_files or search_files to find it.`,
    });
  const isSame = likely.some(
    (candidate) => foldedName(lastName(candidate)) === foldedName(lastName(path)),
  );
  const list = likely.map((candidate) => `"${candidate}"`).join(', ');
  const safe = likely.filter((candidate) => plainPath.test(candidate));
  return new ToolError(
    `${missing}. ${isSame ? 'Files of that name' : 'The nearest names'}: ${list}`,
    {
      hint:
        safe.length === 0 ? relativePathHint : `Use the full relative path: ${safe.join(' or ')}`,
    },
  );
}

/** Why a path cannot be used, by system error. */
const reasons: ReadonlyMap<string, string> = new Map([
  ['EACCES', 'may not be opened: permission denied'],
  ['EPERM', 'may not be changed: not permitted'],
  ['EISDIR', 'is a folder, not a file'],
  ['ENOTDIR', 'goes through a file as if it were a folder'],
  ['ELOOP', 'is a link that cannot be followed'],
  ['EINVAL', 'is not a valid path here'],
  ['ENAMETOOLONG', 'has a part that is too long'],
  ['EROFS', 'is on a read-only disk'],
  ['ENXIO', 'is not a regular file'],
  ['ETXTBSY', 'is a running program'],
]);

/** What only people can repair. */
const machineFaults: ReadonlySet<string> = new Set(['ENOSPC', 'EDQUOT', 'EIO', 'EMFILE', 'ENFILE']);

/**
 * Runs work on a path and turns system errors into `ToolError`s.
 *
 * Errors: `ToolError` for what the model can correct; `InfraException` `tool_infrastructure` for a full or broken disk; anything
 * else as it was thrown.
 */
export async function explainingPath<Result>(
  path: string,
  context: ToolContext,
  work: () => Promise<Result>,
): Promise<Result> {
  try {
    return await work();
  } catch (thrown) {
    const code = errorCode(thrown) ?? '';
    if (code === 'ENOENT') throw await missingPathError(path, context);
    const reason = reasons.get(code);
    if (reason !== undefined)
      throw new ToolError(`Path "${shortened(path)}" ${reason}`, {
        hint: relativePathHint,
        cause: thrown,
      });
    if (!machineFaults.has(code)) throw thrown;
    const message = `The worker's disk or process is at its limit (${code}) while a tool used the workspace.`;
    throw new InfraException({ code: 'tool_infrastructure', message }, { cause: thrown });
  }
}
