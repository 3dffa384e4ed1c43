/** Two copies and unknown versions of Temporal's SDK are named before they fail in a way that names neither. */
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { sdkProblem, testedSdk } from '../../client/sdk-check';

const manifest = JSON.parse(
  readFileSync(path.resolve(__dirname, '..', '..', 'package.json'), 'utf8'),
) as Record<'peerDependencies' | 'devDependencies', Readonly<Record<string, string>>>;

const app = '/app/node_modules/@temporalio';
const nested = '/app/node_modules/other/node_modules/@temporalio';

/** Versions by a part of the folder's path. */
const versions =
  (known: Readonly<Record<string, string>>) =>
  (folder: string): string =>
    Object.entries(known).find(([part]) => folder.includes(part))?.[1] ?? testedSdk.newest;

test('one copy of the tested version is no problem, nor is none', () => {
  const files = ['client', 'common', 'worker'].map((name) => `${app}/${name}/lib/index.js`);
  expect(sdkProblem(files, versions({}))).toBeUndefined();
  expect(sdkProblem(['/app/node_modules/zod/index.js'], versions({}))).toBeUndefined();
});

test('two copies are named with version and place, even at one version', () => {
  const files = [`${app}/common/lib/index.js`, `${nested}/common/lib/index.js`];
  expect(sdkProblem(files, versions({ other: '1.23.0' }))).toEqual({
    type: 'mixed',
    message: expect.stringContaining(
      `@temporalio/common 1.24.0 from ${app}/common and @temporalio/common 1.23.0 from ${nested}/common are loaded`,
    ) as string,
  });
  expect(sdkProblem(files, versions({}))?.type).toBe('mixed');
});

test('packages of different versions are named', () => {
  const files = [`${app}/common/lib/index.js`, `${app}/worker/lib/index.js`];
  const problem = sdkProblem(files, versions({ '@temporalio/worker': '1.25.0' }));
  expect(problem?.message).toContain(
    `@temporalio/common 1.24.0 from ${app}/common and @temporalio/worker 1.25.0 from ${app}/worker`,
  );
});

test.each([
  ['1.23.0', 'unsupported', 'Holdfast needs ^1.24.0'],
  ['2.0.0', 'unsupported', 'Holdfast needs ^1.24.0'],
  ['unknown', 'unsupported', 'Version unknown'],
  ['1.25.1', 'untested', 'Holdfast was tested with 1.24.0 at most'],
])('version %s is %s', (version, type, words) => {
  const problem = sdkProblem([`${app}/common/lib/index.js`], () => version);
  expect(problem).toEqual({ type, message: expect.stringContaining(words) as string });
});

test('a later patch of a tested version is no problem', () => {
  expect(sdkProblem([`${app}/common/lib/index.js`], () => '1.24.3')).toBeUndefined();
});

test('finds copies on Windows and in the stores of package managers', () => {
  const files = [
    'C:\\app\\node_modules\\@temporalio\\common\\lib\\index.js',
    '/app/node_modules/.pnpm/@temporalio+common@1.24.0/node_modules/@temporalio/common/lib/index.js',
  ];
  expect(sdkProblem(files, versions({}))?.type).toBe('mixed');
});

test('package.json names the same versions', () => {
  const range = Object.entries(manifest.peerDependencies).filter(([name]) =>
    name.startsWith('@temporalio/'),
  );
  expect(range.length).toBeGreaterThan(5);
  for (const [name, version] of range) {
    expect(version).toBe(`^${testedSdk.oldest}`);
    expect(manifest.devDependencies[name]).toBe(testedSdk.newest);
  }
});
