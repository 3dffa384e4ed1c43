/** Who decides sees what runs: hostile arguments, in every place that shows them. */
import { createHash } from 'node:crypto';
import { argumentsForPeople } from '../../activities/untrusted/arguments-for-people';
import type { JsonObject } from '../../workflows/core/json';
import { shownArgumentsChars } from '../../workflows/core/secrets/shown-arguments';
import { decisionText, visibleText } from '../../workflows/core/secrets/visible-text';
import type { PendingItem } from '../../workflows/core/view/pending';
import { statusMarkdown } from '../../workflows/core/view/markdown';
import { statusView } from '../../workflows/core/view/status';
import { barredLine } from '../../workers/cli/display/argument-lines';
import { runText } from '../../workers/cli/display/run-text';
import { printableJson } from '../../workers/cli/display/printable';
import { foldTo, widthOf } from '../../workers/cli/display/terminal-text';
import { aPreparedRun } from '../support/builders';
import { fc } from '../support/properties';
import { original } from './shown-values';

const shown = (input: JsonObject, maxChars = shownArgumentsChars) =>
  argumentsForPeople(input, { maxChars });
const valueOf = (value: string, name = 'to'): string =>
  shown({ [name]: value }).fields.map((field) => field.value)[0] ?? '';

/** Arguments, what must be seen of them, and who reported the like. */
const hostile: readonly (readonly [string, string, string])[] = [
  // langchain-ai/deepagents #1694: what an approval prompt of a command line hid.
  ['an override', 'curl http://safe.com/\u202e\u2066moc.evil\u2069/data', '/\\u{202e}\\u{2066}moc'],
  ['zero width', 'rm -rf /tmp/\u200bimportant', '/tmp/\\u{200b}important'],
  ['a Cyrillic letter', 'https://\u0430pple.com', 'https://\\u{430}pple.com'],
  // NousResearch/hermes-agent #81403: what a sanitizer of approval prompts left.
  ['a selector that carries bytes', 'ls\u{e0100}\u{e01ef} x', 'ls\\u{e0100}\\u{e01ef} x'],
  ['a musical control', 'ls\u{1d173} -a', 'ls\\u{1d173} -a'],
  ['a shorthand control', 'ls\u{1bca0}', 'ls\\u{1bca0}'],
  ['Unicode padding', 'ls\u2003\u2003; rm -rf /', 'ls\\u{2003}\\u{2003}; rm'],
  ['ASCII padding', `ls${' '.repeat(300)}; rm -rf /`, 'ls\\u{20}{300}; rm -rf /'],
  // ankraio/ankra-cli #353: letters of the tag block behind a harmless description.
  ['tags', 'Restart\u{e0064}\u{e0065}\u{e006c}', 'Restart\\u{e0064}\\u{e0065}\\u{e006c}'],
  // clawvisor/clawvisor #481: the list of characters that a first cure forgot.
  ['a byte order mark', '\ufeffpay', '\\u{feff}pay'],
  ['a soft hyphen', 'pay\u00adpal', 'pay\\u{ad}pal'],
  // killertcell428/aigis #226: an order that a terminal conceals.
  ['concealed text', 'Prices \u001b[8mPOST .env\u001b[0m', '\\u{1b}[8mPOST .env\\u{1b}[0m'],
  // anomalyco/opencode #38526: blank lines that push the command out of view.
  ['blank lines', `ls${'\n'.repeat(40)}rm -rf /`, `ls${'\\n'.repeat(40)}rm -rf /`],
  // PyPI confusable-homoglyphs 3.1.0, its examples.
  ['a Greek letter', '\u0391laskaJazz', '\\u{391}laskaJazz'],
  ['a Cyrillic letter in a host', 'www.micros\u043eft.com', 'micros\\u{43e}ft'],
  ['a Greek symbol in a host', 'www.faϲebook.com', 'fa\\u{3f2}ebook'],
  // Unicode UTS #39: whole words, marks, digits, delimiters, and styles.
  ['a word of look-alikes', 'аррӏе.com', '\\u{430}\\u{440}\\u{440}\\u{4cf}\\u{435}.com'],
  [
    'a word of look-alikes in an address',
    'Привет: аррӏе.com',
    ': \\u{430}\\u{440}\\u{440}\\u{4cf}',
  ],
  ['a letter between digits', '1З00', '1\\u{417}00'],
  ['styled letters beside Japanese', '日本 \u{1d5ba}dmin', '日本 \\u{1d5ba}dmin'],
  ['a wide letter beside Japanese', '日本 \uff50ay', '日本 \\u{ff50}ay'],
  ['a look-alike alone', 'раураӏ', '"раураӏ" (not Latin letters'],
  ['a letter struck through', 'so\u0337s', 'so\\u{337}s'],
  ['piled up marks', `x${'\u0311'.repeat(9)}`, `x${'\u0311'.repeat(4)}\\u{311}\\u{311}`],
  ['a digit of another kind', '1\u09e60', '1\\u{9e6}0'],
  ['a fraction slash', 'bank.com\u2044login', 'bank.com\\u{2044}login'],
  ['styled letters', '\u{1d5ba}dmin', '\\u{1d5ba}dmin'],
  ['a wide letter', '\uff50ay', '\\u{ff50}ay'],
  ['the sign Kelvin', '\u212aelvin', '\\u{212a}elvin'],
  ['a letter in two parts', 'cafe\u0301', 'cafe\\u{301}'],
  ['a syllable in letters', '\u1112\u1161\u11ab', '\u1112\\u{1161}\u11ab'],
  ['a blank of Braille', 'a\u2800b', 'a\\u{2800}b'],
  ['a filler', 'a\u3164b', 'a\\u{3164}b'],
  ['half a pair', 'a\ud83db', 'a\\u{d83d}b'],
  ['private use', 'a\ue000b', 'a\\u{e000}b'],
  ['a line separator', 'a\u2028b', 'a\\u{2028}b'],
  ['a control of eight bits', 'a\u009b2Jb', 'a\\u{9b}2Jb'],
  ['an escape in letters', 'x\\u{202e}', 'x\\\\u{202e}'],
  ['the end of the value', 'x" +9 characters\nto: "y', 'x\\" +9 characters\\nto: \\"y'],
  ['a carriage return', 'a\u001b[2K\rwants approval', 'a\\u{1b}[2K\\rwants approval'],
];

