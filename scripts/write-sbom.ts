/** Prints the bill of materials of the package, after a build: `npm run sbom`. What users install with it, and what is inside it. */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { bundledInConsole, packagesIn } from './build-console';

const root = path.resolve(__dirname, '..');

interface Component {
  readonly 'bom-ref': string;
  readonly name: string;
  readonly properties: readonly { readonly name: string; readonly value: string }[];
}

/** The parts of CycloneDX that are read here. */
interface Bill {
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly {
    readonly ref: string;
    readonly dependsOn?: readonly string[];
  }[];
}

interface Manifest {
  readonly name: string;
  readonly dependencies: Readonly<Record<string, string>>;
  readonly peerDependencies: Readonly<Record<string, string>>;
  readonly peerDependenciesMeta: Readonly<Record<string, { readonly optional?: boolean }>>;
}

interface LockFile {
  readonly packages: Readonly<Record<string, { readonly version?: string }>>;
}

/** The data of others that the package contains. */
interface RulesFile {
  readonly source: { readonly name: string; readonly version: string; readonly url: string };
}

const rulesPath = 'workflows/core/secrets/gitleaks-rules.json';
const bundlesPath = 'dist/workers/prebuilt';

function readJson(file: string): unknown {
  return JSON.parse(readFileSync(path.join(root, file), 'utf8'));
}

/** Where in the package each package is whose code it contains, by its reference. */
function bundledPackages(): ReadonlyMap<string, string> {
  const { packages } = readJson('package-lock.json') as LockFile;
  const refOf = (folder: string): string => {
    const name = folder.split('/node_modules/').at(-1) ?? folder;
    return `${name}@${packages[`node_modules/${folder}`]?.version ?? ''}`;
  };
  const bundles = readdirSync(path.join(root, bundlesPath)).filter((file) => file.endsWith('.js'));
  const inWorkflows = bundles.flatMap((file) =>
    packagesIn(readFileSync(path.join(root, bundlesPath, file), 'utf8')),
  );
  return new Map([
    ...inWorkflows.map((folder) => [refOf(folder), bundlesPath] as const),
    ...bundledInConsole.map((folder) => [refOf(folder), 'dist/server/console'] as const),
  ]);
}

const inside = (where: string) => ({ name: 'holdfast:inside', value: where });

/** Gitleaks' rules, which are data of the package. */
function rules(): Component {
  const { name, version, url } = (readJson(rulesPath) as RulesFile).source;
  const component = {
    ...{ 'bom-ref': `${name}@${version}`, type: 'data', name, version, scope: 'required' },
    purl: `pkg:github/${name}/${name}@v${version}`,
    properties: [inside(`dist/${rulesPath}`)],
    externalReferences: [{ type: 'vcs', url }],
    licenses: [{ license: { id: 'MIT' } }],
  };
  return component;
}

/** The names and all that they depend on, as references. */
function reached(refs: readonly string[], { dependencies }: Bill): ReadonlySet<string> {
  const dependsOn = new Map(dependencies.map((each) => [each.ref, each.dependsOn ?? []]));
  const found = new Set<string>();
  const visit = (ref: string): void => {
    if (found.has(ref)) return;
    found.add(ref);
    dependsOn.get(ref)?.forEach(visit);
  };
  refs.forEach(visit);
  return found;
}

/** The bill of what users get, out of that of everything in the lock file. */
function billOf(all: Bill, manifest: Manifest): Bill {
  const { dependencies, peerDependencies, peerDependenciesMeta } = manifest;
  const peers = Object.keys(peerDependencies);
  const installed = new Set([
    ...Object.keys(dependencies),
    ...peers.filter((name) => peerDependenciesMeta[name]?.optional !== true),
  ]);
  const bundled = bundledPackages();
  const { component: own } = all.metadata;
  const direct = all.dependencies.find(({ ref }) => ref === own['bom-ref'])?.dependsOn ?? [];
  const nameOf = new Map(all.components.map((each) => [each['bom-ref'], each.name]));
  const asked = direct.filter((ref) => installed.has(nameOf.get(ref) ?? ''));
  const kept = reached(asked, all);
  const isPresent = (ref: string): boolean => kept.has(ref) || bundled.has(ref);
  const components = all.components
    .filter((each) => isPresent(each['bom-ref']))
    .map((each) => {
      const where = bundled.get(each['bom-ref']);
      return { ...each, properties: where === undefined ? [] : [inside(where)] };
    });
  const data = rules();
  return {
    ...all,
    // npm takes the folder's name.
    metadata: { ...all.metadata, component: { ...own, name: manifest.name } },
    components: [...components, data],
    dependencies: all.dependencies.flatMap((each) => {
      if (each.ref === own['bom-ref'])
        return [{ ...each, dependsOn: [...direct.filter(isPresent), data['bom-ref']] }];
      if (!isPresent(each.ref)) return [];
      return [{ ...each, dependsOn: (each.dependsOn ?? []).filter(isPresent) }];
    }),
  };
}

const printed = execFileSync('npm', ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'], {
  cwd: root,
  encoding: 'utf8',
  maxBuffer: 64 * 1024 * 1024,
});
const bill = billOf(JSON.parse(printed) as Bill, readJson('package.json') as Manifest);
process.stdout.write(`${JSON.stringify(bill, undefined, 2)}\n`);
