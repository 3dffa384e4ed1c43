/** Commands in the sandbox: what attacks the worker or the system from within finds nothing, and ordinary work goes on. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { homedir, tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { InfraException } from '../../activities/lifecycle/infra-exception';
import { protectPath } from '../../activities/lifecycle/protected-paths';
import { openStore } from '../../activities/stores/open-store';
import { runCommand } from '../../activities/tools/workspace/commands/run-command';
import type { RunCommandOptions } from '../../activities/tools/workspace/commands/run-command';
import { startWorkerProcess } from '../support/worker-process';
import { callTool, makeWorkspace, toolContext, toolErrorOf } from './tool-context';
import type { TestWorkspace } from './tool-context';

let ws: TestWorkspace;

beforeEach(() => {
  ws = makeWorkspace({ 'src/a.txt': 'inside' });
});
afterEach(() => {
  ws.remove();
});

const at = (path: string): string => join(ws.root, path);

/** Runs a line of shell in the sandbox. */
const sh = (line: string, options: RunCommandOptions = {}): Promise<string> =>
  callTool(runCommand({ sandbox: true, shell: true, ...options }), { command: line }, ws.context);

/** Whether a process with this word among its arguments runs on this machine, in whatever sandbox. */
const isRunning = (word: string): boolean =>
  readdirSync('/proc').some((pid) => {
    try {
      // The sandbox's own processes repeat the arguments of what they run.
      return readFileSync(`/proc/${pid}/cmdline`, 'latin1').split('\0').includes(word);
    } catch {
      return false;
    }
  });

/** Waits until something holds; the test's own time limit ends it. */
const until = async (holds: () => boolean): Promise<void> => {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
};

describe('ordinary work', () => {
  test('reads the system, writes the workspace, and runs programs in their folder', async () => {
    const text = await sh('pwd; cat src/a.txt; echo new > src/b.txt; node -p 6*7; git --version');
    expect(text).toMatch(/^Exit code 0 /);
    for (const part of [ws.root, 'inside', '42', 'git version']) expect(text).toContain(part);
    expect(readFileSync(at('src/b.txt'), 'utf8')).toBe('new\n');
    const inSrc = callTool(
      runCommand({ sandbox: true }),
      { command: ['ls'], folder: 'src' },
      ws.context,
    );
    expect(await inSrc).toContain('a.txt');
  });

  test('has temporary files and a home of its own, and a loopback', async () => {
    const temporary = join(tmpdir(), 'holdfast-sandbox-probe');
    const serve = `const s = require('http').createServer((q, r) => r.end('served')).listen(0, '127.0.0.1', async () => {
      console.log(await (await fetch('http://127.0.0.1:' + s.address().port)).text()); process.exit(); });`;
    writeFileSync(at('serve.cjs'), serve);
    const text = await sh(`echo x > ${temporary} && echo x > ~/y && ls ~; node serve.cjs`);
    expect(text).toMatch(/^Exit code 0 /);
    expect(text).toContain('served');
    expect(existsSync(temporary)).toBe(false);
  });

  test('gives exit codes, and names a program that only the rest of the machine has', async () => {
    expect(await sh('exit 3')).toMatch(/^Exit code 3 /);
    const tool = join(ws.outside, 'own-tool');
    writeFileSync(tool, '#!/bin/sh\necho ran\n');
    chmodSync(tool, 0o755);
    const command = (options: RunCommandOptions): Promise<string> =>
      callTool(runCommand(options), { command: [tool] }, ws.context);
    const error = await toolErrorOf(command({ sandbox: true }));
    expect(error.message).toContain('was not found');
    expect(error.hint).toContain('programs of the system and of the workspace');
    expect(await command({ sandbox: { readable: [ws.outside] } })).toContain('ran');
  });

  test('tells the model what it can do', () => {
    const described = (sandbox: RunCommandOptions['sandbox']): string =>
      runCommand(sandbox === undefined ? {} : { sandbox }).description;
    expect(described(true)).toContain('only the workspace, and not .git; there is no network.');
    expect(described({ network: true })).not.toContain('no network');
    expect(described(false)).toBe(described(undefined));
  });
});