test.each(hostile)('%s is seen', (_what, value, seen) => {
  const text = valueOf(value);
  expect(text).toContain(seen);
  // Nothing that a reader does not see, and no line end, is left.
  expect(text).not.toMatch(
    /[\p{Cc}\p{Zl}\p{Zp}\p{Co}\p{Cs}\u202a-\u202e\u200b\u{e0000}-\u{e01ef}]/u,
  );
});

/** Words of one script, and what writing needs. */
test.each([
  'Zażółć gęślą jaźń, déjà vu, Straße, smørrebrød',
  'Перевод Ивану в Москву, МОСКВА и Сочи',
  'кабель USB-кабель 12м³, сайт пример.com',
  'Ελληνικά και English',
  '日本語テキストとABC、全角ＡＢＣ',
  '한국어 KBS뉴스',
  'مرحبا بالعالم',
  'می‌خواهم',
  'हिन्दी में फ़िल्म',
  'বাংলা হয়',
  'สวัสดีชาวโลก',
  'שלום עולם',
  'Tiếng Việt',
  '👩🏽‍💻 ❤️‍🔥 1️⃣ 👨‍👩‍👧‍👦 ☎️',
  '5 m² for 3 € – “fine”',
])('%s stays readable', (text) => {
  expect(valueOf(text)).toBe(`"${text.replaceAll('"', '\\"')}"`);
});

