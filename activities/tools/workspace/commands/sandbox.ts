/** Runs programs in a sandbox of bubblewrap, in which only the workspace can be written and no other process is reached. */
import { spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, realpathSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { delimiter, dirname, isAbsolute, join } from 'node:path';
import { InfraException } from '../../../lifecycle/infra-exception';
import { protectedPathsFor } from '../../../lifecycle/protected-paths';
import { UserError } from '../../../lifecycle/user-error';
import { gitPlaces, ownCode } from '../protected-places';
import { pathInside } from '../../workspace-path';
import { enterWorkspace } from './workspace-entry';

/** What programs in the sandbox may use besides the workspace. */
export interface SandboxOptions {
  /** Share the worker's network, Temporal and the store's server included. Default false: a loopback of its own and nothing else. */
  readonly network?: boolean;
  /** Absolute paths that programs may read besides the system's, such as a toolchain in the home folder. */
  readonly readable?: readonly string[];
}

/** User and group by their numbers. */
export interface CommandUser {
  readonly uid: number;
  readonly gid: number;
}

/** A sandbox that works on this machine. */
export interface Sandbox {
  /**
   * Words to put in front of a program and its arguments, for a real folder of a workspace with this real path. Waits while another
   * command could put a link in a place that is mounted here. Call `leave` when the program has ended.
   *
   * Errors: `InfraException` `tool_infrastructure` for a workspace in which a protected place cannot be protected; the signal's
   * reason.
   */
  enter(
    root: string,
    folder: string,
    signal: AbortSignal,
  ): Promise<{ readonly words: readonly string[]; readonly leave: () => void }>;
  /** Whether programs in the sandbox of this workspace see a real path. */
  sees(root: string, realPath: string): boolean;
  /** Folder of programs to look in after those on the PATH. */
  readonly programs: string | undefined;
}

/** Folders of the system. All others are missing in the sandbox: homes, mounted disks, sockets of services in `/run`. */
const systemFolders = '/usr /bin /sbin /lib /lib32 /lib64 /libx32 /etc /opt /nix /gnu'.split(' ');

const isIn = (path: string, folder: string): boolean => pathInside(folder, path) !== undefined;
const readOnly = (path: string): readonly string[] => ['--ro-bind-try', path, path];

/**
 * Prepares a sandbox, and tries it.
 *
 * Errors: `UserError` if it cannot work on this machine, with the reason and the remedy.
 */
export function prepareSandbox(options: SandboxOptions, user: CommandUser | undefined): Sandbox {
  const program = findBubblewrap();
  const { network = false, readable = [] } = options;
  for (const path of readable)
    if (!isAbsolute(path) || isIn(path, '/proc') || isIn('/proc', path))
      throw new UserError(
        `run_command: sandbox.readable names ${JSON.stringify(path)}; give an absolute path, outside of /proc and not /.`,
      );
  const node = nodeFolder();
  const shown = [...readable.map(realPathOf), ...(node === undefined ? [] : [node])];
  const system = [...systemFolders, ...shown];
  const words = [program, ...systemWords(network), ...shown.flatMap(readOnly)];
  tryOut(words, user);
  return {
    programs: node === undefined ? undefined : join(node, 'bin'),
    sees: (root, path) => [root, ...system].some((folder) => isIn(path, folder)),
    async enter(root, folder, signal) {
      if (root === '/' || isIn(program, root))
        throw cannotProtect(root === '/' ? 'the whole system' : program, root);
      const { found: git, leave } = await enterWorkspace(root, signal, () =>
        gitPlaces(root, signal),
      );
      try {
        const closed = await protectionWords(root, system);
        const above = foldersAbove(root, [...git, ...protectedPathsFor(root)]);
        const fixed = above.flatMap((path) => ['--bind', path, path]);
        const shut = [...closed.parents, ...git.flatMap(readOnly), ...closed.places];
        const workspace = ['--bind', root, root, ...fixed, ...shut];
        return {
          words: [...words, ...workspace, '--remount-ro', '/', '--chdir', folder, '--'],
          leave,
        };
      } catch (thrown) {
        leave();
        throw thrown;
      }
    },
  };
}

/** Own namespaces, no privileges, the system for reading, and fresh folders for temporary files. */
function systemWords(network: boolean): readonly string[] {
  const resolver = '/etc/resolv.conf';
  return [
    '--unshare-all',
    ...(network ? ['--share-net'] : []),
    ...['--die-with-parent', '--new-session', '--cap-drop', 'ALL'],
    ...systemFolders.flatMap(readOnly),
    // Settings of the kernel in /proc/sys stay writable for the user root, whatever privileges are dropped.
    ...['--proc', '/proc', '--remount-ro', '/proc'],
    ...['--dev', '/dev', '--tmpfs', '/tmp', '--tmpfs', '/var/tmp'],
    // Often a link to a file in /run, which is missing.
    ...(network ? readOnly(realPathOf(resolver)) : []),
  ];
}

/**
 * Words for protected paths that would be seen: files and folders are hidden, our own code is only read. What is missing yet
 * cannot be made, because its folder cannot be written.
 */
async function protectionWords(
  root: string,
  system: readonly string[],
): Promise<{ readonly parents: readonly string[]; readonly places: readonly string[] }> {
  const parents: string[] = [];
  const places: string[] = [];
  const closed = protectedPathsFor(root);
  const isCovered = (path: string): boolean =>
    closed.some((other) => other !== path && other !== ownCode && isIn(path, other));
  for (const path of closed) {
    if (isCovered(path) || ![root, ...system].some((folder) => isIn(path, folder))) continue;
    const found = await stat(path).catch(() => undefined);
    if (path === ownCode) parents.push(...readOnly(path));
    else if (found?.isDirectory() === true) places.push('--tmpfs', path, '--remount-ro', path);
    else if (found !== undefined) places.push('--ro-bind', '/dev/null', path);
    else if (isIn(path, root)) {
      const parent = existingParent(path);
      if (parent === root) throw cannotProtect(path, root);
      parents.push(...readOnly(parent));
    }
  }
  return { parents, places };
}

/**
 * Folders between a workspace and its protected places, the upper ones first. Each is mounted on itself, since nobody can move what is
 * mounted: a program that renamed one would have the place under a name at which the next command sees it, and could put another in
 * its stead.
 */
function foldersAbove(root: string, places: readonly string[]): readonly string[] {
  const above = new Set<string>();
  for (const place of places.filter((path) => isIn(path, root)))
    for (let path = dirname(place); path !== root && !above.has(path); path = dirname(path))
      if (existsSync(path)) above.add(path);
  return [...above].sort((a, b) => a.length - b.length);
}

function existingParent(path: string): string {
  const parent = dirname(path);
  return existsSync(parent) ? parent : existingParent(parent);
}

function cannotProtect(path: string, root: string): InfraException {
  return new InfraException({
    code: 'tool_infrastructure',
    message: `The sandbox of run_command cannot keep programs from ${path}: it lies in the workspace ${root}. Choose another workspace, or keep Holdfast's store and state elsewhere (HOLDFAST_STORE, HOLDFAST_STATE_DIR).`,
  });
}

function realPathOf(path: string): string {
  return existsSync(path) ? realpathSync(path) : path;
}

/** The folder of the Node.js that runs this process, with npm, unless it is in the system's folders or holds homes. */
function nodeFolder(): string | undefined {
  const folder = dirname(dirname(realPathOf(process.execPath)));
  const isOwn = existsSync(join(folder, 'lib/node_modules/npm')) && !isIn(homedir(), folder);
  return isOwn && !systemFolders.some((system) => isIn(folder, system)) ? folder : undefined;
}

/** Not in a project's packages, which agents may change: `npm run` puts them on the PATH. */
function findBubblewrap(): string {
  if (process.platform !== 'linux')
    throw new UserError(
      `run_command: the sandbox needs Linux, this is ${process.platform}. Leave out the option sandbox, or run the worker on Linux.`,
    );
  const folders = (process.env['PATH'] ?? '').split(delimiter);
  const usable = folders.filter((folder) => isAbsolute(folder) && !/node_modules/.test(folder));
  for (const folder of usable)
    try {
      const file = join(folder, 'bwrap');
      accessSync(file, constants.X_OK);
      return realpathSync(file);
    } catch {
      // The next one, then.
    }
  throw new UserError(
    'run_command: the sandbox needs the program bwrap, which is not on the PATH. Install the package bubblewrap, or leave out the option sandbox.',
  );
}

/** Milliseconds for a program that does nothing. A sandbox takes 10 ms; a loaded machine, longer. */
const tryOutMs = 30_000;

function tryOut(words: readonly string[], user: CommandUser | undefined): void {
  const [program = '', ...rest] = words;
  const { status, stderr, error } = spawnSync(program, [...rest, '--', '/bin/sh', '-c', ':'], {
    ...user,
    cwd: '/',
    env: {},
    timeout: tryOutMs,
    encoding: 'utf8',
  });
  if (status === 0) return;
  const said = (error?.message ?? stderr).trim().slice(0, 300);
  throw new UserError(
    `run_command: the sandbox does not work on this machine: ${said || `bwrap ended with ${status ?? 'a signal'}`}. ` +
      'bwrap needs user namespaces: allow them (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone; on Ubuntu an ' +
      'AppArmor profile for bwrap), in a Docker container with --security-opt seccomp=unconfined, apparmor=unconfined and ' +
      'systempaths=unconfined. Or leave out the option sandbox.',
  );
}
