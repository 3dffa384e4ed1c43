/** The prebuilt bundle: built once, taken from the cache while its files are the same, clear when code is not allowed. */
import { mkdir, mkdtemp, readdir, realpath, rm, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { WorkflowClient } from '@temporalio/client';
import { Worker } from '@temporalio/worker';
import { loadWorkflowBundle } from '../../workers/workflow-bundle';
import { startOwnServer } from '../support/temporal';

let folder: string;
let workflowsPath: string;
let cacheDirectory: string;

beforeEach(async () => {
  folder = await realpath(await mkdtemp(path.join(tmpdir(), 'holdfast-bundle-')));
  cacheDirectory = path.join(folder, 'cache');
  workflowsPath = path.join(folder, 'workflows.ts');
  await symlink(path.resolve('node_modules'), path.join(folder, 'node_modules'));
  await writeFile(workflowsPath, `export { one } from './one';\n`);
  await writeFile(path.join(folder, 'one.ts'), `export async function one() { return 'first'; }\n`);
});
afterEach(() => rm(folder, { recursive: true, force: true }));

it('is built once, comes from the cache, and is built anew for changed files or a broken cache', async () => {
  const options = { workflowsPath, cacheDirectory };
  const [first, second] = await Promise.all([
    loadWorkflowBundle(options),
    loadWorkflowBundle(options),
  ]);
  expect(first.code).toContain('first');
  expect(second.code).toBe(first.code);
  expect([first.from, second.from].sort()).toEqual(['cache', 'webpack']);
  expect(await loadWorkflowBundle(options)).toEqual({ code: first.code, from: 'cache' });

  await writeFile(
    path.join(folder, 'one.ts'),
    `export async function one() { return 'changed'; }\n`,
  );
  const changed = await loadWorkflowBundle(options);
  expect(changed.from).toBe('webpack');
  expect(changed.code).toContain('changed');

  const files = (await readdir(cacheDirectory)).filter((name) => name.endsWith('.json'));
  expect(files).toHaveLength(1);
  await writeFile(path.join(cacheDirectory, files[0] ?? ''), '{"inputs":[],');
  expect((await loadWorkflowBundle(options)).from).toBe('webpack');
  expect((await loadWorkflowBundle(options)).from).toBe('cache');
});

it('works without a cache that can be written', async () => {
  await writeFile(cacheDirectory, 'a file where a folder should be');
  const bundle = await loadWorkflowBundle({ workflowsPath, cacheDirectory });
  expect(bundle.from).toBe('webpack');
  expect(bundle.code).toContain('first');
});

it.each([
  ['fs', "- 'fs'"],
  ['node:fs', 'Reading from "node:fs" is not handled'],
])('says that workflows may not use %s', async (module, reason) => {
  await writeFile(
    path.join(folder, 'one.ts'),
    `import { readFileSync } from '${module}';\nexport async function one() { return readFileSync('x'); }\n`,
  );
  const failing = loadWorkflowBundle({ workflowsPath });
  await expect(failing).rejects.toThrow(`The workflow code at ${workflowsPath} cannot be bundled`);
  await expect(failing).rejects.toThrow(reason);
});

it('names a module that is not there', async () => {
  await writeFile(workflowsPath, `export { two } from './two';\n`);
  await expect(loadWorkflowBundle({ workflowsPath })).rejects.toThrow(/Can't resolve '\.\/two'/);
});

it('says that a path leads nowhere', async () => {
  await mkdir(cacheDirectory);
  await expect(
    loadWorkflowBundle({ workflowsPath: path.join(folder, 'none.ts'), cacheDirectory }),
  ).rejects.toThrow('There is no workflow code at');
});

it("lets the runs of a worker share what is named, and Holdfast's own workflows", async () => {
  const counter = 'let count = 0;\nexport const next = () => (count += 1);\n';
  await writeFile(path.join(folder, 'shared.ts'), counter);
  await writeFile(path.join(folder, 'own.ts'), counter);
  await writeFile(
    workflowsPath,
    `import { next as shared } from './shared';\nimport { next as own } from './own';\n` +
      `export async function both() { return [shared(), own()]; }\n`,
  );
  const preloadModules = [path.join(folder, 'shared.ts')];
  const { code } = await loadWorkflowBundle({ workflowsPath, extras: { preloadModules } });
  expect(code).toMatch(/preloadModules\(\) \{[^}]*\/workflows\/index\.ts[^}]*\}/);

  const server = await startOwnServer();
  const worker = await Worker.create({
    connection: server.nativeConnection,
    namespace: server.namespace,
    taskQueue: 'shared-code',
    workflowBundle: { code },
  });
  const counts = await worker.runUntil(async () => {
    const run = (workflowId: string) =>
      new WorkflowClient(server).execute<() => Promise<number[]>>('both', {
        workflowId,
        taskQueue: 'shared-code',
      });
    return [await run('first'), await run('second')];
  });
  await server.close();
  expect(counts).toEqual([
    [1, 1],
    [2, 1],
  ]);
});
