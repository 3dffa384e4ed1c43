/**
 * Does docs/first-steps.md word for word, in an empty folder, with the packed tarball: `npm run first-steps -- --json`.
 *
 * Once for CommonJS and once for ES modules: installs, compiles, starts the worker, and reads the client's answer. Prints last
 * `{ "esm", "commonjs", "seconds" }`: whether each gave the answer, and the seconds of the slower one from install to answer.
 */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { codeBlocks, root, sourceText } from '../test/docs/documents';
import { readEnvironment } from '../workers/env';

const file = 'docs/first-steps.md';
const prefix = 'first-steps/';
/** What the page's model answers. */
const answer = 'Happy birthday on December 10, Ada!';

/** The page's files and commands by name. */
const steps = new Map(
  codeBlocks({ file, text: sourceText(file) }).flatMap(({ source, code }) =>
    source?.startsWith(prefix) === true ? [[source.slice(prefix.length), code] as const] : [],
  ),
);

function step(name: string): string {
  const code = steps.get(name);
  if (code === undefined) throw new Error(`${file} has no block <!-- ${prefix}${name} -->.`);
  return code;
}

/** The tarball of what `npm run build` has built. */
function pack(folder: string): string {
  const args = ['pack', '--silent', '--ignore-scripts', '--pack-destination', folder];
  return path.join(folder, execFileSync('npm', args, { cwd: root, encoding: 'utf8' }).trim());
}

/** A terminal in the project's folder. Bash is what reads the page's braces. */
class Terminal {
  readonly env: NodeJS.ProcessEnv;

  constructor(private readonly folder: string) {
    // Only the caches of this machine are the project's, too.
    const { PATH, HOME, ...others } = process.env;
    const npm = Object.entries(others).filter(([name]) => /^npm_config_|proxy/i.test(name));
    this.env = {
      ...Object.fromEntries(npm),
      ...{ PATH, HOME, HOLDFAST_CACHE_DIR: readEnvironment().cacheDirectory },
      HOLDFAST_STATE_DIR: path.join(folder, 'state'),
      ...{ npm_config_prefer_offline: 'true', npm_config_audit: 'false', npm_config_fund: 'false' },
    };
  }

  /** Runs commands to their end and returns what they printed. Errors: rejects with it. */
  run(commands: string): string {
    return execFileSync('bash', ['-euc', commands], {
      cwd: this.folder,
      env: this.env,
      encoding: 'utf8',
      stdio: ['ignore', 'pipe', 'inherit'],
    });
  }

  /** Runs commands until `during` has ended, which begins when they have printed `ready`. */
  async while<Result>(
    commands: string,
    ready: string,
    during: () => Promise<Result> | Result,
  ): Promise<Result> {
    const child = spawn('bash', ['-euc', commands], {
      cwd: this.folder,
      env: this.env,
      detached: true,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const ended = once(child, 'close');
    try {
      let printed = '';
      for await (const text of child.stdout.setEncoding('utf8')) {
        printed += String(text);
        if (printed.includes(ready)) return await during();
      }
      throw new Error(`It ended before it printed "${ready}":\n${printed}`);
    } finally {
      // With what it started: it leads a group of its own.
      if (child.pid !== undefined && child.exitCode === null) process.kill(-child.pid, 'SIGTERM');
      await ended;
    }
  }
}

/** Seconds from install to answer; undefined if another answer came, or none. */
async function take(tarball: string, type: 'module' | 'commonjs'): Promise<number | undefined> {
  const folder = mkdtempSync(path.join(tmpdir(), `holdfast-first-steps-${type}-`));
  const terminal = new Terminal(folder);
  const startedAtMs = performance.now();
  try {
    execFileSync('cp', [tarball, folder]);
    for (const [name, code] of steps)
      if (/\.(ts|json)$/.test(name)) writeFileSync(path.join(folder, name), code);
    terminal.run(step('install.sh'));
    terminal.run(`npm pkg set type=${type}`);
    const printed = await terminal.while(step('worker.sh'), 'The worker is ready.', () =>
      terminal.run(step('client.sh')),
    );
    console.error(`${type}: ${printed.trim()}`);
    const seconds = Math.round((performance.now() - startedAtMs) / 100) / 10;
    return printed === `${answer}\n` ? seconds : undefined;
  } catch (thrown) {
    console.error(thrown);
    return undefined;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

async function main(): Promise<void> {
  const { values } = parseArgs({ options: { json: { type: 'boolean', default: false } } });
  const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-packed-'));
  try {
    const tarball = pack(folder);
    const [commonjs, esm] = [await take(tarball, 'commonjs'), await take(tarball, 'module')];
    const result = {
      esm: esm !== undefined,
      commonjs: commonjs !== undefined,
      seconds: Math.max(esm ?? 0, commonjs ?? 0),
    };
    console.log(
      values.json
        ? JSON.stringify(result)
        : `ES modules: ${result.esm ? 'answered' : 'failed'}, CommonJS: ${result.commonjs ? 'answered' : 'failed'}, ${result.seconds} s`,
    );
    process.exitCode = result.esm && result.commonjs ? 0 : 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

void main();
