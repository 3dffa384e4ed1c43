/** Findings: from any output, no path or fact that it does not hold whole, and almost every path that it does. */
import { findingsOf } from '../../activities/tool-output/findings';
import { boundText, cutMiddle, sanitizeText } from '../../activities/untrusted/sanitizer';
import type { OutputFindings } from '../../workflows/core/tools/ports';
import { fc } from '../support/properties';

const root = '/srv/project';

function findings(output: string): OutputFindings {
  const whole = sanitizeText(output, { maxChars: 10_000_000, root });
  return findingsOf(whole, output, root) ?? { paths: [], facts: [] };
}
const paths = (output: string): readonly string[] => findings(output).paths.map(({ path }) => path);

/** An output, the paths that it names, and paths that it no longer holds. */
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
/** Paths that the sanitizer shortens to their last part, so that the output no longer names a path. */
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
  fc.tuple(many, words).map(([names, text]) => ({
    names,
    text: names
      .map((path, at) => `\u001b[35m\u001b[K${path}\u001b[m\u001b[36m:\u001b[m${at}: ${text}\r`)
      .join('\n'),
  })),
  fc.tuple(many, words).map(([names, stderr]) => ({
    names,
    text: JSON.stringify({ stdout: names.map((path) => `${path}\r\n`).join(''), stderr }),
  })),
  fc.tuple(many, words).map(([names, text]) => ({
    names,
    text: names.map((path) => `│ ${path} │ ${text} │`).join('\n├───┼───┤\n'),
  })),
  many.map((names) => ({
    names,
    text: ['size,path,ok', ...names.map((path, size) => `${size},${path},yes`)].join('\n'),
  })),
  few.map((names) => ({
    names,
    text: names.map((path) => `<file name="x">${path}</file>`).join('\n'),
  })),
];

/** Lines that name no path whole: private paths with spaces, spaces in running text, wrapped cells, diffs, binary data. */
const noise = fc.oneof(
  plainPath.map((path) => `opened /home/ann lee/${path} at last`),
  windowsPath.map((path) => `opened C:\\Users\\Ann Lee\\${path} at last`),
  spacedPath.map((path) => `it saved my ${path} again`),
  plainPath.map((path) => `┃ lib/deep/${'x'.repeat(9)}-tra ┃ 3 ┃\n┃ ${path} ┃   ┃`),
  plainPath.map((path) => `diff --git a/${path} b/${path}\n--- a/${path}\n+++ b/${path}`),
  plainPath.map((path) => ` .../${path} | 2 +-`),
  fc.uint8Array({ minLength: 20, maxLength: 90 }).map((b) => Buffer.from(b).toString('base64')),
  plainPath.map((path) => `打开${path}看看`),
);

