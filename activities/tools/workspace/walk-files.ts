/** Walks the files below a folder of the workspace, nearest first, without following links to folders. */
import type { Dirent } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { posix } from 'node:path';
import type { ToolContext } from '../tool';
import { ToolError } from '../tool-error';
import { errorCode, isTemporaryName, withFolder, workspaceOf } from './workspace-root';

/** Folders that are skipped unless asked for: written by programs, and large. */
const ignoredFolders: ReadonlySet<string> = new Set([
  '.git',
  'node_modules',
  'dist',
  'build',
  'coverage',
  'target',
  '.next',
  '.cache',
  '.venv',
  'venv',
  '__pycache__',
]);

/** Entries of one walk, so that it ends in about a second. */
const maxEntries = 50_000;

/** One entry of a walk. */
export interface WalkedEntry {
  /** Full path relative to the root. */
  readonly path: string;
  /** `rest` stands for the entries beyond the bound. */
  readonly type: 'file' | 'folder' | 'link' | 'ignored-folder' | 'rest';
}

/** Which entries a walk yields. */
export interface WalkOptions {
  /** Also enter the ignored folders. Default false. */
  readonly includeIgnored?: boolean;
  /** Also enter folders further down. Default true. */
  readonly isRecursive?: boolean;
}

async function entriesOf(
  root: string,
  folder: string,
  includeIgnored: boolean,
): Promise<readonly WalkedEntry[]> {
  const found = await withFolder(root, folder === '' ? '.' : folder, ({ place }) =>
    readdir(place, { withFileTypes: true }),
  );
  const typeOf = (entry: Dirent): WalkedEntry['type'] => {
    if (!entry.isDirectory()) return entry.isSymbolicLink() ? 'link' : 'file';
    return !includeIgnored && ignoredFolders.has(entry.name) ? 'ignored-folder' : 'folder';
  };
  return found
    .filter(({ name }) => !isTemporaryName(name))
    .map((entry) => ({ path: posix.join(folder, entry.name), type: typeOf(entry) }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

/** A folder that cannot be opened, or is protected. */
function isSkippable(thrown: unknown): boolean {
  return errorCode(thrown) !== undefined || thrown instanceof ToolError;
}

/**
 * Yields entries below a folder of the workspace, breadth first, sorted within each folder; after 50,000 entries one says that there are more.
 *
 * Errors: those of `withFolder` for the first folder; folders further down that cannot be opened are skipped. Rejects with the
 * signal's reason when it is aborted.
 */
export async function* walkFiles(
  context: Pick<ToolContext, 'workspace' | 'signal'>,
  from: string,
  { includeIgnored = false, isRecursive = true }: WalkOptions = {},
): AsyncGenerator<WalkedEntry, void> {
  let seen = 0;
  const open = [from];
  for (const folder of open) {
    context.signal.throwIfAborted();
    let entries: readonly WalkedEntry[] = [];
    try {
      entries = await entriesOf(workspaceOf(context), folder, includeIgnored);
    } catch (thrown) {
      if (folder === from || !isSkippable(thrown)) throw thrown;
    }
    for (const entry of entries) {
      seen += 1;
      if (seen > maxEntries) {
        yield {
          path: `[… more than ${maxEntries} entries; name a folder further down]`,
          type: 'rest',
        };
        return;
      }
      yield entry;
      if (entry.type === 'folder' && isRecursive) open.push(entry.path);
    }
  }
}
