/** Paths in texts, form by form: what encloses them, what comes before and after, and what is none (ADR 0033). */
import { linesToRead, namedPaths, readChars } from '../../activities/tool-call/named-paths';

const paths = (text: string): readonly string[] => namedPaths(text).map(({ path }) => path);

test.each([
  ...['a.ts', 'src/a.ts', './a.ts', '../a.ts', '/srv/a.ts', '.env', 'src/.env.local'],
  ...['a.b.c', 'a-b_c@1.2/x.y', 'größe/文.md', '[id]/page.tsx', '(group)/x.ts', 'a.verylongx'],
])('%s is a path', (path) => {
  expect(paths(path)).toEqual([path]);
});

test.each([
  ...[
    '',
    'word',
    'src',
    '.',
    '..',
    'a.',
    'a.1',
    'a.ts.',
    '1.2.3',
    'v1.2',
    'v2.x',
    'e.g',
    'i.e',
  ].map((text) => [text]),
  ...['src//a.ts', 'src/', '...a.ts', 'a.toolongext1', 'a?.ts', 'a*.ts', 'a|b.ts', 'a<b.ts'].map(
    (text) => [text],
  ),
  ...['(a.ts', 'src/{a.ts', 'rm -rf a.ts', 'npm run --x a.ts', 'etc', 'p.m', 'a….ts'].map(
    (text) => [text],
  ),
  [`${'d'.repeat(121)}/a.ts`],
  [`${'d/'.repeat(98)}aaa.ts`],
])('%s names no path as a whole', (text) => {
  expect(paths(text)).not.toContain(text);
});

test('a path has at most 200 characters, and each part 120', () => {
  const longest = `${'d/'.repeat(97)}aaa.ts`;
  expect(longest).toHaveLength(200);
  const part = `${'d'.repeat(120)}/a.ts`;
  expect([paths(longest), paths(part)]).toEqual([[longest], [part]]);
});

