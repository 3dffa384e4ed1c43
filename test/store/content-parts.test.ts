/** The parts that content is made of: canonical JSON and its names, manifests, messages, records, and what was just written. */
import {
  canonicalJson,
  contentHash,
  isContentHash,
  maxJsonDepth,
} from '../../activities/stores/content-hash';
import {
  chunkBytes,
  cutBlob,
  manifestText,
  parseManifest,
} from '../../activities/stores/content/blob-manifest';
import { parseMessages } from '../../activities/stores/content/message-shape';
import { RecentBlobs } from '../../activities/stores/content/recent-blobs';
import { childrenFirst, inBatches, runKeysOf, tally } from '../../activities/stores/content/sweep';
import { byStart, outcomeSum, toolRecord } from '../../activities/stores/content/tool-records';
import type { AgedRow } from '../../activities/stores/sql/garbage-rows';

const hash = contentHash('x');

describe('canonical JSON', () => {
  test('has sorted keys, and none without a value', () => {
    expect(canonicalJson({ b: [1, 'x', null, true], a: { d: 1, c: undefined } })).toBe(
      '{"a":{"d":1},"b":[1,"x",null,true]}',
    );
    expect(canonicalJson({ ä: 1, b: 1, B: 1, 10: 1, 9: 1 })).toBe(
      '{"10":1,"9":1,"B":1,"b":1,"ä":1}',
    );
  });

  test.each([
    ['undefined', undefined],
    ['a bigint', 1n],
    ['a number that JSON lacks', Number.POSITIVE_INFINITY],
    ['an undefined in a list', [undefined]],
    ['a date', new Date(0)],
    ['an object with toJSON', { toJSON: () => 1 }],
  ])('refuses %s', (_what, value) => {
    expect(() => canonicalJson(value)).toThrow(TypeError);
  });

  test.each([
    ['lists', (inner: unknown) => [inner]],
    ['objects', (inner: unknown) => ({ a: inner })],
  ])('has a bound of levels, of %s', (_what, wrap) => {
    let value: unknown = 'x';
    for (let depth = 0; depth < maxJsonDepth; depth += 1) value = wrap(value);
    expect(canonicalJson(value)).toContain('"x"');
    expect(() => canonicalJson(wrap(value))).toThrow(RangeError);
  });
});

test('a name is 43 characters of base64url, and the same for the parts of a text', () => {
  expect(isContentHash(hash)).toBe(true);
  for (const text of ['', hash.slice(1), `${hash}x`, `${hash.slice(1)}=`, `${hash}\n`])
    expect(isContentHash(text)).toBe(false);
  expect(contentHash('a', 'bc')).toBe(contentHash('abc'));
  expect(contentHash(Buffer.from('abc'))).toBe(contentHash('abc'));
  expect(contentHash()).toBe(contentHash(''));
});

describe('a manifest', () => {
  const named = (text: string) => parseManifest(contentHash(text), text);

  test('says the size and the chunks of a blob', () => {
    for (const totalBytes of [0, 1, chunkBytes, chunkBytes + 1]) {
      const pieces = [...cutBlob(Buffer.alloc(totalBytes))];
      const chunkHashes = pieces.map((piece) => contentHash(piece));
      expect(pieces.every(({ length }) => length <= chunkBytes)).toBe(true);
      const manifest = { totalBytes, chunkHashes };
      expect(named(manifestText(manifest))).toEqual(manifest);
    }
  });

  test.each([
    ['of another name', () => parseManifest(hash, 'blob 0')],
    ['without a size', () => named('blob ')],
    ['with words before the size', () => named('a blob 0')],
    ['with words behind the size', () => named('blob 0 bytes')],
    ['of too large a size', () => named(`blob ${'0'.repeat(16)}`)],
    ['of too many chunks', () => named(`blob 1\n${hash}\n${hash}`)],
    ['of too few', () => named(`blob ${chunkBytes + 1}\n${hash}`)],
    ['with a chunk that is none', () => named(`blob ${chunkBytes + 1}\n${hash}\nx`)],
  ])('%s is none', (_what, parsed) => {
    expect(parsed()).toBeUndefined();
  });
});

