/** Findings: of any output, no path or fact that it does not hold whole, and almost every path that it does. */
import { findingsOf } from '../../activities/tool-call/findings';
import { boundText, cutMiddle, sanitizeText } from '../../activities/untrusted/sanitizer';
import type { OutputFindings } from '../../workflows/core/tools/ports';
import { fc } from '../support/properties';

const root = '/work/project';

function findings(output: string): OutputFindings {
  const whole = sanitizeText(output, { maxChars: 10_000_000, root });
  return findingsOf(whole, output, root) ?? { paths: [], facts: [] };
}
const paths = (output: string): readonly string[] => findings(output).paths.map(({ path }) => path);

/** An output, the paths that it names, and paths that it holds no more. */
interface Output {
  readonly text: string;
  readonly names: readonly string[];
}

const folder = fc.constantFrom(
  'src',
  'packages',
  'agent-core',
  'executor',
  'v1.2',
  '@scope',
  'größe',
  '文档',
  '[id]',
  '.github',
  'a_b',
  'node-16',
);
const name = fc.constantFrom(
  'progress-tracker.ts',
  'index.test.tsx',
  'Übersicht.md',
  'データ.json',
  '__init__.py',
  'package.json',
  '.env.local',
  'a.b.c.yml',
  'x.c',
  'README.md',
);
const plainPath = fc
  .tuple(fc.array(folder, { minLength: 1, maxLength: 6 }), name)
  .map(([folders, last]) => [...folders, last].join('/'));
const windowsPath = plainPath.map((path) => path.replaceAll('/', '\\'));
const spacedPath = fc
  .tuple(
    folder,
    fc.constantFrom('my notes', 'old stuff 2', 'Übung 1'),
    fc.constantFrom('a b.txt', 'final version.docx', 'read this.md'),
  )
  .map(([first, middle, last]) => `${first}/${middle}/${last}`);
const anyPath = fc.oneof(
  { weight: 8, arbitrary: plainPath },
  { weight: 1, arbitrary: windowsPath },
  { weight: 1, arbitrary: spacedPath },
);
/** Paths that the sanitizer shortens to their last part, which is then no path that the output names. */
const privatePath = plainPath.map((path) =>
  path.includes('\\') ? `C:\\Users\\ann\\${path}` : `/home/ann/${path}`,
);

const words = fc
  .array(
    fc.constantFrom(
      'the',
      'tests',
      'class',
      'and',
      'größer',
      '数据',
      'works',
      'now',
      'x',
      '42',
      '7.5',
    ),
    { minLength: 1, maxLength: 12 },
  )
  .map((chosen) => chosen.join(' '));

const many = fc.uniqueArray(anyPath, { minLength: 2, maxLength: 41 });
const few = fc.uniqueArray(fc.oneof(plainPath, windowsPath), { minLength: 1, maxLength: 9 });

const shapes: readonly fc.Arbitrary<Output>[] = [
  fc.tuple(many, words).map(([names, text]) => ({
    names,
    text: names.map((path, at) => `${path}:${at + 1}: ${text}`).join('\n'),
  })),
  fc.tuple(many, words).map(([names, text]) => ({
    names,
    text: `${names.length} matching lines.\n${names.map((path, at) => `${path}:${at + 1}:${at + 9}: export ${text}`).join('\r\n')}\n`,
  })),
  many.map((names) => ({ names, text: names.join('\n') })),
  many.map((names) => ({ names, text: names.map((path) => `- ${path}`).join('\n') })),
  many.map((names) => ({ names, text: JSON.stringify({ files: names, count: names.length }) })),
  fc.tuple(many, words).map(([names, text]) => ({
    names,
    text: JSON.stringify(
      names.map((path, line) => ({ path, line, text })),
      null,
      2,
    ),
  })),
  fc.tuple(many, words).map(([names, message]) => ({
    names,
    text: names.map((file) => JSON.stringify({ level: 'info', file, message })).join('\n'),
  })),
  fc.tuple(many, words).map(([names, text]) => ({
    names,
    text: [
      '| File | Note |',
      '| --- | --- |',
      ...names.map((path) => `| ${path} | ${text} |`),
    ].join('\n'),
  })),
  many.map((names) => ({
    names,
    text: names.map((path, size) => `${size}\t${path}\tok`).join('\n'),
  })),
  fc.tuple(few, words, words).map(([names, before, after]) => ({
    names,
    text: names.map((path) => `${before} see ${path} for ${after}.`).join(' '),
  })),
  fc.tuple(few, words).map(([names, text]) => ({
    names,
    text: names.map((path) => `${text} (${path}), then \`${path}\`; "${path}".`).join('\n\n'),
  })),
  few.map((names) => ({ names, text: names.map((path) => ` M ${path}`).join('\n') })),
  few.map((names) => ({
    names,
    text: names.map((path) => `    at run (${path}:12:5)\nerror in ${path}(3,4): x`).join('\n'),
  })),
  fc.tuple(few, words).map(([names, text]) => ({
    names,
    text: `${text} `.repeat(400) + names.join(` ${text} `.repeat(30)),
  })),
];

