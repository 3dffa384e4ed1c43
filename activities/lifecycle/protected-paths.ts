/** Files and folders that this process needs intact and private, and that no file tool of an agent may touch. */
import { realpathSync } from 'node:fs';
import { basename, dirname, join, resolve, sep } from 'node:path';

/** Real paths. Of the process and not of an agent: whatever any part of this process opened stays out of reach of all its runs. */
const protectedPaths = new Set<string>();

/** Protects a file or folder, with all below it, also before it is made. */
export function protectPath(path: string): void {
  protectedPaths.add(realPathOf(resolve(path)));
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

/** Whether a real path is protected or lies in a protected folder. */
export function isProtectedPath(realPath: string): boolean {
  return [...protectedPaths].some(
    (path) => realPath === path || realPath.startsWith(path.endsWith(sep) ? path : path + sep),
  );
}