describe('the rest of the machine', () => {
  test('is not read: home, mounted folders, other workspaces, services in /run', async () => {
    const text = await sh(
      `cat ${ws.outside}/secret.txt ${homedir()}/.bashrc ../outside/secret.txt; ls -A ${homedir()} /run /home /root /var/lib /mnt /srv /sys`,
    );
    expect(text).not.toContain('OUTSIDE');
    expect(text.match(/No such file or directory/g)).toHaveLength(11);
  });

  test('is not written, not even the fresh root', async () => {
    const text = await sh('for f in /usr/x /etc/x /opt/x /x /var/x /dev/x; do echo y > $f; done');
    expect(text.match(/Read-only file system|Permission denied/g)?.length).toBeGreaterThan(4);
    for (const file of ['/usr/x', '/etc/x', '/opt/x', '/x', '/dev/x'])
      expect(existsSync(file)).toBe(false);
    // As they are: a test that fails changes nothing of the machine.
    const settings = 'kernel/core_pattern kernel/domainname vm/swappiness net/ipv4/ip_forward';
    const kept = await sh(
      `cd /proc/sys; for f in ${settings}; do v=$(cat $f); echo "$v" > $f; done`,
    );
    expect(kept.match(/Read-only file system/g)).toHaveLength(4);
  });

  test('no link leads there', async () => {
    symlinkSync(ws.outside, at('out'));
    symlinkSync(join(ws.outside, 'secret.txt'), at('secret'));
    const text = await sh(
      'cat secret out/secret.txt; echo x > out/new; ln -s / up; cat up/root/.bashrc; ln /etc/passwd hard; cd out',
    );
    expect(text).not.toContain('OUTSIDE');
    expect(text).toContain('Invalid cross-device link');
    expect(readdirSync(ws.outside)).toEqual(['secret.txt']);
  });

  test('no privilege undoes a mount, and none is to be had', async () => {
    execFileSync('git', ['init', '--quiet', ws.root]);
    const attempts = [
      'mount -o remount,rw,bind /usr',
      'umount .git',
      'unshare --user --map-root-user --mount sh -c "mount -o remount,rw,bind .git && touch .git/x"',
      'unshare --user --map-root-user --mount sh -c "umount -l .git; touch .git/x"',
      'mknod disk b 8 0',
      'chroot /',
    ];
    for (const attempt of attempts) expect(await sh(attempt)).not.toMatch(/^Exit code 0 /);
    expect(existsSync(at('.git/x'))).toBe(false);
    expect(await sh('grep ^Cap /proc/self/status')).not.toMatch(/Cap\w+:\s*0*[1-9a-f]/);
  });

  test('what the operator names is only read', async () => {
    const tools = mkdtempSync(join(homedir(), '.holdfast-test-'));
    try {
      writeFileSync(join(tools, 'note'), 'from home');
      const options = { sandbox: { readable: [tools] } };
      expect(await sh(`cat ${tools}/note; ls -A ${homedir()} | wc -l`, options)).toMatch(
        /from home1$/m,
      );
      expect(await sh(`echo x > ${tools}/new`, options)).toContain('Read-only file system');
    } finally {
      rmSync(tools, { recursive: true });
    }
  });
});

