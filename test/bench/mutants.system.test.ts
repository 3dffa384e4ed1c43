/** What `npm run mutate` says of mutants that tests notice, and of those that none does. */
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { mutate } from '../../bench/mutate/command-line';
import { disabledMutants } from '../../bench/mutate/disabled';
import type { Mutant } from '../../bench/mutate/instrument';
import { runMutants } from '../../bench/mutate/run-mutants';
import { sampleOf, withoutDisabled } from '../../bench/mutate/score-area';

const root = path.join(__dirname, 'fixtures', 'mutants', 'fixture-project');
/** `instrumented` is what the instrumenter made of `source`. */
const place = { root, codeFolder: path.join(root, 'instrumented') };

function mutant(id: string, original: string, replacement: string): Mutant {
  const common = { file: 'source/price.ts', line: 1, mutator: 'EqualityOperator' };
  return { ...common, id, at: original, original, replacement };
}

const noticed = mutant('3', 'total >= 100', 'false');
const unnoticed = mutant('4', 'total >= 100', 'total > 100');
const endless = mutant('11', 'rest -= 1', 'rest += 1');
const whileLoading = mutant('0', '[10, 20]', '[]');
const untested = mutant('13', 'total > 0', 'true');

test('a mutant lives if tests reach it and pass, or if none reaches it', async () => {
  const reported: string[] = [];
  const results = await runMutants(
    place,
    { files: ['tests/price.test.ts'], without: '^$' },
    [noticed, unnoticed, endless, whileLoading, untested],
    ({ mutant: { id } }) => reported.push(id),
  );
  expect(results).toEqual([
    {
      mutant: noticed,
      status: 'killed',
      killedBy: 'tests/price.test.ts: a discount of large totals',
    },
    { mutant: unnoticed, status: 'survived' },
    { mutant: endless, status: 'killed', killedBy: 'tests/price.test.ts: counts down' },
    { mutant: whileLoading, status: 'killed', killedBy: 'tests/price.test.ts: rates' },
    { mutant: untested, status: 'unreached' },
  ]);
  expect(reported).toEqual(['3', '4', '11', '0', '13']);
});

test('a test that fails without a mutant is named, and nothing is scored', async () => {
  const run = runMutants(
    place,
    { files: ['tests/wrong.test.ts'], without: '^$' },
    [noticed],
    () => undefined,
  );
  await expect(run).rejects.toThrow('tests/wrong.test.ts: what is not so');
});

describe('the list of disabled mutants', () => {
  const entry = { ...noticed, why: 'an example' };

  test('takes away what it names, and nothing else', () => {
    expect(withoutDisabled([noticed, unnoticed], [entry])).toEqual([unnoticed]);
  });

  test('names only what is there', () => {
    expect(() => withoutDisabled([unnoticed], [entry])).toThrow('total >= 100');
  });

  test('has a line of code and a reason in each entry', () => {
    const wrong = disabledMutants.filter(({ file, at, why }) => {
      const source = path.join(__dirname, '..', '..', file);
      return why === '' || !existsSync(source) || !readFileSync(source, 'utf8').includes(at);
    });
    expect(wrong).toEqual([]);
  });
});

test('a sample is the same for a seed, another for another, and each mutant once', () => {
  const all = Array.from({ length: 100 }, (_, id) => ({ ...noticed, id: String(id) }));
  const sample = sampleOf(all, 30, 1);
  expect(sampleOf(all, 30, 1)).toEqual(sample);
  expect(sampleOf(all, 30, 2)).not.toEqual(sample);
  expect(new Set(sample).size).toBe(30);
  expect(sampleOf(all, 1_000, 1)).toEqual(all);
});

test.each([
  [['--only', 'server'], 'There is no area "server".'],
  [['--sample', '0'], '--sample is "0": give a whole number from 1.'],
  [['--seed', 'one'], '--seed is "one": give a whole number from 0.'],
])('%j is refused', async (args, problem) => {
  const written: string[] = [];
  const output = { result: () => undefined, people: (text: string) => written.push(text) };
  expect(await mutate(args, output)).toBe(2);
  expect(written.join('\n')).toContain(problem);
});