const outputs: fc.Arbitrary<Output & { readonly isCut: boolean }> = fc
  .tuple(
    fc.oneof(...shapes),
    fc.array(privatePath, { maxLength: 2 }),
    fc.array(noise, { maxLength: 2 }),
    fc.constantFrom('no', 'no', 'no', 'middle', 'lines'),
    fc.double({ min: 0.1, max: 0.9, noNaN: true }),
  )
  .map(([{ text, names }, hidden, noises, cut, share]) => {
    const isText = !/^[[{]|^size,/.test(text);
    const privately = hidden.map((path) => `${path}:1: private`);
    const all = isText ? [text, ...privately, '', ...noises].join('\n') : text;
    const chars = Math.max(130, Math.floor(all.length * share));
    if (cut === 'no' || all.length <= chars) return { text: all, names, isCut: false };
    return {
      text: cut === 'middle' ? boundText(all, chars) : cutMiddle(all, chars),
      names,
      isCut: true,
    };
  });

test('in 2,000 outputs, nothing is found that an output does not name whole, and at least 95 % of what it does', () => {
  let named = 0;
  let found = 0;
  const wrong: string[] = [];
  for (const { text, names, isCut } of fc.sample(outputs, { numRuns: 2_000, seed: 13 })) {
    const { paths: got, facts } = findings(text);
    const gotPaths = got.map(({ path }) => path);
    wrong.push(
      ...gotPaths
        .filter((path) => !names.includes(path))
        .map((path) => `${path} of ${text.slice(-500)}`),
    );
    // eslint-disable-next-line no-control-regex -- colors
    const lines = text.replace(/\u001b\[\d*[mK]/g, '').split(/\r?\n/);
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
  ['what is private', '/home/ann/other/a.ts\nC:\\Users\\ann\\b.ts\nsee /home/a lee/x.ts', []],
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
  ['a value with a space', 'name: my file.txt\nsaved as my other.txt', []],
  [
    'columns with a space',
    'a.ts  b.ts  c d.ts\n-rw-r--r-- 1 ann 12 22:01 my notes.txt',
    ['a.ts', 'b.ts'],
  ],
  ['a row that is no path', '1,2,src/a b.ts\nand more', []],
  ['a folder above its files', './src\n./src/app\n./src/app/a.ts', ['./src/app/a.ts']],
  ['a line that continues in the next', 'see src/exec\nutor/a.ts and src/b.ts', ['src/b.ts']],
  ['text without spaces', '参见：src/a.ts。另见（docs/b.md）', ['src/a.ts', 'docs/b.md']],
  [
    'names that begin like words',
    'src/a.ts\nNew folder/b.md\nRead me.md\n01 Intro.md',
    ['src/a.ts'],
  ],
  ['a name in quotes that begins like words', 'open "New folder/b.md" or src/a.ts', ['src/a.ts']],
  ['a value that begins like words', '{"path":"New folder/b.md","file":"src/a.ts"}', ['src/a.ts']],
  ['a place that begins like words', 'To do/a.md:1: x\nIn progress/b.md:2: y', []],
  ['words in front of a place', 'in src/a.ts:3: x\nWrote src/b.ts', ['src/a.ts', 'src/b.ts']],
  ['counts', '  12 src/a.ts\n   3 src/b.ts\n 15 total', ['src/a.ts', 'src/b.ts']],
  ['an added line', '+src/a.ts\n-src/b.ts', []],
  ['the id of a test', 'tests/test_a.py::test_one PASSED', ['tests/test_a.py']],
  [
    'what its tool cut',
    'src/a.ts\nsrc/index.ts\n[Output truncated at 300 characters]',
    ['src/a.ts'],
  ],
  ['a hidden character', 'src/\u200ba.ts:1: x', []],
  ['addresses and bytes', 'https://h.example/a/b.ts?x=1 data:image/png;base64,iVBO/AA.ts', []],
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
  // Whatever an expression might search again from each character.
  for (const piece of [' ', 'x', '!', '«', '::', '|', '(', '\\"'])
    expect(paths(`${piece.repeat(100_000)}\nsrc/a.ts:1: x`)).toEqual(['src/a.ts']);
});

test('a string of JSON that never ends is read once, and not again from each of its quotes', () => {
  const beganMs = performance.now();
  for (const end of ['', '\\', '\n"path":"src/a.ts"'])
    expect(paths(`["${'\\"'.repeat(130_000)}${end}`)).toEqual(
      end.endsWith('"') ? ['src/a.ts'] : [],
    );
  expect(performance.now() - beganMs).toBeLessThan(3_000);
});

test.each([
  ['lines', '\n'],
  ['words', ' '],
  ['a string of JSON', '","'],
])('where reading ends at its limit, in %s, no part of a path is found', (_what, between) => {
  const name = (at: number): string => `src/limit/file${at}.tsx`;
  for (const limit of [16_000, 262_144])
    for (const shift of [-2, -1, 0, 1, 2, 5, 9]) {
      const names = Array.from({ length: 40 }, (_each, at) => name(at));
      const middle = names.join(between);
      const filler = 'x'.repeat(limit - Math.floor(middle.length / 2) + shift);
      const text = between === '","' ? JSON.stringify([filler, ...names]) : `${filler} ${middle}`;
      const found = paths(between === '\n' ? text.replace(' ', '\n') : text);
      expect(found.filter((path) => !names.includes(path))).toEqual([]);
      expect(found.length).toBeGreaterThan(between === ' ' ? 0 : 15);
    }
});

test('facts are whole lines', () => {
  expect(findings(`${'x'.repeat(500)}\nPort 8080 is taken.`).facts).toEqual([
    'Port 8080 is taken.',
  ]);
  expect(findings(`a\nsee src/a.ts:1\n${'y'.repeat(200)} src/b.ts`).facts).toEqual([
    'see src/a.ts:1',
  ]);
  expect(findings('Port 8080 i[… 12 characters left out …]').facts).toEqual([]);
  expect(findings('see /home/ann/My Drive/a.ts\nis done').facts).toEqual(['is done']);
  expect(findings('src/a.ts:1: …middle of a long li…\nis done').facts).toEqual(['is done']);
  expect(findings(`see ${root}/src/a.ts`).facts).toEqual(['see src/a.ts']);
});
