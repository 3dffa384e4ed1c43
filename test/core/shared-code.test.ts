/** What all runs of a worker share (ADR 0087): the sandbox freezes what these modules export, so nothing in it may need to change. */
import { readdirSync } from 'node:fs';
import path from 'node:path';

const root = path.resolve(__dirname, '..', '..');

function modulesIn(folder: string): readonly string[] {
  return (readdirSync(path.join(root, folder), { recursive: true }) as string[])
    .filter((file) => file.endsWith('.ts'))
    .map((file) => path.join(folder, file));
}

/** Places in a value that cannot be frozen, or that would hold what runs put there. */
function changing(value: unknown, at: string, seen = new Set<unknown>()): readonly string[] {
  if (typeof value !== 'object' || value === null || seen.has(value)) return [];
  seen.add(value);
  if (value instanceof RegExp) return value.global || value.sticky ? [`${at}: ${value}`] : [];
  if (value instanceof Map || value instanceof WeakMap || value instanceof WeakSet) return [at];
  return Object.entries(value).flatMap(([key, each]) => changing(each, `${at}.${key}`, seen));
}

test('nothing that workflow modules export has to change', () => {
  const files = [...modulesIn('workflows'), ...modulesIn('telemetry/workflow')];
  expect(files.length).toBeGreaterThan(100);
  const found = files.flatMap((file) => {
    // eslint-disable-next-line @typescript-eslint/no-require-imports -- each file of two folders
    return changing(require(path.join(root, file)), file);
  });
  expect(found).toEqual([]);
});

test('a pattern with a place of its own, and a map, are found', () => {
  const shared = { rules: [{ pattern: /a/g }], plain: /a/, known: new Map() };
  expect(changing(shared, 'shared')).toEqual(['shared.rules.0.pattern: /a/g', 'shared.known']);
});
