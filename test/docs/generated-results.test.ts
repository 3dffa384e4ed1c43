/** The generated part of docs/results.md is what `npm run results` makes of the kept results. */
import { generatedPart, keptResults, withGeneratedPart } from '../../scripts/write-results';
import { sourceText } from './documents';

const text = sourceText('docs/results.md');
/** Prettier aligns tables. */
const plain = (page: string): string =>
  page.replace(/ +/g, ' ').replace(/-{3,}/g, '---').replace(/\n+/g, '\n');

test('is up to date', () => {
  expect(plain(withGeneratedPart(text, generatedPart(keptResults())))).toBe(plain(text));
});

test('shows the newest result of each name, with what it was measured on', () => {
  const kept = {
    name: 'fuzz',
    command: 'npm run fuzz -- --minutes 1',
    date: '2026-11-28',
    node: 'v22.0.0',
    machine: '2 CPUs, linux x64',
    load: 1.5,
    seconds: 60,
    result: { cases: 1_000, crashes: [], hangs: [], falseSuccesses: ['one'] },
  };
  const newer = { ...kept, date: '2026-11-29', result: { ...kept.result, falseSuccesses: [] } };
  const part = generatedPart([kept, newer]);
  expect(part).toContain('`npm run fuzz -- --minutes 1`, 2026-11-29, 2 CPUs, linux x64, Node v22');
  expect(part).toContain('| 1,000 | 0 | 0 | 0 |');
  expect(part).not.toContain('2026-11-28');
});

test('refuses a page without its marks', () => {
  expect(() => withGeneratedPart('# Results', 'part')).toThrow('<!-- npm run results -->');
});
