/** Places of a workspace that no file tool touches, and files whose change a person sees first. */
import { realpathSync } from 'node:fs';
import type { Dirent } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { isProtectedPath, protectPath } from '../../lifecycle/protected-paths';
import { ToolError } from '../tool-error';
import { foldedName, isGitFolder, pathInside, refuseGitFolder } from '../workspace-path';

/** The code that runs: an agent that rewrites it has no guard at all. */
export const ownCode = realpathSync(join(__dirname, '../../..'));
protectPath(ownCode);

/**
 * Refuses a place that belongs to git or to Holdfast itself.
 *
 * Errors: `ToolError` `tool_denied` for git's own folder and for protected paths.
 */
export function refuseProtectedPlace(root: string, realPath: string): void {
  const inside = pathInside(root, realPath) ?? realPath;
  refuseGitFolder(inside);
  if (!isProtectedPath(root, realPath)) return;
  throw new ToolError(`"${inside}" belongs to Holdfast itself and may not be used`, {
    code: 'tool_denied',
    hint: 'Use files of the project only.',
    recoverable: false,
  });
}

/** What makes git take a folder for a repository: `is_git_directory` in git's setup.c. */
const repositoryParts = ['HEAD', 'objects', 'refs'];

async function isRepository(folder: string): Promise<boolean> {
  const found = await Promise.all(
    repositoryParts.map((part) => lstat(join(folder, part)).catch(() => undefined)),
  );
  return !found.includes(undefined);
}

/**
 * Refuses to change files of a git repository that is not called `.git`: a bare one, or one at a place of its own.
 *
 * Errors: `ToolError` `tool_denied`.
 */
export async function refuseRepository(root: string, folder: string): Promise<void> {
  for (let path = folder; path !== '' && path !== '.'; path = dirname(path))
    if (await isRepository(join(root, path))) refuseGitFolder(`${path}/.git`);
}

/** Where projects keep hooks that git runs, besides `.git`. */
const hookFolders: ReadonlySet<string> = new Set(['.husky', '.githooks']);

/**
 * Real paths below a root by which git runs programs: its own folders and files, repositories under other names, hooks. A folder
 * that cannot be read is one of them, since it may hold some. Installed packages are left out: package managers install none.
 *
 * Errors: the signal's reason.
 */
export async function gitPlaces(root: string, signal: AbortSignal): Promise<readonly string[]> {
  const found: string[] = [];
  const foldersIn = async (folder: string): Promise<readonly string[]> => {
    const entries = await entriesOf(folder);
    const names = entries?.map(({ name }) => name) ?? repositoryParts;
    if (folder !== root && repositoryParts.every((part) => names.includes(part))) {
      found.push(folder);
      return [];
    }
    const below: string[] = [];
    for (const entry of entries ?? []) {
      const path = join(folder, entry.name);
      const isGits = isGitFolder(entry.name) || hookFolders.has(foldedName(entry.name));
      if (isGits && !entry.isSymbolicLink()) found.push(path);
      else if (entry.isDirectory() && entry.name !== 'node_modules') below.push(path);
    }
    return below;
  };
  for (let level: readonly string[] = [root]; level.length > 0;) {
    signal.throwIfAborted();
    level = (await Promise.all(level.map(foldersIn))).flat();
  }
  return found;
}

/** None of a folder that is gone; undefined for one that cannot be read. */
async function entriesOf(folder: string): Promise<readonly Dirent[] | undefined> {
  try {
    return await readdir(folder, { withFileTypes: true });
  } catch {
    return (await lstat(folder).catch(() => undefined)) === undefined ? [] : undefined;
  }
}

/** What git takes for the head of a repository: a name of a branch, or a commit. */
const repositoryHead = /^(ref:|[0-9a-f]{40})/;

/**
 * Refuses content that turns a folder into a repository, whose config runs programs.
 *
 * Errors: `ToolError` `tool_denied`.
 */
export function refuseRepositoryHead(name: string, bytes: Buffer): void {
  if (foldedName(name) === 'head' && repositoryHead.test(bytes.toString('latin1', 0, 64)))
    refuseGitFolder(`.git/${name}`);
}

/** Folders whose files programs run by themselves: hooks, editors, CI, installed packages. */
const runFolders: ReadonlySet<string> = new Set(
  '.husky .githooks .vscode .idea .zed .fleet .devcontainer .cursor .claude .circleci .yarn node_modules'.split(
    ' ',
  ),
);

/** Files that programs run by themselves, or that name what they run. */
const runFiles: ReadonlySet<string> = new Set(
  [
    'package.json .npmrc .yarnrc .yarnrc.yml .pnpmfile.cjs bunfig.toml .pre-commit-config.yaml lefthook.yml .lefthook.yml',
    '.envrc .mise.toml mise.toml .bashrc .bash_profile .profile .zshrc .zshenv .gitmodules .gitlab-ci.yml .mcp.json',
    '.vimrc .exrc .nvimrc .nvim.lua .dir-locals.el .gdbinit .lldbinit',
  ].flatMap((names) => names.split(' ')),
);

/**
 * Whether programs run this file later without being asked for it: a hook, an editor's or a package manager's configuration, a
 * shell's startup file, a CI job.
 */
export function runsLater(parts: readonly string[]): boolean {
  const folded = parts.map(foldedName);
  const name = folded.at(-1) ?? '';
  const isCiOfGitHub = folded.some(
    (part, index) => part === '.github' && /^(workflows|actions)$/.test(folded[index + 1] ?? ''),
  );
  return (
    isCiOfGitHub ||
    folded.some((part) => runFolders.has(part)) ||
    runFiles.has(name) ||
    name.endsWith('.code-workspace')
  );
}

/**
 * Refuses a change that reaches such a file by another name: the approval was decided on the name that the call gave.
 *
 * Errors: `ToolError` `tool_denied`, with the name to use.
 */
export function refuseHiddenRun(given: readonly string[], real: string): void {
  if (!runsLater(real.split('/')) || runsLater(given)) return;
  throw new ToolError(`"${given.join('/')}" is a link to "${real}", which programs run later`, {
    code: 'tool_denied',
    hint: 'Give the path of the file itself; a person approves its change.',
  });
}
