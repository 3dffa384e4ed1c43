/** Commands run without a shell, within their time, without the worker's secrets, and leave no process behind. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, openSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { commandWords } from '../../activities/tools/workspace/commands/command-line';
import { runCommand } from '../../activities/tools/workspace/commands/run-command';
import type { RunCommandOptions } from '../../activities/tools/workspace/commands/run-command';
import { startWorkerProcess } from '../support/worker-process';
import { callTool, makeWorkspace, toolErrorOf } from './tool-context';
import type { TestWorkspace } from './tool-context';

let ws: TestWorkspace;

beforeEach(() => {
  ws = makeWorkspace({ 'sub/a.txt': 'a', 'print-env.sh': '#!/bin/sh\nenv\n' });
});
afterEach(() => {
  ws.remove();
});

const run = (command: string | readonly string[], options?: RunCommandOptions, folder = '.') =>
  callTool(runCommand(options), { command, folder }, ws.context);
const node = (script: string): readonly string[] => [process.execPath, '-e', script];

const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    // A killed process that nobody has reaped yet is dead too.
    return !/^\d+ \(.*\) Z/.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
};

const commandLine = (pid: string): string => {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8');
  } catch {
    return '';
  }
};

/** Waits until something holds; the test's own time limit ends it. */
const until = async (holds: () => boolean): Promise<void> => {
  while (!holds()) {
    await new Promise((resolve) => setImmediate(resolve));
  }
};