describe('other processes', () => {
  test('are not seen, so neither their variables nor their memory, and get no signals', async () => {
    const victim = spawn('sleep', ['60'], { env: { SECRET: 'PRECIOUS' }, stdio: 'ignore' });
    const { pid = 0 } = victim;
    try {
      const text = await sh(
        `ls -d /proc/[0-9]*; cat /proc/*/environ; for s in 0 STOP KILL; do kill -$s ${pid}; done; ls /proc/${pid}`,
      );
      expect(text.match(/^\/proc\/\d+$/gm)?.length).toBeLessThan(6);
      expect(text.match(/No such process/g)).toHaveLength(3);
      expect(text).not.toMatch(/PRECIOUS|HOLDFAST_TEST_RUN_PID/);
      expect(readFileSync(`/proc/${pid}/stat`, 'latin1')).toContain(') S ');
    } finally {
      victim.kill('SIGKILL');
    }
  });

  test('none is left behind, whatever it leaves', async () => {
    const text = await sh('setsid nohup sleep 31415 >/dev/null 2>&1 & sleep 0.1; echo left');
    expect(text).toContain('left');
    await until(() => !isRunning('31415'));
  });

  test('what handles SIGTERM has its time at the limit, what ignores it is killed', async () => {
    const polite = `trap 'echo ended > ended.txt; exit' TERM; sleep 27182 & wait`;
    const error = await toolErrorOf(sh(polite, { timeLimitMs: 1_000 }));
    expect(error.code).toBe('tool_timeout');
    expect(readFileSync(at('ended.txt'), 'utf8')).toBe('ended\n');
    const stubborn = sh(`trap '' TERM; sleep 16180; sleep 16180`, { timeLimitMs: 1_000 });
    expect((await toolErrorOf(stubborn)).code).toBe('tool_timeout');
    await until(() => !isRunning('27182') && !isRunning('16180'));
  });

  test('a cancel ends it', async () => {
    const stopping = new AbortController();
    const context = toolContext({
      workspace: ws.root,
      signal: stopping.signal,
      progress: () => {
        stopping.abort(new Error('cancelled by a person'));
      },
    });
    const command = 'echo begun; sleep 14142';
    const call = callTool(runCommand({ sandbox: true, shell: true }), { command }, context);
    await expect(call).rejects.toThrow('cancelled by a person');
    await until(() => !isRunning('14142'));
  });

  test('the sandbox ends with a worker that is killed', async () => {
    const worker = await startWorkerProcess({
      script: join(__dirname, 'fixtures', 'command-runner.ts'),
      args: [ws.root, 'sandbox'],
    });
    await worker.printed('pids ');
    expect(isRunning('holdfast-idle')).toBe(true);
    await worker.kill();
    await until(() => !isRunning('holdfast-idle'));
  });
});

describe('the network', () => {
  let server: Server;
  let port: number;
  beforeEach(async () => {
    server = createServer((_request, response) => response.end('REACHED')).listen(0, '127.0.0.1');
    await once(server, 'listening');
    ({ port } = server.address() as AddressInfo);
  });
  afterEach(async () => {
    server.closeAllConnections();
    await once(server.close(), 'close');
  });

  const ask = (): string =>
    `node -e 'fetch("http://127.0.0.1:${port}").then((r) => r.text()).then(console.log, (e) => console.log(e.cause.code))'`;

  test('is off: a port of this machine, such as Temporal, is not reached', async () => {
    const text = await sh(`${ask()}; cat /proc/net/route /proc/net/dev | grep -c eth`);
    expect(text).toContain('ECONNREFUSED');
    expect(text).toMatch(/^0$/m);
  });

  test('is there if people say so, and still no socket of a service', async () => {
    const socket = join(ws.outside, 'service.sock');
    const service = createServer((_request, response) => response.end('REACHED')).listen(socket);
    await once(service, 'listening');
    try {
      const byName = `node -e 'require("http").get({ socketPath: "${socket}" }, () => console.log("OPEN")).on("error", (e) => console.log(e.code))'`;
      const text = await sh(`${ask()}; ${byName}`, { sandbox: { network: true } });
      expect(text).toContain('REACHED');
      expect(text).toContain('ENOENT');
    } finally {
      await once(service.close(), 'close');
    }
  });

  test('off, not even an abstract socket', async () => {
    const name = `holdfast-test-${process.pid}`;
    const service = createServer((_request, response) => response.end()).listen(`\0${name}`);
    await once(service, 'listening');
    try {
      writeFileSync(
        at('abstract.cjs'),
        `require('net').connect('\\0${name}', () => console.log('OPEN')).on('error', (e) => console.log(e.code));`,
      );
      expect(await sh('node abstract.cjs')).toContain('ECONNREFUSED');
    } finally {
      service.close();
    }
  });
});

