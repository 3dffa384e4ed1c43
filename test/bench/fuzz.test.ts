/** The fuzzer: short seeded runs of every area find nothing, it can find, and it makes what it finds small. */
import { fuzz, fuzzAreas } from '../../bench/fuzz/command-line';
import type { FuzzArea } from '../../bench/fuzz/fuzz-area';
import { runFuzz } from '../../bench/fuzz/run-fuzz';

/** Cases of each area; a long run is a command of its own. */
const shortRun: Readonly<Record<string, number>> = {
  arguments: 400,
  'store-files': 150,
  histories: 60,
};

test.each(fuzzAreas.map((area) => [area.name, area] as const))(
  '%s neither crashes nor hangs nor takes broken input for whole',
  async (name, area) => {
    const cases = shortRun[name] ?? 40;
    const result = await runFuzz({ areas: [area], seed: 20_261_129, budgetMs: 3_600_000, cases });
    expect(result).toEqual({ cases, found: [] });
  },
);

/** Each finding that was fixed: its area, seed, and case. */
const found = [
  ['stream-anthropic', 1, 630],
  ['histories', 1, 3],
  ['histories', 1, 11],
  ['histories', 1, 91],
  ['histories', 7, 324],
  ['stream-chat', 7, 124],
  ['stream-chat', 7, 172],
  ['stream-anthropic', 11, 121],
  ['histories', 30, 591],
  ['histories', 30, 1_036],
  ['histories', 30, 1_258],
  ['stream-anthropic', 30, 428],
  ['stream-chat', 30, 1_052],
  ['stream-anthropic', 41, 2_307],
  ['stream-anthropic', 41, 4_907],
  ['stream-anthropic', 41, 9_485],
  ['stream-chat', 41, 2_458],
  ['stream-chat', 41, 5_585],
  ['stream-chat', 51, 27],
  ['stream-chat', 51, 2_864],
  ['stream-chat', 51, 3_259],
  ['stream-chat', 52, 7_197],
] as const;

test.each(found)('%s, seed %i, case %i stays fixed', async (name, seed, from) => {
  const areas = fuzzAreas.filter((area) => area.name === name);
  const result = await runFuzz({ areas, seed, budgetMs: 3_600_000, cases: 1, from });
  expect(result).toEqual({ cases: 1, found: [] });
});

test('a finding is shrunk to the mutations that it needs, and is the same again', async () => {
  const needle: FuzzArea = {
    name: 'needle',
    about: 'fails at one mutation',
    open: () =>
      Promise.resolve({
        draw: (random) => ({
          base: 0,
          mutations: ['harmless', random() < 0.5 ? 'needle' : 'harmless', 'harmless'].map(
            (name) => ({
              name,
              apply: (bytes) => bytes,
            }),
          ),
        }),
        attempt: ({ mutations }) =>
          Promise.resolve(
            mutations.some(({ name }) => name === 'needle')
              ? { kind: 'crash', what: 'found it' }
              : undefined,
          ),
        close: () => Promise.resolve(),
      }),
  };
  const plan = { areas: [needle], seed: 3, budgetMs: 60_000, cases: 20 };
  const { found: all } = await runFuzz(plan);
  expect(all.length).toBeGreaterThan(0);
  for (const each of all) expect(each.mutations).toEqual(['needle']);
  const from = all[0]?.case ?? 0;
  expect((await runFuzz({ ...plan, from, cases: 1 })).found).toEqual([all[0]]);
});

test.each([
  [['--minutes', '0'], '--minutes is "0"'],
  [['--seed', 'x'], '--seed is "x"'],
  [['--only', 'nothing'], 'There is no area "nothing".'],
])('answers %j with the usage and 2', async (args, words) => {
  const told: string[] = [];
  const output = { result: () => undefined, people: (text: string) => told.push(text) };
  expect(await fuzz(args, output)).toBe(2);
  expect(told.join('\n')).toContain(words);
  expect(told.join('\n')).toContain('stream-anthropic');
});
