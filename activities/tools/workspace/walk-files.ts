/** Walks the files below a folder of the workspace, nearest first, without following links to folders. */
import { readdir } from 'node:fs/promises';
import { isTemporaryName } from './atomic-write';
import { errorCode, withFolder } from './workspace-root';

/** Folders that are left out unless asked for: made by programs, and large. */
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

/** Entries looked at in one walk, so that it ends in about a second; a walk over more says that it stopped. */
const maxEntries = 50_000;

/** One entry of a walk. */
export interface WalkedEntry {
  /** Full path relative to the root. */
  readonly path: string;
  readonly name: string;
  readonly type: 'file' | 'folder' | 'link' | 'ignored-folder';
}

/** What a walk looks at. */
export interface WalkOptions {
  readonly root: string;
  /** Folder to begin at, relative to the root. */
  readonly from: string;
  readonly includeIgnored: boolean;
  readonly isRecursive: boolean;
  readonly signal: AbortSignal;
}

function typeOf(
  entry: { isDirectory(): boolean; isSymbolicLink(): boolean },
  isIgnored: boolean,
): WalkedEntry['type'] {
  if (entry.isDirectory()) {
    return isIgnored ? 'ignored-folder' : 'folder';
  }
  return entry.isSymbolicLink() ? 'link' : 'file';
}

async function entriesOf(options: WalkOptions, folder: string): Promise<readonly WalkedEntry[]> {
  const found = await withFolder(options.root, folder === '' ? '.' : folder, ({ place }) =>
    readdir(place, { withFileTypes: true }),
  );
  return found
    .filter(({ name }) => !isTemporaryName(name))
    .map((entry) => ({
      path: folder === '' ? entry.name : `${folder}/${entry.name}`,
      name: entry.name,
      type: typeOf(entry, !options.includeIgnored && ignoredFolders.has(entry.name)),
    }))
    .sort((a, b) => (a.path < b.path ? -1 : 1));
}

/**
 * Yields entries breadth first, sorted within each folder; ends early, with `true` returned, after 50,000 entries.
 *
 * Errors: those of `withFolder` for the first folder; folders further down that cannot be opened are passed over. Rejects with
 * the signal's reason when it is aborted.
 */
export async function* walkFiles(options: WalkOptions): AsyncGenerator<WalkedEntry, boolean> {
  const start = options.from
    .split('/')
    .filter((part) => part !== '' && part !== '.')
    .join('/');
  let seen = 0;
  const open = [start];
  for (const folder of open) {
    options.signal.throwIfAborted();
    let entries: readonly WalkedEntry[] = [];
    try {
      entries = await entriesOf(options, folder);
    } catch (thrown) {
      if (folder === start || errorCode(thrown) === undefined) {
        throw thrown;
      }
    }
    for (const entry of entries) {
      seen += 1;
      if (seen > maxEntries) {
        return true;
      }
      yield entry;
      if (entry.type === 'folder' && options.isRecursive) {
        open.push(entry.path);
      }
    }
  }
  return false;
}