test.each<[string, readonly string[]]>([
  ['"src/a.ts"', ['src/a.ts']],
  ["'src/a.ts'", ['src/a.ts']],
  ['`src/a.ts`', ['src/a.ts']],
  ['“src/a.ts”', ['src/a.ts']],
  ['«src/a.ts»', ['src/a.ts']],
  ['<b>src/a.ts</b>', ['src/a.ts']],
  ['[it](src/a.ts)', ['src/a.ts']],
  ['(src/a.ts)', ['src/a.ts']],
  ['[src/a.ts]', ['src/a.ts']],
  ['{src/a.ts}', ['src/a.ts']],
  ['**src/a.ts**', ['src/a.ts']],
  ['--file=src/a.ts', ['src/a.ts']],
  ['with file=src/a.ts', ['src/a.ts']],
  ['src/a.ts:12', ['src/a.ts']],
  ['src/a.ts:12:5', ['src/a.ts']],
  ['src/a.ts#L12', ['src/a.ts']],
  ['src/a.ts(12)', ['src/a.ts']],
  ['src/a.ts(12,5)', ['src/a.ts']],
  ['src/a.ts::test', ['src/a.ts']],
  ['src/a.ts, src/b.ts; src/c.ts.', ['src/a.ts', 'src/b.ts', 'src/c.ts']],
  ['- src/a.ts', ['src/a.ts']],
  ['* src/a.ts', ['src/a.ts']],
  ['• src/a.ts', ['src/a.ts']],
  ['1. src/a.ts', ['src/a.ts']],
  ['2) src/a.ts', ['src/a.ts']],
  ['├── src/a.ts', ['src/a.ts']],
  ['│   └── a.ts', ['a.ts']],
  ['src/a.ts: error', ['src/a.ts']],
  ['src/Makefile:3: all', ['src/Makefile']],
  ['src/Make file:3: all', []],
  ['a.ts\tb.ts', ['a.ts', 'b.ts']],
  ['a.ts  b.ts', ['a.ts', 'b.ts']],
  ['a.ts | b.ts', ['a.ts', 'b.ts']],
  ['diff --git a/x.ts b/x.ts', []],
  ['--- a/x.ts', []],
  ['+++ b/x.ts', []],
  ['+src/a.ts', []],
  ['see https://h.example/a.ts', []],
  ['so src/a.ts:12:5 now', []],
  ['so (src/a.ts:12) now', ['src/a.ts']],
  ['so (src/a.ts:12:5) now', ['src/a.ts']],
  ['so in src/a.ts#L12 now', ['src/a.ts']],
  ['so in src/a.ts(12,5) now', ['src/a.ts']],
  ['so in tests/a.py::test_one now', ['tests/a.py']],
  ['so in src/a.ts:x now', []],
  ['so in src/a.ts:12x now', []],
  ['so in **src/a.ts** now', ['src/a.ts']],
  ['so in src/a.ts) now', ['src/a.ts']],
  ['so in (src/a.ts now', ['src/a.ts']],
  ['so in src/f(x).ts now', ['src/f(x).ts']],
  ['so in src/[id].ts now', ['src/[id].ts']],
  ['so -f=src/a.ts now', ['src/a.ts']],
  ['so --f=src/a.ts now', ['src/a.ts']],
  ['so in src/a=b.ts now', ['src/a=b.ts']],
  ['so in src/a.ts... now', []],
  ['so in src/a.ts.. now', []],
  ['so in src/a..b.ts now', ['src/a..b.ts']],
  ['so in src/a.ts,src/b.ts now', ['src/a.ts', 'src/b.ts']],
  ['so in src/a.ts,b now', []],
  [`so in "${'x'.repeat(400)}.ts now`, []],
  ['  src/a.ts  ', ['src/a.ts']],
  ['a.ts |  | b.ts', ['a.ts', 'b.ts']],
  ['src/a.ts, src/b.ts and', ['src/a.ts', 'src/b.ts']],
  ['src/a.ts,src/b c.ts', []],
  ['size,path\n  \n1,a.ts', ['a.ts']],
  ['x{"a": "b c.ts"}', ['b c.ts']],
  // Spaces belong to a path where the places beside it show that, or its folder does.
  ['src/a.ts\nsrc/b.ts\nmy notes.txt', ['src/a.ts', 'src/b.ts', 'my notes.txt']],
  ['src/a.ts\nmy notes.txt', ['src/a.ts', 'my notes.txt']],
  ['my notes.txt\nold stuff.txt\nsrc/a.ts', ['src/a.ts']],
  ['src/my notes.txt\nlib/my other.txt', ['src/my notes.txt', 'lib/my other.txt']],
  ['my src/notes.txt\nmy lib/other.txt', []],
  ['src/my lib/notes.txt\nlib/a b/c d.txt', []],
  ['open "my notes.txt" now\nand "old notes.txt" there', ['my notes.txt', 'old notes.txt']],
  // What a line ends with may be the beginning of what the next one begins with.
  ['now src/exec\nutor/a.ts:1: x', ['utor/a.ts']],
  ['now src/exec\nutor/a.ts', []],
  ['now src/exec\n\nutor/a.ts', ['utor/a.ts']],
  ['now exec\nutor/a.ts', ['utor/a.ts']],
  ['now src/exec\nsrc/a.ts', ['src/a.ts']],
  ['now src/exec.\nutor/a.ts', ['utor/a.ts']],
  ['it is in src/exec.ts now\nutor/a.ts', ['utor/a.ts', 'src/exec.ts']],
  ['| src/exec | x |\n| utor/a.ts | y |', []],
  ['| src/exec | x |\n| b | utor/a.ts |', ['utor/a.ts']],
])('in %j, the paths are %j', (text, expected) => {
  expect(paths(text)).toEqual(expected);
});

const before = [
  ...['loaded', 'Compiling', 'linted', 'running', 'processing', 'generated', 'reading', 'writing'],
  ...['emitted', 'opened', 'wrote', 'written', 'created', 'updating', 'modified', 'changed'],
  ...['deleted', 'removed', 'added', 'renamed', 'saved', 'found', 'fixed', 'edited', 'copied'],
  ...['moved', 'checked', 'failed', 'passed', 'skipped', '->', 'in', 'at', 'of', 'to', 'from'],
  ...['e.g.', 'imports', 'requires', 'M', 'AM', '12', '3.5s', 'done:', 'this,', '"x"', 'b.ts'],
  ...['the', 'file', 'files', 'error', 'new', 'x=', 'end;', 'what?', 'now!'],
];
test.each(before)('a path may follow %s', (word) => {
  expect(paths(`so ${word} src/a.ts for it`)).toContain('src/a.ts');
});