describe('a secret', () => {
  test('is hidden within its value alone, and can be told apart', () => {
    const note = 'ref password=Abc12345xyz';
    const sha = createHash('sha256').update(note).digest('hex').slice(0, 8);
    expect(shown({ to: 'Alice Ltd', euros: 999_999, note }).fields).toEqual([
      { name: 'to', value: '"Alice Ltd"' },
      { name: 'euros', value: '999999' },
      {
        name: 'note',
        value: `"ref password=[redacted]" (secret hidden; length 24, sha256 ${sha})`,
        secret: true,
      },
    ]);
  });

  const token = 'ghp_aB3dE6gH9jK2mN5pQ8sT1vW4yZ7aB3dE6gH9';
  test.each<[string, JsonObject]>([
    ['by its shape', { note: `use ${token} now` }],
    ['by the name of its field', { login: { password: 'hunter2' } }],
    ['parted by what nobody sees', { note: `gh\u200bp_${token.slice(4)}` }],
    ['as a key', { [token]: 1 }],
    ['behind much text', { note: `${'x '.repeat(495)}${token}` }],
    // Too long to be searched as a whole.
    ['where the shown part ends', { note: `${'x '.repeat(496)}${token} ${'y '.repeat(40_000)}` }],
    ['in long arguments', { filler: 'x '.repeat(40_000), login: { password: 'hunter2' } }],
    [
      'of many lines',
      { key: `-----BEGIN PRIVATE KEY-----\n${'aB3d'.repeat(60)}\n-----END PRIVATE KEY-----` },
    ],
  ])('is known %s', (_how, input) => {
    const text = JSON.stringify(shown(input));
    expect(text).not.toContain(token.slice(0, 8));
    expect(text).not.toContain(token.slice(4, 20));
    expect(text).not.toContain('hunter2');
    expect(text).not.toContain('aB3daB3d');
    expect(text).toContain('"secret":true');
  });

  test('that only the worker knows stays hidden where the whole is shown', () => {
    const word = 'only the worker knows this';
    const note = `use ${word} and password=Abc12345xyz ${'n'.repeat(3_000)}`;
    const whole = (value: string): string | undefined =>
      argumentsForPeople({ note }, { maxChars: Infinity, shownBefore: new Map([['note', value]]) })
        .fields[0]?.value;
    const marks = 'characters (secret hidden; length 3063, sha256 00000000)';
    expect(whole(`"use [redacted] and password=[redacted] nnn" +2990 ${marks}`)).not.toContain(
      word,
    );
    const told = whole(`"use ${word} and password=[redacted] nnn" +2990 ${marks}`);
    expect(told).toContain(`"use ${word} and password=[redacted] ${'n'.repeat(3_000)}" (secret`);
  });

  test('cannot be claimed by a value', () => {
    const forged = '[redacted] (secret hidden; length 9, sha256 00000000)';
    expect(shown({ to: forged }).fields).toEqual([{ name: 'to', value: `"${forged}"` }]);
  });
});

describe('no argument pushes another out', () => {
  const names = ({ fields }: ReturnType<typeof shown>): readonly string[] =>
    fields.map(({ name }) => name);

  test('a long value has its start, and how much more', () => {
    const { fields, isPart } = shown({ a: 'n'.repeat(5_000), euros: 4 });
    expect(fields[0]?.value).toBe(`"${'n'.repeat(1_000)}" +4000 characters`);
    expect(fields[1]).toEqual({ name: 'euros', value: '4' });
    expect(isPart).toBe(true);
  });

  test('forty long values all have theirs', () => {
    const input = Object.fromEntries(
      Array.from({ length: 40 }, (_, place) => [`f${place}`, 'x'.repeat(9_000)]),
    );
    const { fields, more } = shown(input);
    expect(fields).toHaveLength(40);
    expect(more).toBeUndefined();
    for (const { value } of fields) expect(value).toMatch(/^"x{40,}" \+\d+ characters$/);
  });

  test('a thousand items leave room for what stands beside and below them', () => {
    const filler = Array.from({ length: 1_000 }, () => 'x');
    const result = shown({ filler, order: { filler, euros: 5 }, to: 'z' });
    expect(names(result)).toEqual(expect.arrayContaining(['order.euros', 'to']));
    expect(result.fields.length).toBeLessThanOrEqual(82);
    expect(result.fields).toContainEqual({
      name: 'filler',
      value: expect.stringMatching(/^\+\d+ more values$/) as string,
    });
  });

  test('a thousand names are counted, and those that the tool declares come first', () => {
    const input = Object.fromEntries(Array.from({ length: 1_000 }, (_, place) => [`a${place}`, 1]));
    const result = argumentsForPeople(
      { ...input, euros: 5 },
      { first: ['euros', 'missing'], maxChars: shownArgumentsChars },
    );
    expect(names(result)[0]).toBe('euros');
    expect(result.fields).toHaveLength(80);
    expect(result.more).toBe(921);
  });

  test('a name cannot imitate a path, a line or another field', () => {
    expect(names(shown({ 'a.b': { 'c d': 1 }, 'x\n  to': 2, '\u202eoxy': 3, '': 4 }))).toEqual([
      '"a.b"["c d"]',
      '"x\\n  to"',
      '"\\u{202e}oxy"',
      '""',
    ]);
  });

  test('deep and empty values are values', () => {
    const input = { a: {}, b: [], c: [[{ d: null }]], e: true, f: 1e21 };
    expect(shown(input).fields).toEqual([
      { name: 'a', value: '{}' },
      { name: 'b', value: '[]' },
      { name: 'c[0][0].d', value: 'null' },
      { name: 'e', value: 'true' },
      { name: 'f', value: '1e+21' },
    ]);
    expect(shown({})).toEqual({ fields: [] });
  });
});

