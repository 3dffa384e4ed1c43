/** The compose file: what it starts, that nothing is open to the network, and that compose itself accepts it. */
import { readFile } from 'node:fs/promises';
import path from 'node:path';
import { runCommand } from '../../workers/temporal-server/run-command';

const file = path.resolve('docker-compose.temporal.yml');
const composeCommands: readonly (readonly [string, ...string[]])[] = [
  ['docker', 'compose'],
  ['docker-compose'],
];

let text: string;
beforeAll(async () => {
  text = await readFile(file, 'utf8');
});

/** What compose makes of the file; undefined on a machine without compose. */
async function composeConfig(): Promise<string | undefined> {
  for (const [program, ...first] of composeCommands) {
    try {
      await runCommand(program, [...first, 'version'], 30_000);
    } catch {
      continue;
    }
    return await runCommand(program, [...first, '-f', file, 'config'], 60_000);
  }
  return undefined;
}

it('starts Temporal on Postgres, its Web UI and a worker', () => {
  const services = [...text.matchAll(/^ {2}([a-z-]+):$/gm)].map((match) => match[1]);
  expect(services).toEqual(
    expect.arrayContaining(['postgresql', 'temporal', 'temporal-ui', 'worker']),
  );
});

it('pins each image to a version', () => {
  const images = [...text.matchAll(/^ {4}image: (\S+)$/gm)].map((match) => match[1] ?? '');
  expect(images).toHaveLength(6);
  for (const image of images) expect(image).toMatch(/^[a-z/-]+:\d[\w.-]*$/);
});

it('opens its ports on this machine only', () => {
  const ports = [...text.matchAll(/^ {6}- '([^']*:\d+)'$/gm)].map((match) => match[1]);
  expect(ports).toEqual(['127.0.0.1:7233:7233', '127.0.0.1:8080:8080']);
});

it('names only variables that the worker reads', async () => {
  const worker = text.slice(text.indexOf('\n  worker:'));
  const names = [...worker.matchAll(/^ {6}([A-Z_]+): /gm)].map((match) => match[1] ?? '');
  const reader = await readFile(path.resolve('workers/env.ts'), 'utf8');
  expect(names.length).toBeGreaterThan(5);
  for (const name of names) expect(reader).toContain(`  ${name}: `);
});

it('is accepted by compose, where there is one', async () => {
  const config = await composeConfig();
  expect(config ?? text).toContain('postgres://temporal:');
});