describe('protected places in the workspace', () => {
  test('git: hooks, config and index are read and not written, by any name', async () => {
    execFileSync('git', ['init', '--quiet', ws.root]);
    execFileSync('git', ['init', '--quiet', at('vendor/lib')]);
    execFileSync('git', ['init', '--quiet', '--bare', at('mirrors/own.git')]);
    execFileSync('git', ['init', '--quiet', '--separate-git-dir', at('elsewhere'), at('apart')]);
    symlinkSync(at('.git'), at('innocent'));
    mkdirSync(at('app/.husky/_'), { recursive: true });
    const before = readFileSync(at('.git/config'), 'utf8');
    expect(await sh('git status --short; git config core.bare')).toMatch(/\?\? src\/[^]*false/);
    const attempts = [
      'echo "touch ran" > .git/hooks/pre-commit',
      'cp /bin/true .git/hooks/post-checkout',
      'git config core.fsmonitor "touch ran; false"',
      'git config --file innocent/config core.pager "touch ran"',
      'mv .git old && mkdir .git',
      'rm -rf .git/hooks .git/config',
      'echo x > vendor/lib/.git/hooks/pre-commit',
      'mv vendor moved && echo x > moved/lib/.git/config',
      'echo x > mirrors/own.git/hooks/update',
      'echo "gitdir: ../planted" > apart/.git',
      'echo x > elsewhere/config',
      'chmod u+x .git/hooks/update.sample',
      'echo x > app/.husky/pre-commit',
      'echo x > app/.husky/_/h',
    ];
    for (const attempt of attempts) expect(await sh(attempt)).not.toMatch(/^Exit code 0 /);
    expect(readFileSync(at('.git/config'), 'utf8')).toBe(before);
    expect(readdirSync(at('.git/hooks')).filter((name) => !name.endsWith('.sample'))).toEqual([]);
  });

  test('an open store is neither read, changed nor robbed of its journal', async () => {
    const store = await openStore(`sqlite:${at('data/holdfast.db')}`);
    try {
      await store.putBlob('TRANSCRIPT');
      const text = await sh(
        'cat data/*; for f in holdfast.db holdfast.db-wal holdfast.db-journal new; do echo x > data/$f; done; rm -rf data; mv data gone',
      );
      expect(text).not.toContain('TRANSCRIPT');
      expect(text).not.toContain('SQLite format');
      expect(existsSync(at('data/holdfast.db-journal'))).toBe(false);
      expect(readFileSync(at('data/holdfast.db'), 'latin1')).toContain('SQLite format');
      await store.putBlob('more');
    } finally {
      await store.close();
    }
  });

  test("the state directory and the agents' file are hidden", async () => {
    mkdirSync(at('var/state'), { recursive: true });
    writeFileSync(at('var/state/temporal.db'), 'PRECIOUS');
    writeFileSync(at('agents.cjs'), 'PRECIOUS');
    for (const path of ['var/state', 'var/state/temporal.db', 'agents.cjs']) protectPath(at(path));
    const text = await sh(
      'cat var/state/* agents.cjs; ls -A var/state | wc -l; echo x > var/state/temporal.db; echo x > agents.cjs; rm -rf var agents.cjs; mv agents.cjs b',
    );
    expect(text).not.toContain('PRECIOUS');
    expect(readFileSync(at('var/state/temporal.db'), 'utf8')).toBe('PRECIOUS');
    expect(readFileSync(at('agents.cjs'), 'utf8')).toBe('PRECIOUS');
  });

  test('a state directory among the readable folders is hidden too', async () => {
    mkdirSync(join(ws.outside, 'state'));
    writeFileSync(join(ws.outside, 'state/keys'), 'PRECIOUS');
    protectPath(join(ws.outside, 'state'));
    const text = await sh(`cat ${ws.outside}/secret.txt ${ws.outside}/state/keys`, {
      sandbox: { readable: [ws.outside] },
    });
    expect(text).toContain('OUTSIDE');
    expect(text).not.toContain('PRECIOUS');
  });

  test.each([
    [
      'is still missing in its root',
      () => (protectPath(at('later.db')), toolContext({ workspace: ws.root })),
    ],
    ['is the whole system', () => toolContext({ workspace: '/' })],
    ['holds the program bwrap', () => toolContext({ workspace: '/usr' })],
  ])('nothing runs where what is protected %s', async (_what, context) => {
    const call = callTool(runCommand({ sandbox: true }), { command: 'true' }, context());
    await expect(call).rejects.toThrow(InfraException);
    await expect(call).rejects.toThrow(/cannot keep programs from .* lies in the workspace/);
  });
});