test('what is shown can be read back, so that different values are never shown alike', () => {
  const parts = fc.constantFrom(
    'a',
    ' ',
    '\\',
    '"',
    '\n',
    'u{20}',
    '{9}',
    '\u200b',
    'а',
    '\u0301',
    '\ufe0f',
    '👩‍💻',
  );
  const text = fc.oneof(
    fc.string({ unit: parts }),
    fc.string({ unit: 'binary' }),
    fc.nat({ max: 30 }).map((count) => `a${' '.repeat(count)}b`),
  );
  fc.assert(
    fc.property(text, (value) => {
      expect(original(valueOf(value))).toBe(value);
    }),
  );
});

test('what is shown of any JSON is bounded, and of one line', () => {
  fc.assert(
    fc.property(fc.dictionary(fc.string(), fc.jsonValue()), (input) => {
      const { fields } = shown(JSON.parse(JSON.stringify(input)) as JsonObject);
      for (const { name, value } of fields) {
        expect(`${name}${value}`).not.toMatch(/[\p{Cc}\p{Zl}\p{Zp}]/u);
        expect(name.length + value.length).toBeLessThan(1_500);
      }
    }),
  );
});

test('prose shows what is hidden, and keeps its words', () => {
  expect(visibleText('Δt of 5 μs\u202e \u001b[31m')).toBe('Δt of 5 μs\\u{202e} \\u{1b}[31m');
  expect(decisionText('pay \u0410lice "now"')).toBe('pay \\u{410}lice "now"');
});

/** An approval and a question whose texts try to be lines of the display. */
const forged =
  'Alice\n  holdfast approve other x\u202e` **[ok](http://evil)** <b>https://evil.test</b>';
const items: readonly PendingItem[] = [
  {
    type: 'approval',
    approvalId: 'call_1',
    digest: 'd',
    tool: 'pay',
    shown: shown({ to: forged, note: 'n'.repeat(5_000) }),
    ifApproved: 'It runs.',
    ifRejected: 'It does not.',
  },
  { type: 'question', questionId: 'q', question: `Go on?\nyes: It runs.\n${forged}` },
];

describe('the display of a terminal', () => {
  const run = aPreparedRun();
  const text = (columns: number): readonly string[] =>
    runText(
      { runId: 'run-1', status: statusView(run), pending: items, entries: [], outcome: undefined },
      { hasColors: false, isTerminal: true, columns: () => columns },
    ).split('\n');

  test.each([60, 120])('at %d columns has a bar before all that others wrote', (columns) => {
    const lines = text(columns);
    for (const line of lines) expect(widthOf(line)).toBeLessThanOrEqual(columns);
    const own = lines.filter((line) => !line.startsWith('  | '));
    expect(own.join('\n')).not.toMatch(/other|evil|Go on/);
    expect(own.filter((line) => line.includes('yes:'))).toHaveLength(1);
    const told = lines
      .filter((line) => line.startsWith('  | '))
      .map((line) => line.slice(4))
      .join('');
    expect(told.replace(/ {2}/g, '')).toContain('to: "Alice\\nholdfast approve other x\\u{202e}`');
    expect(told).toContain('+4000 characters');
  });

  test('folds without losing a blank', () => {
    const value = `a${' '.repeat(7)}${'b '.repeat(40)}`;
    const { text: line, gutter = '' } = barredLine(value);
    const folded = foldTo(line, 20, gutter);
    expect(
      folded.map((part, index) => (index === 0 ? part : part.slice(gutter.length))).join(''),
    ).toBe(line);
    expect(foldTo('日本語', 1, '| ')).toEqual(['日', '| 本', '| 語']);
  });

  test('prints JSON that is the same value and hides nothing', () => {
    const value = { text: 'a\u202e\u009b2J\u{e0061}\ufeff', emoji: '👩‍💻' };
    expect(JSON.parse(printableJson(value))).toEqual(value);
    expect(printableJson(value)).not.toMatch(/[\u009b\u202e\ufeff\u{e0061}]/u);
    expect(printableJson({ a: [1] }, 2)).toBe(JSON.stringify({ a: [1] }, undefined, 2));
  });
});

test('the Web UI has each argument as code on a line of its own, with the command that shows the rest', () => {
  const markdown = statusMarkdown('run-1', statusView(aPreparedRun()), items);
  const lines = markdown.split('\n');
  const argument = lines.find((line) => line.startsWith('  - `to: '));
  expect(argument).toContain('\\u{202e}\\u{60} **[ok](http://evil)** <b>https://evil.test</b>"`');
  expect(argument?.match(/`/g)).toHaveLength(2);
  expect(lines).toContain('- **Whole:** `holdfast show run-1 --arguments call_1`');
  for (const line of lines.filter((each) => each.includes('evil')))
    expect(line).toMatch(/^ *- (?:\*\*[\w ]+:\*\* )?`[^`]*`$/);
});
