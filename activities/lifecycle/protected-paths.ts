/** Files and folders that this process needs intact and private, and that no file tool of an agent may touch. */
import { realpathSync } from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';

/** Real paths. Of the process and not of an agent: whatever any part of this process opened stays out of reach of all its runs. */
const protectedPaths = new Set<string>();

/** Protects a file or folder, with all below it, also before it is made. */
export function protectPath(path: string): void {
  protectedPaths.add(realPathOf(resolve(path)));
}

/** Protects a SQLite database with the files that SQLite puts beside it. */
export function protectDatabase(file: string): void {
  for (const suffix of ['', '-wal', '-shm', '-journal']) protectPath(file + suffix);
}

/** With links resolved as far as the path exists. */
function realPathOf(path: string): string {
  try {
    return realpathSync(path);
  } catch {
    const parent = dirname(path);
    return parent === path ? path : join(realPathOf(parent), basename(path));
  }
}

const isIn = (path: string, folder: string): boolean => `${path}${sep}`.startsWith(folder + sep);

/**
 * The protected real paths for a real root. A folder that holds the whole root protects nothing in it but what is named by itself,
 * such as the store's files.
 */
export function protectedPathsFor(root: string): readonly string[] {
  return [...protectedPaths].filter((path) => !isIn(root, path));
}

/** Whether a real path below a real root is protected or lies in a protected folder. */
export function isProtectedPath(root: string, realPath: string): boolean {
  return protectedPathsFor(root).some((path) => isIn(realPath, path));
}