describe('a sandbox that this machine cannot give', () => {
  const path = process.env['PATH'];
  afterEach(() => {
    process.env['PATH'] = path;
  });

  const withBwrap = (folder: string, script: string): void => {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, 'bwrap'), `#!/bin/sh\n${script}\n`);
    chmodSync(join(folder, 'bwrap'), 0o755);
    process.env['PATH'] = folder;
  };

  test('is refused when the tool is made: no bwrap, or none but in packages', () => {
    process.env['PATH'] = ws.outside;
    expect(() => runCommand({ sandbox: true })).toThrow(/bwrap, which is not on the PATH.*Install/);
    withBwrap(at('node_modules/.bin'), 'exit 0');
    expect(() => runCommand({ sandbox: true })).toThrow(/not on the PATH/);
  });

  // What bubblewrap says on Ubuntu 24.04 (akitaonrails/ai-jail#34) and without user namespaces (NixOS/nixpkgs#399300).
  test.each([
    'bwrap: setting up uid map: Permission denied',
    'bwrap: Creating new namespace failed: Permission denied',
    "bwrap: Can't mount proc on /newroot/proc: Operation not permitted",
  ])('is refused with what bwrap says (%s) and the remedy', (said) => {
    withBwrap(ws.outside, `echo "${said}" >&2; exit 1`);
    const make = (): unknown => runCommand({ sandbox: true });
    expect(make).toThrow(said);
    expect(make).toThrow(/user namespaces.*AppArmor.*seccomp=unconfined/);
  });

  test.each(['~/.nvm', 'tools', '/', '/proc', '/proc/1/root'])(
    'is refused with %s to read',
    (folder) => {
      expect(() => runCommand({ sandbox: { readable: [folder] } })).toThrow(
        `sandbox.readable names "${folder}"; give an absolute path, outside of /proc and not /.`,
      );
    },
  );
});

describe('another user', () => {
  const isRoot = process.getuid?.() === 0;
  const nobody = { uid: 65_534, gid: 65_534 };

  test('has no rights of the worker, alone or in the sandbox; only root can give it', async () => {
    for (const user of [
      { uid: 0, gid: 1 },
      { uid: 1, gid: -1 },
      { uid: 1.5, gid: 1 },
    ])
      expect(() => runCommand({ user })).toThrow(/give a whole number above 0/);
    if (!isRoot) {
      expect(() => runCommand({ user: nobody })).toThrow(/needs a worker that runs as root/);
      return;
    }
    chmodSync(dirname(ws.root), 0o755);
    chownSync(ws.root, nobody.uid, nobody.gid);
    for (const sandbox of [false, true]) {
      const text = await sh(
        `id -u; id -G; echo $HOME $USER; cat /proc/${process.pid}/environ /etc/shadow; kill -0 ${process.pid}; echo mine > mine.txt`,
        { user: nobody, sandbox },
      );
      expect(text).toMatch(/^65534\n65534\n/m);
      expect(text).not.toMatch(/root:|HOLDFAST_TEST_RUN_PID/);
      expect(readFileSync(at('mine.txt'), 'utf8')).toBe('mine\n');
    }
  });

  test('ends at the time limit', async () => {
    if (!isRoot) return;
    const error = await toolErrorOf(
      sh(`trap '' TERM; sleep 17320; sleep 17320`, {
        user: nobody,
        sandbox: false,
        timeLimitMs: 500,
      }),
    );
    expect(error.code).toBe('tool_timeout');
    await until(() => !isRunning('17320'));
  });
});
