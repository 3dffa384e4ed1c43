/** Findings: what the tool itself wrote counts, and only whole (ADR 0033). */
import { findingsOf } from '../../activities/tool-output/findings';
import { sanitizeText } from '../../activities/untrusted/sanitizer';

const root = '/srv/project';

/** The findings of a sanitized output, and of the output as the tool gave it. */
const pathsOf = (whole: string, raw = whole, at: string | undefined = root): readonly string[] =>
  (findingsOf(whole, raw, at)?.paths ?? []).map(({ path }) => path);

/** The paths of an output that was sanitized as an error is: without private folders. */
const paths = (raw: string): readonly string[] =>
  pathsOf(sanitizeText(raw, { maxChars: 10_000, root }), raw);

test('a path ends where the tool ended it', () => {
  expect(pathsOf('src/a.ts')).toEqual(['src/a.ts']);
  for (const raw of ['src/a.tsx', 'src/a.ts/x', 'xsrc/a.ts', '/src/a.ts', 'src/a.ts\\x'])
    expect(pathsOf('src/a.ts', raw)).toEqual([]);
  for (const raw of ['src/a.ts\\n', 'src/a.ts\\t', 'src/a.ts\\"', '\\nsrc/a.ts', 'src/a.ts:3'])
    expect(pathsOf('src/a.ts', raw)).toEqual(['src/a.ts']);
  expect(pathsOf('src/a.ts', 'src/a.tsx src/a.ts')).toEqual(['src/a.ts']);
});

test('a path is not the rest of one with spaces', () => {
  expect(paths('opened /etc/x.conf src/b.ts')).toEqual(['/etc/x.conf', 'src/b.ts']);
  expect(paths('opened /srv/v1.2/docs in src/b.ts')).toEqual([]);
  expect(paths('opened /home/annabel/documents/of/old in src/b.ts')).toEqual([]);
});

test('a workspace may have a long name, or none', () => {
  const deep = `/srv/${'deep/'.repeat(60)}end`;
  expect(pathsOf(`${deep}/src/a.ts`, `${deep}/src/a.ts`, deep)).toEqual(['src/a.ts']);
  const { paths: found, facts } = findingsOf('at src/a.ts', 'at src/a.ts', undefined) ?? {};
  expect(found).toEqual([{ path: 'src/a.ts', line: 1 }]);
  expect(facts).toEqual(['at src/a.ts']);
  expect(findingsOf('at undefined/a.ts', 'at undefined/a.ts', undefined)?.facts).toEqual([
    'at undefined/a.ts',
  ]);
});

test('a path is found in the spellings of JSON', () => {
  for (const raw of ['see src\\\\a.ts now', 'see src\\a.ts now'])
    expect(pathsOf('src\\a.ts', raw)).toEqual(['src\\a.ts']);
  expect(pathsOf('src/größe.ts', 'see src/gr\\u00f6\\u00dfe.ts now')).toEqual(['src/größe.ts']);
  expect(pathsOf('src/a.ts', 'see src\\/a.ts now')).toEqual(['src/a.ts']);
});

test('500 paths are looked up, and kept up to 4,000 characters', () => {
  const names = (count: number, chars: number): string[] =>
    Array.from({ length: count }, (_, at) => `${'d'.repeat(chars - 6)}/${at + 100}.c`);
  const listed = names(501, 20);
  expect(pathsOf(listed.join('\n'), listed[499])).toEqual([listed[499]]);
  expect(pathsOf(listed.join('\n'), listed[500])).toEqual([]);
  expect(pathsOf(names(41, 100).join('\n'))).toEqual(names(40, 100));
  const more = [...names(39, 100), `${'e'.repeat(95)}/200.c`];
  expect(pathsOf(more.join('\n'))).toEqual(names(39, 100));
  expect(pathsOf(names(49, 20).join('\n'))).toEqual(names(48, 20));
});

test('a fact is a line of the tool, whatever ends it', () => {
  for (const end of ['\n', '\r', '\u2028', '\u2029', '\u0085', '\v', '\f'])
    expect(findingsOf('is done', `begun${end}is done${end}ended`, root)?.facts).toEqual([
      'is done',
    ]);
  expect(findingsOf('  is done ', '\t is done', root)?.facts).toEqual(['is done']);
  expect(findingsOf('is done', 'this is done', root)).toBeUndefined();
  const five = ['1', '2', '3', '4', '5'].map((n) => `${n}: src/a${n}.ts`);
  expect(findingsOf(five.join('\n'), five.join('\n'), root)?.facts).toEqual(five.slice(0, 4));
  const long = (chars: number): string => `Port ${'8'.repeat(chars - 5)}`;
  expect(findingsOf(long(160), long(160), root)?.facts).toEqual([long(160)]);
  expect(findingsOf(long(161), long(161), root)).toBeUndefined();
});