describe('run_command', () => {
  test('gives exit code and output of both streams', async () => {
    const text = await run(node('console.log("out"); console.error("err"); process.exit(3)'));
    expect(text).toMatch(/^Exit code 3 after \d+\.\d s\.\n/);
    expect(text).toContain('out');
    expect(text).toContain('err');
  });

  test('shows the last state of a progress bar, and every line between (t2-command-01)', async () => {
    const script = `const draw = (n) => process.stdout.write('\\rDownloading ' + n + '/3000 [#####     ]');
      for (let n = 1; n <= 1500; n += 1) draw(n);
      console.log('\\nERROR: checksum of part 7 differs');
      for (let n = 1501; n <= 3000; n += 1) draw(n);
      console.log('\\n\\u001b[32mfinished\\u001b[0m\\r');`;
    const text = await run(node(script));
    expect(text).toContain(
      '\nERROR: checksum of part 7 differs\nDownloading 3000/3000 [#####     ]\n',
    );
    expect(text.length).toBeLessThan(1_000);
  });

  test('reads UTF-16, and says so of what is in an older encoding', async () => {
    const give = (bytes: string): readonly string[] => node(`process.stdout.write(${bytes})`);
    expect(await run(give(`Buffer.from('\\ufeffgrößer\\r\\n', 'utf16le')`))).toMatch(
      /\ngrößer\r?\n$/,
    );
    expect(await run(give(`Buffer.from('größer', 'latin1')`))).toContain('not UTF-8');
  });

  test('runs in the folder that is named, and only inside', async () => {
    expect(await run('ls', undefined, 'sub')).toContain('a.txt');
    expect((await toolErrorOf(run('ls', undefined, '../outside'))).code).toBe('invalid_params');
    expect((await toolErrorOf(run('ls', undefined, 'gone'))).message).toContain(
      'There is no "gone"',
    );
  });

  test('has no shell by default: what needs one is refused, quoted it is text', async () => {
    for (const command of [
      'ls | wc',
      'a && b',
      'a; b',
      'a > f',
      'echo $HOME',
      'echo $(id)',
      'echo `id`',
      'a &',
    ]) {
      const error = await toolErrorOf(run(command));
      expect(error.code).toBe('invalid_params');
      expect(error.hint).toContain('There is no shell');
    }
    expect(await run("echo '$HOME; `id`'")).toContain('$HOME; `id`');
    expect(await run(['echo', '$(id) | cat'])).toContain('$(id) | cat');
    expect(existsSync(join(ws.root, 'f'))).toBe(false);
  });

  test('has a shell where people configure it', async () => {
    expect(await run('echo one | tr a-z A-Z', { shell: true })).toContain('ONE');
  });

  test('names a program that does not exist', async () => {
    const error = await toolErrorOf(run('no-such-program --x'));
    expect(error.message).toBe('The program "no-such-program" was not found');
    expect(error.hint).toContain('./node_modules/.bin');
  });

  test('git runs nothing that a bare repository in the workspace names', async () => {
    const repository = join(ws.root, 'docs');
    execFileSync('git', ['init', '--quiet', '--bare', repository]);
    const settings = {
      'core.bare': 'false',
      'core.worktree': '.',
      'core.fsmonitor': 'touch ran; false',
    };
    for (const [name, value] of Object.entries(settings))
      execFileSync('git', ['config', '--file', join(repository, 'config'), name, value]);
    expect(await run('git status --short', undefined, 'docs')).toContain('safe.bareRepository');
    expect(existsSync(join(repository, 'ran'))).toBe(false);
  });

  test('passes an allow-list of variables and nothing else', async () => {
    process.env['HOLDFAST_TEST_API_KEY'] = 'sk-ant-worker-secret-1';
    try {
      const text = await run('sh print-env.sh', { environment: { EXTRA: 'yes' } });
      expect(text).not.toContain('worker-secret');
      expect(text).toContain('EXTRA=yes');
      const names = [...text.matchAll(/^(\w+)=/gm)].map(([, name]) => name);
      expect(
        names.filter((name) => /(?<!^GIT_CONFIG_)KEY|TOKEN|SECRET|NODE_OPTIONS/.test(name ?? '')),
      ).toEqual([]);
    } finally {
      delete process.env['HOLDFAST_TEST_API_KEY'];
    }
  });

  test("gets none of the worker's files, and the umask that the worker has", async () => {
    const script = join(__dirname, 'fixtures', 'open-files.ts');
    const secret = join(ws.outside, 'secret.txt');
    // As a shell's `40< secret.txt` does. Node closes those up to 15, and up to the first gap.
    const opened = openSync(secret, 'r');
    const stdio = Array.from({ length: 64 }, (_, number) =>
      [3, 9, 40, 63].includes(number) ? opened : 'ignore',
    );
    const preload = join(__dirname, '../support/run-typescript.cjs');
    const child = spawn(process.execPath, ['--require', preload, script, ws.root], {
      stdio: ['pipe', 'pipe', 'inherit', ...stdio.slice(3)],
    });
    let said = '';
    child.stdout?.on('data', (data: Buffer) => (said += data.toString('utf8')));
    await once(child, 'close');
    closeSync(opened);
    expect(said).toContain('own: secret.txt');
    expect(said).toContain('command: none, umask 0027');
    expect(said).toContain('sandboxed: none, umask 0027');
  });

  test('ends the whole process group at the time limit, also what ignores SIGTERM', async () => {
    const script = `
      const { spawn } = require('node:child_process');
      const child = spawn(process.execPath, ['-e', 'process.on("SIGTERM", () => {}); console.log("pid " + process.pid); setInterval(() => {}, 1000)'], { stdio: 'inherit' });
      process.on('SIGTERM', () => {}); setInterval(() => {}, 1000);`;
    const error = await toolErrorOf(run(node(script), { timeLimitMs: 2_000 }));
    expect(error.code).toBe('tool_timeout');
    expect(error.message).toContain('stopped at its time limit');
    const pid = Number(/pid (\d+)/.exec(error.output ?? '')?.[1]);
    expect(pid).toBeGreaterThan(0);
    await until(() => !isAlive(pid));
  });

  test('does not wait for a child in the background that holds the output open, and ends it', async () => {
    const script = `
      const { spawn } = require('node:child_process');
      const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'], { stdio: 'inherit' });
      console.log('pid ' + child.pid); process.exit(0);`;
    const text = await run(node(script));
    expect(text).toContain('Exit code 0');
    await until(() => !isAlive(Number(/pid (\d+)/.exec(text)?.[1])));
  });

  test('ends the whole group when the worker itself is killed with SIGKILL', async () => {
    const worker = await startWorkerProcess({
      script: join(__dirname, 'fixtures', 'command-runner.ts'),
      args: [ws.root],
    });
    await worker.printed('pids ');
    const pids = (/pids (\d+) (\d+)/.exec(worker.output()) ?? []).slice(1).map(Number);
    expect(pids.map(isAlive)).toEqual([true, true]);
    await worker.kill();
    await until(() => !pids.some(isAlive));
  });

  test('leaves no watchdog behind, and gives a signal that ended the program by its name', async () => {
    const error = await toolErrorOf(run(node('process.kill(process.pid, "SIGABRT")')));
    expect(error.message).toContain('ended by SIGABRT');
    const own = (existsSync('/proc') ? readdirSync('/proc') : []).filter((pid) => {
      try {
        return (
          readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[1] ===
          `${process.pid}`
        );
      } catch {
        return false;
      }
    });
    const left = (): readonly string[] =>
      own.filter((pid) => isAlive(Number(pid)) && commandLine(pid).includes('kill -KILL'));
    await until(() => left().length === 0);
  });

  test('stops on cancel with the reason of the signal', async () => {
    const stopping = new AbortController();
    let pid = 0;
    const context = {
      ...ws.context,
      signal: stopping.signal,
      progress: (text: string) => {
        pid = Number(/pid (\d+)/.exec(text)?.[1] ?? 0);
        stopping.abort(new Error('cancelled by a person'));
      },
    };
    const command = node('console.log("pid " + process.pid); setInterval(() => {}, 1000)');
    await expect(callTool(runCommand(), { command }, context)).rejects.toThrow(
      'cancelled by a person',
    );
    expect(isAlive(pid)).toBe(false);
  });

  test('keeps a 10 MB output whole', async () => {
    const text = await run(node('process.stdout.write("x".repeat(10 * 1024 * 1024) + "END")'));
    expect(text.length).toBeGreaterThan(10 * 1024 * 1024);
    expect(text.endsWith('END')).toBe(true);
  });

  test('keeps the end of an output beyond the limit, and says what is left out', async () => {
    const text = await run(node('process.stdout.write("x".repeat(20_000_000) + "END")'));
    expect(text).toMatch(/\[… \d+ bytes left out: more than 16777216 bytes …\]/);
    expect(text.endsWith('END')).toBe(true);
    expect(text.length).toBeLessThan(16_900_000);
  });

  test('an input that waits for an answer gets the end of its input at once', async () => {
    expect(await run('cat')).toContain('(no output)');
  });

  test('is irreversible unless configured, and capped at 10 calls (R-GUARD-4)', () => {
    expect(runCommand()).toMatchObject({
      effect: 'irreversible',
      maxCalls: 10,
      timeoutMs: 130_000,
    });
    expect(runCommand({ effect: 'read', maxCalls: 50 })).toMatchObject({
      effect: 'read',
      maxCalls: 50,
    });
    expect(() => runCommand({ timeLimitMs: 0 })).toThrow(/timeLimitMs is 0/);
  });
});

describe('commandWords', () => {
  test.each<[string, readonly string[]]>([
    ['npm test', ['npm', 'test']],
    ['  git  commit -m "a \\"b\\" c"  ', ['git', 'commit', '-m', 'a "b" c']],
    ["sed -n '1,5p' a\\ b.txt", ['sed', '-n', '1,5p', 'a b.txt']],
    ['x ""', ['x', '']],
    ['grep "a|b" f', ['grep', 'a|b', 'f']],
    ['a=1 --x=$', ['a=1', '--x=$']],
  ])('splits %j', (line, words) => {
    expect(commandWords(line)).toEqual(words);
  });

  test.each(['', '  ', 'a "b', "a 'b"])('refuses %j', (line) => {
    expect(() => commandWords(line)).toThrow(/The command/);
  });
});
