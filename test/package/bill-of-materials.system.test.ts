/** `npm run sbom` names what users get: what is installed with the package, and what is inside it. */
import { execFileSync } from 'node:child_process';
import path from 'node:path';
import manifest from '../../package.json';

const root = path.resolve(__dirname, '../..');

interface Component {
  readonly 'bom-ref': string;
  readonly name: string;
  readonly version: string;
  readonly licenses: readonly { readonly license: { readonly id: string } }[];
  readonly properties: readonly { readonly name: string; readonly value: string }[];
}

interface Bill {
  readonly metadata: { readonly component: { readonly name: string; readonly version: string } };
  readonly components: readonly Component[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

// Of the build that the suites run on.
const script = ['--require', './test/support/compile-typescript.cjs', 'scripts/write-sbom.ts'];
const printed = execFileSync(process.execPath, script, {
  cwd: root,
  encoding: 'utf8',
  maxBuffer: 64 * 1024 * 1024,
});
const bill = JSON.parse(printed) as Bill;
const names = new Set(bill.components.map(({ name }) => name));

test('what is inside the package is named with its version, license and place', () => {
  const inside = bill.components.filter(({ properties }) => properties.length > 0);
  const placeOf = Object.fromEntries(
    inside.map(({ name, properties }) => [name, properties[0]?.value]),
  );
  expect(placeOf).toEqual({
    preact: 'dist/server/console',
    'openapi-fetch': 'dist/server/console',
    '@temporalio/workflow': 'dist/workers/prebuilt',
    '@temporalio/common': 'dist/workers/prebuilt',
    'nexus-rpc': 'dist/workers/prebuilt',
    long: 'dist/workers/prebuilt',
    ms: 'dist/workers/prebuilt',
    gitleaks: 'dist/workflows/core/secrets/gitleaks-rules.json',
  });
  const versions = Object.fromEntries(inside.map(({ name, version }) => [name, version]));
  const { preact, 'openapi-fetch': openApiFetch } = manifest.devDependencies;
  expect(versions).toMatchObject({ preact, 'openapi-fetch': openApiFetch });
  for (const { licenses } of inside)
    expect(['MIT', 'Apache-2.0']).toContain(licenses[0]?.license.id);
});

test('what is installed with the package is there, and nothing that only its developers use', () => {
  const optional = Object.keys(manifest.peerDependenciesMeta);
  const peers = Object.keys(manifest.peerDependencies).filter((name) => !optional.includes(name));
  for (const name of [...Object.keys(manifest.dependencies), ...peers])
    expect(names).toContain(name);
  for (const name of ['jest', 'eslint', 'playwright-core', 'esbuild', 'axe-core'])
    expect(names).not.toContain(name);
});

test('the bill is of this package, and each part that it refers to is in it', () => {
  const { name, version } = manifest;
  expect(bill.metadata.component).toMatchObject({ name, version });
  const known = new Set(bill.components.map((component) => component['bom-ref']));
  expect(known.size).toBe(bill.components.length);
  for (const { dependsOn } of bill.dependencies)
    for (const ref of dependsOn) expect(known).toContain(ref);
});