test.each<[string, unknown]>([
  ['no role', { blocks: [] }],
  ['a person without blocks', { role: 'user' }],
  [
    'a person with a block of the model',
    { role: 'user', blocks: [{ type: 'refusal', text: 'x' }] },
  ],
  ['a summary that is no text', { role: 'user', blocks: [], summary: 1 }],
  ['refs that are none', { role: 'user', blocks: [], refs: [1] }],
  ['a text without words', { role: 'user', blocks: [{ type: 'text' }] }],
  [
    'an image of another kind',
    {
      role: 'user',
      blocks: [{ type: 'image', mediaType: 'image/bmp', ref: hash, bytes: 1, width: 1, height: 1 }],
    },
  ],
  ['a document without pages', { role: 'user', blocks: [{ type: 'file', ref: hash, bytes: 1 }] }],
  ['a model without a name', { role: 'assistant', vendor: 'v', blocks: [] }],
  [
    'a call without an input',
    {
      role: 'assistant',
      vendor: 'v',
      model: 'm',
      blocks: [{ type: 'tool-call', toolCallId: 'c', name: 't' }],
    },
  ],
  ['results that are none', { role: 'tool', results: [{ type: 'tool-result' }] }],
])('a message with %s is none', (_what, message) => {
  expect(parseMessages(JSON.stringify([message]))).toBeUndefined();
});

test('messages of every kind are read back', () => {
  const image = {
    ...{ type: 'image', mediaType: 'image/png', ref: hash, bytes: 1, width: 1, height: 1 },
    ...{ name: 'a.png', removed: true },
  };
  const file = { type: 'file', mediaType: 'application/pdf', ref: hash, bytes: 1, pages: 1 };
  const result = { type: 'tool-result', toolCallId: 'c', name: 't', content: 'x', isError: true };
  const messages = [
    {
      role: 'user',
      blocks: [{ type: 'text', text: 'x' }, image, file],
      summary: 's',
      refs: [hash],
    },
    {
      role: 'assistant',
      vendor: 'v',
      model: 'm',
      blocks: [
        { type: 'text', text: 'x' },
        { type: 'refusal', text: 'x' },
        { type: 'reasoning', vendor: 'v', text: 'x', opaque: { a: 1 } },
        { type: 'vendor-block', vendor: 'v', content: { a: 1 } },
        { type: 'tool-call', toolCallId: 'c', name: 't', input: { a: 1 } },
      ],
    },
    { role: 'tool', results: [result, { ...result, blob: hash, media: [image, file] }] },
  ];
  expect(parseMessages(JSON.stringify(messages))).toEqual(messages);
  expect(parseMessages('[')).toBeUndefined();
});

describe('the row of a tool execution', () => {
  const intent = { key: 'run/1', tool: 'pay', inputDigest: 'd', startedAtMs: 7 };
  const text = canonicalJson(intent);
  const row = {
    ...{ intent: text, intentSum: contentHash(text), phase: 'begun' },
    ...{ outcome: undefined, outcomeSum: undefined },
  };
  const outcome = '{"paid":1}';

  test('says how far it is', () => {
    expect(toolRecord('run/1', undefined)).toEqual({ type: 'none' });
    for (const phase of ['begun', 'executing'])
      expect(toolRecord('run/1', { ...row, phase })).toEqual({ type: phase, intent });
    const outcomeSumOf = outcomeSum('run/1', outcome);
    expect(toolRecord('run/1', { ...row, outcome, outcomeSum: outcomeSumOf })).toEqual({
      ...{ type: 'finished', intent, outcome },
    });
  });

  test.each<[string, string, object]>([
    ['another key', 'run/2', {}],
    ['another phase', 'run/1', { phase: 'paused' }],
    ['a sum without an outcome', 'run/1', { outcomeSum: hash }],
    ['the sum of another outcome', 'run/1', { outcome, outcomeSum: outcomeSum('run/1', '{}') }],
    ['the sum of another key', 'run/1', { outcome, outcomeSum: outcomeSum('run/2', outcome) }],
    ['no sum', 'run/1', { outcome }],
    ['a changed intent', 'run/1', { intent: text.replace('pay', 'buy') }],
    ['an intent that is none', 'run/1', { intent: '{}', intentSum: contentHash('{}') }],
  ])('that has %s is none', (_what, key, change) => {
    expect(toolRecord(key, { ...row, ...change })).toBeUndefined();
  });

  test('comes in the order of starts, and of numbers in a reply', () => {
    const at = (startedAtMs: number, key: string) => ({ ...intent, startedAtMs, key });
    const ordered = [at(1, 'r/9'), at(2, 'r/1_2'), at(2, 'r/1_10'), at(3, 'r/0')];
    expect([...ordered].reverse().sort(byStart)).toEqual(ordered);
  });
});

