/** The image, the compose file and the manifests: pinned, closed to the network, no more rights than needed, and only variables that exist. */
import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { runCommand } from '../../workers/temporal-server/run-command';

const composeFile = path.resolve('docker-compose.temporal.yml');
const manifestFolder = 'deploy/kubernetes';
/** Milliseconds that a worker takes to drain at most, where Temporal hangs. */
const drainMs = 30_000;

let compose: string;
let dockerfile: string;
let manifests: string;
/** The sources of every variable that the program reads. */
let readers: string;
beforeAll(async () => {
  compose = await readFile(composeFile, 'utf8');
  dockerfile = await readFile('deploy/docker/Dockerfile', 'utf8');
  const files = (await readdir(manifestFolder)).filter((file) => file !== 'kustomization.yaml');
  manifests = (
    await Promise.all(files.map((file) => readFile(path.join(manifestFolder, file), 'utf8')))
  ).join('\n---\n');
  readers =
    (await readFile('workers/env.ts', 'utf8')) + (await readFile('telemetry/settings.ts', 'utf8'));
});

const all = (text: string, pattern: RegExp): readonly string[] =>
  [...text.matchAll(pattern)].map((match) => match[1] ?? '');

/** What the first of these programs that is here says; undefined on a machine without any. */
async function firstOf(
  programs: readonly (readonly [string, ...string[]])[],
  probe: readonly string[],
  args: readonly string[],
): Promise<string | undefined> {
  for (const [program, ...first] of programs) {
    try {
      await runCommand(program, [...first, ...probe], 30_000);
    } catch {
      continue;
    }
    return await runCommand(program, [...first, ...args], 60_000);
  }
  return undefined;
}

/** Errors: names of variables that nothing reads. */
function expectKnown(names: readonly string[]): void {
  expect(names.length).toBeGreaterThan(3);
  expect(names.filter((name) => !readers.includes(`  ${name}: `))).toEqual([]);
}

describe('compose', () => {
  it('starts Temporal on Postgres, its Web UI, a worker, a gateway, and what watches them', () => {
    expect(all(compose, /^ {2}([a-z-]+):$/gm)).toEqual(
      expect.arrayContaining(
        'postgresql temporal temporal-ui setup worker gateway prometheus grafana'.split(' '),
      ),
    );
  });

  it('pins each image to a version, and builds its own from the package', () => {
    const images = all(compose, /^ {4}image: (\S+)$/gm);
    expect(images).toHaveLength(7);
    for (const image of images) expect(image).toMatch(/^[a-z/-]+:v?\d[\w.-]*$/);
    expect(compose).toContain('dockerfile: deploy/docker/Dockerfile');
  });

  it('opens its ports on this machine only', () => {
    const ports = all(compose, /^ {6}- '([^']*:\d+)'$/gm);
    expect(ports).toHaveLength(5);
    for (const port of ports) expect(port).toMatch(/^127\.0\.0\.1:/);
  });

  it('names only variables that the program reads, and files that the package has', async () => {
    expectKnown(all(compose, /^ +((?:HOLDFAST|OTEL)_[A-Z_]+): /gm));
    const { files } = JSON.parse(await readFile('package.json', 'utf8')) as { files: string[] };
    const mounted = all(compose, /^ {6}- \.\/([^:]+):/gm);
    expect(mounted.length).toBeGreaterThan(2);
    for (const file of mounted) {
      expect(existsSync(file)).toBe(true);
      expect(files).toContain(file.split('/')[0]);
    }
  });

  it('gives no service a key of a vendor in its environment', () => {
    expect(compose.replace(/^#.*$/gm, '')).not.toMatch(/API_KEY/);
  });

  it('is accepted by compose, where there is one', async () => {
    const programs = [['docker', 'compose'], ['docker-compose']] as const;
    const config = await firstOf(programs, ['version'], ['-f', composeFile, 'config']);
    expect(config ?? compose).toContain('postgres://temporal:');
  });
});

describe('the image', () => {
  it('runs as a user without rights, of a pinned major, and takes only the package', () => {
    const last = dockerfile.slice(dockerfile.lastIndexOf('\nFROM '));
    expect(all(dockerfile, /^FROM (\S+)/gm)).toEqual([
      'node:24-bookworm-slim',
      'node:24-bookworm-slim',
    ]);
    expect(last).toMatch(/^USER node$/m);
    expect(last).toMatch(/^HEALTHCHECK /m);
    expect(last).toContain('bubblewrap');
    expect(all(dockerfile, /^COPY (?!--from)(\S+)/gm)).toEqual(['package.json', 'dist']);
    expect(dockerfile).not.toMatch(/^ARG/m);
  });
});

describe('the manifests', () => {
  it('give each pod no more than it needs, and longer to end than a drain takes', () => {
    const pods = manifests.split(/^---$/m).filter((text) => /^kind: (Deployment|Job)$/m.test(text));
    expect(pods).toHaveLength(3);
    for (const pod of pods) {
      for (const line of [
        'automountServiceAccountToken: false',
        'runAsNonRoot: true',
        'readOnlyRootFilesystem: true',
        'allowPrivilegeEscalation: false',
        'capabilities: { drop: [ALL] }',
        'seccompProfile: { type: RuntimeDefault }',
      ])
        expect(pod).toContain(line);
      expect(pod).toMatch(/ {12}limits: \{ memory: /);
      if (pod.includes('kind: Job')) continue;
      const [grace] = all(pod, /terminationGracePeriodSeconds: (\d+)/g);
      expect(Number(grace) * 1_000).toBeGreaterThan(drainMs);
      for (const probe of ['startupProbe', 'readinessProbe', 'livenessProbe'])
        expect(pod).toContain(`${probe}:\n            httpGet: { path: /`);
    }
  });

  it('name only variables that the program reads', async () => {
    expectKnown(all(manifests, /\{ name: ([A-Z_]+), value/g));
    const settings = await readFile(path.join(manifestFolder, 'kustomization.yaml'), 'utf8');
    expectKnown(all(settings, / - ([A-Z_]+)=/g));
  });

  it('are put together by kubectl, where there is one', async () => {
    const args = ['kustomize', path.resolve(manifestFolder)];
    const made = await firstOf([['kubectl']], ['version', '--client'], args);
    expect(all(made ?? manifests, /^kind: (\w+)$/gm)).toEqual(
      expect.arrayContaining([
        'Deployment',
        'PodDisruptionBudget',
        'NetworkPolicy',
        'ScaledObject',
      ]),
    );
  });
});