const outputs: fc.Arbitrary<Output & { readonly isCut: boolean }> = fc
  .tuple(
    fc.oneof(...shapes),
    fc.array(privatePath, { maxLength: 2 }),
    fc.constantFrom('no', 'no', 'no', 'middle', 'lines'),
    fc.double({ min: 0.1, max: 0.9, noNaN: true }),
  )
  .map(([{ text, names }, hidden, cut, share]) => {
    const isText = !/^[[{]/.test(text);
    const all = isText ? [text, ...hidden.map((path) => `${path}:1: private`)].join('\n') : text;
    const chars = Math.max(130, Math.floor(all.length * share));
    if (cut === 'no' || all.length <= chars) return { text: all, names, isCut: false };
    return {
      text: cut === 'middle' ? boundText(all, chars) : cutMiddle(all, chars),
      names,
      isCut: true,
    };
  });

test('of 2,000 outputs, nothing is found that an output does not name whole, and at least 95 % of what it does', () => {
  let named = 0;
  let found = 0;
  const wrong: string[] = [];
  for (const { text, names, isCut } of fc.sample(outputs, { numRuns: 2_000, seed: 13 })) {
    const { paths: got, facts } = findings(text);
    const gotPaths = got.map(({ path }) => path);
    wrong.push(
      ...gotPaths
        .filter((path) => !names.includes(path))
        .map((path) => `${path} of ${text.slice(0, 300)}`),
    );
    const lines = sanitizeText(text, { maxChars: 10_000_000, root }).split(/\r?\n/);
    wrong.push(...facts.filter((fact) => !lines.some((line) => line.trim() === fact)));
    if (isCut) continue;
    let chars = 0;
    const expected = names.slice(0, 48).filter((path) => (chars += path.length) <= 4_000);
    named += expected.length;
    found += expected.filter((path) => gotPaths.includes(path)).length;
  }
  expect(wrong.slice(0, 5)).toEqual([]);
  expect(named).toBeGreaterThan(8_000);
  expect(found / named).toBeGreaterThanOrEqual(0.95);
});

test.each<[string, string, readonly string[]]>([
  [
    'a search with a header',
    '2 matching lines.\nsrc/a b/c.ts:1: x\nsrc/d.ts:22: y',
    ['src/a b/c.ts', 'src/d.ts'],
  ],
  ['running text', 'see v1.2.3, e.g. docs/x.md and https://h.example/y.html', ['docs/x.md']],
  ['a list of one line', 'src/a.ts,src/b.ts', ['src/a.ts', 'src/b.ts']],
  ['a link', 'Read [the guide](docs/guide.md).', ['docs/guide.md']],
  ['an option', 'npx jest --config=test/jest.config.cjs', ['test/jest.config.cjs']],
  ['what is below the root', `at ${root}/src/a.ts:3:1`, ['src/a.ts']],
  ['what is private', '/home/ann/other/a.ts\nC:\\Users\\ann\\b.ts', []],
  ['a word that may belong to the one before', 'Created docs/my notes.txt today', []],
  ['words that may belong to the path', 'Meeting notes/may.md', []],
  ['words before a path', 'Wrote docs/may.md', ['docs/may.md']],
  ['a file without an extension', 'src/Makefile:3: all', ['src/Makefile']],
  [
    'a tool that cut its own output',
    'src/a.ts:1: x\n… 12 more lines …\ncutor/b.ts:1: x\nsrc/c.ts:2: y',
    ['src/a.ts', 'src/c.ts'],
  ],
  ['a tool that cut a name', '…cutor/b.ts and src/exec.t...', []],
  [
    'JSON of another language',
    '{"path": "caf\\u00e9/x.py", "next": "a\\/b.php"}',
    ['café/x.py', 'a/b.php'],
  ],
  [
    'a result in a string of JSON',
    '{"stdout": "src/a.ts:1: x\\nsrc/b.ts:2: y"}',
    ['src/a.ts', 'src/b.ts'],
  ],
  ['JSON that was cut', '[{"path":"a/b.ts","n":1},{"path":"a/c.t', ['a/b.ts']],
])('finds in %s', (_what, output, expected) => {
  expect(paths(output)).toEqual(expected);
});

test('what is found is bounded, in paths and in characters, and found in an output of many megabytes', () => {
  const lines = (count: number, folders: string): string =>
    Array.from({ length: count }, (_, at) => `${folders}/f${at}.ts:1: x`).join('\n');
  expect(paths(lines(200_000, 'src'))).toHaveLength(48);
  expect(paths(lines(48, 'folder/'.repeat(20)) + '\n').join('').length).toBeLessThanOrEqual(4_000);
  expect(paths(`${'word '.repeat(100_000)}src/a.ts`)).toEqual([]);
  expect(paths(`src/a.ts ${'word '.repeat(100_000)}`)).toEqual(['src/a.ts']);
});

test('facts are whole lines', () => {
  expect(findings(`${'x'.repeat(500)}\nPort 8080 is taken.`).facts).toEqual([
    'Port 8080 is taken.',
  ]);
  expect(findings(`a\nsee src/a.ts:1\n${'y'.repeat(200)} src/b.ts`).facts).toEqual([
    'see src/a.ts:1',
  ]);
  expect(findings('Port 8080 i[… 12 characters left out …]').facts).toEqual([]);
});