describe('what was just written', () => {
  const blob = (size: number): Buffer => Buffer.alloc(size, 1);

  test('is given as a copy, up to 64 KiB each', () => {
    const recent = new RecentBlobs();
    recent.add('a', blob(64 * 1024));
    recent.add('b', blob(64 * 1024 + 1));
    recent.get('a')?.fill(0);
    expect(recent.get('a')).toEqual(blob(64 * 1024));
    expect(recent.get('b')).toBeUndefined();
  });

  test('is kept up to 8 MiB, without the oldest', () => {
    const recent = new RecentBlobs();
    const names = Array.from({ length: 128 }, (_each, at) => String(at));
    for (const name of names) recent.add(name, blob(64 * 1024));
    // Once more: it is there already.
    for (const name of names) recent.add(name, blob(64 * 1024));
    expect(names.every((name) => recent.get(name) !== undefined)).toBe(true);
    recent.add('small', blob(1));
    expect(['0', '1', '127', 'small'].map((name) => recent.get(name)?.length)).toEqual([
      ...[undefined, 65_536, 65_536, 1],
    ]);
    recent.add('more', blob(64 * 1024 - 1));
    expect(recent.get('1')?.length).toBe(65_536);
    recent.add('last', blob(1));
    expect(recent.get('1')).toBeUndefined();
    expect(recent.get('2')?.length).toBe(65_536);
  });
});

describe('a sweep', () => {
  const node = (name: string, parent?: string, bytes = 1): AgedRow => ({
    ...{ hash: name, touchedMs: 0, bytes, text: parent },
  });

  test('comes to each node before its parent', () => {
    const nodes = [
      ...[node('root'), node('trunk', 'root'), node('left', 'trunk'), node('right', 'trunk')],
      ...[node('leaf', 'left'), node('alone'), node('of another', 'kept')],
    ];
    const order = childrenFirst(nodes);
    expect([...order].sort()).toEqual(nodes.map((each) => each.hash).sort());
    for (const { hash: name, text: parent = '' } of nodes)
      if (order.includes(parent)) expect(order.indexOf(name)).toBeLessThan(order.indexOf(parent));
  });

  test('counts rows and bytes of a table', () => {
    const rows = new Map(['a', 'b', 'c'].map((name, at) => [name, node(name, undefined, 2 ** at)]));
    expect(tally(rows, ['a', 'c'])).toEqual({ removed: 2, removedBytes: 5, kept: 1 });
    expect(tally(rows, [])).toEqual({ removed: 0, removedBytes: 0, kept: 3 });
  });

  test('removes pages of 500, and tells what it removed', async () => {
    const names = Array.from({ length: 1_001 }, (_each, at) => String(at));
    const pages: number[] = [];
    const remove = (page: readonly string[]): Promise<readonly string[]> => {
      pages.push(page.length);
      return Promise.resolve(page.slice(1));
    };
    expect(await inBatches(names, true, remove)).toEqual(names);
    expect(pages).toEqual([]);
    expect(await inBatches(names, false, remove)).toHaveLength(998);
    expect(pages).toEqual([500, 500, 1]);
  });

  test('knows the runs of a tool record: its own, its callers, and that of its source', () => {
    const record = canonicalJson({
      ...{ key: 'four/first/t1/c', source: 'old/r/c', tool: 'key/of/none' },
      callers: [{ key: 'three/first/c', iteration: 1 }],
    });
    expect([...runKeysOf(record)].sort()).toEqual(['four/first/t1', 'old/r', 'three/first']);
  });
});