test.each(['my', 'Meeting', 'IN', 'unsaved', 'final', 'MADRX', 'Test-2b'])(
  '%s may begin the path that seems to follow',
  (word) => {
    expect(paths(`so ${word} src/a.ts for it`)).toEqual([]);
  },
);

test.each<[string, readonly string[]]>([
  ['{"path": "src/Makefile", "text": "src/Makefile"}', ['src/Makefile']],
  ['{"file_name": "my notes.txt"}', ['my notes.txt']],
  ['{"text": "see src/a.ts now"}', ['src/a.ts']],
  ['{"src/key.ts": 1, "dir": "src/a"}', ['src/a']],
  ['["src/a.ts", {"uri": "src/b"}]', ['src/a.ts', 'src/b']],
  ['[[1, "a.ts"]]', ['a.ts']],
  ['{"path": "a\\u002ets"}', ['a.ts']],
  ['{"path": "a\\x.ts"}', []],
  ['{"a": "src/a.ts', []],
])('in the JSON %s, the paths are %j', (text, expected) => {
  expect(paths(text)).toEqual(expected);
});

test('the most certain come first, each once, with its line', () => {
  expect(namedPaths('see a.ts and src/b.ts now\nsrc/c.ts\nin src/b.ts')).toEqual([
    { path: 'src/c.ts', line: 2 },
    { path: 'src/b.ts', line: 1 },
    { path: 'a.ts', line: 1 },
  ]);
  expect(paths('docs/my notes.txt:1: x\nin notes.txt')).toEqual(['docs/my notes.txt']);
});

test('rows of commas are cells if all lines have as many', () => {
  expect(paths('size,path\n1,a.ts\n\n2,b c.ts')).toEqual(['a.ts', 'b c.ts']);
  expect(paths('size,path\n1,a.ts,x')).toEqual([]);
  expect(paths('size\na.ts')).toEqual(['a.ts']);
});

describe('what is cut', () => {
  const beyond = 'word '.repeat(1_000);

  test('begins at a limit: the last line, or the last word of one line, is not read', () => {
    const filler = (chars: number): string => 'so '.repeat(Math.ceil(chars / 3)).slice(-chars);
    const end = (text: string): string => filler(readChars - text.length) + text;
    expect(paths(`${end('\nsrc/a.ts\nin ')}src/b.ts${beyond}`)).toEqual(['src/a.ts']);
    expect(paths(`${end('\nsrc/a.ts\nsrc/b.ts')}x${beyond}`)).toEqual(['src/a.ts']);
    expect(paths(`${end(' in src/a.ts in src/b.ts')}x${beyond}`)).toEqual(['src/a.ts']);
    expect(paths(`\nsrc/a.ts ${filler(readChars)}`)).toEqual(['src/a.ts']);
    expect(paths(`${filler(readChars)}\nsrc/a.ts`)).toEqual([]);
    expect(paths(end('\nsrc/a.ts'))).toEqual(['src/a.ts']);
  });

  test.each([
    '… 12 more lines …',
    '[… 5 left out]',
    '...',
    '5 characters left out',
    '[Output truncated]',
  ])('is said by %s: neither the word before nor the line after is whole', (note) => {
    const read = linesToRead(`src/a.ts src/b.t\n${note}\ns/c.ts\nsrc/d.ts`);
    expect(read).toEqual([
      { text: 'src/a.ts \u0000', line: 1 },
      { text: 'src/d.ts', line: 4 },
    ]);
  });

  test.each(['../a.ts', '.../a', 'nothing was omitted here'])('is not said by %s', (text) => {
    expect(linesToRead(`a\r\n${text}\rb`)).toEqual([
      { text: 'a', line: 1 },
      { text, line: 2 },
      { text: 'b', line: 3 },
    ]);
  });
});
