/** Values of all kinds as JSON for the model: what JSON cannot carry says what it was, what is data stays data (ADR 0044). */
import { EventEmitter } from 'node:events';
import { WritableStream } from 'node:stream/web';
import { valueJson, valueText } from '../../activities/tool-output/output-value';

const json = (value: unknown): unknown => JSON.parse(valueJson(value));
/** An object of a class with this name. */
const named = (name: string, fields: object): unknown =>
  Object.assign(
    Object.create({ constructor: { [name]: () => undefined }[name] }) as object,
    fields,
  );
const bare = (fields: object): unknown => Object.assign(Object.create(null) as object, fields);

class Cursor {
  async *[Symbol.asyncIterator]() {
    yield await Promise.resolve(1);
  }
}
class ForMe {
  readonly id = 1;
  toJSON(): this {
    return this;
  }
}
class Uint8ArrayOfRows extends Uint8Array {}
class SharedBuffer extends Uint8Array {}
class NotSet {
  readonly id = undefined;
}

test.each<readonly [string, unknown, unknown]>([
  ['an empty object', {}, {}],
  ['an object of a class whose fields are undefined', new NotSet(), {}],
  ['an object without a class', bare({ a: 1 }), { a: 1 }],
  ['an object with a tag that is no text', bare({ [Symbol.toStringTag]: 7 }), {}],
  ['an error whose message says its name', new Error('Error: no'), 'Error: no'],
  ['an error whose message ends in its name', new Error('no Error'), 'Error: no Error'],
  ['an error whose name is no text', Object.assign(new Error('no'), { name: 7 }), 'no'],
  ['an array like bytes', new Uint8ArrayOfRows(2), '[2 bytes of binary data] (Uint8ArrayOfRows)'],
  ['another array like bytes', new SharedBuffer(2), '[2 bytes of binary data] (SharedBuffer)'],
  ['a view of bytes', new DataView(new ArrayBuffer(2)), '[2 bytes of binary data]'],
  ['a cursor', new Cursor(), '[a Cursor: read it and return its text]'],
  [
    'an iterator with fields',
    { next: () => undefined, [Symbol.asyncIterator]: () => undefined },
    '[a stream: read it and return its text]',
  ],
  [
    'a query that runs when awaited',
    bare({ then: () => 1 }),
    '[a Promise: await it and return its value]',
  ],
  ['an emitter', new EventEmitter(), '[an EventEmitter of the process, which is not data]'],
  ['a writer', new WritableStream(), '[a WritableStream of the process, which is not data]'],
  [
    'an emitter without a class',
    bare({ on: () => 1, emit: () => 1 }),
    '[a thing of the process, which is not data]',
  ],
  ['data with a method', { id: 1, on: () => 1 }, { id: 1, on: '[a function on]' }],
  ['data with another method', { id: 1, emit: () => 1 }, { id: 1, emit: '[a function emit]' }],
  ['a function without a name', [() => 1], ['[a function]']],
  ['a file', new File(['text'], 'a.txt'), '[a File (a.txt, 4 bytes): return its text]'],
  ['a thing without facts', named('Request', {}), '[a Request: return its text]'],
  ['a weak map', new WeakMap(), '[a WeakMap, which cannot be read]'],
  ['a weak set', new WeakSet(), '[a WeakSet, which cannot be read]'],
  [
    'a Map with keys of two kinds',
    new Map<unknown, unknown>([
      ['a', 1],
      [2, 'x'],
    ]),
    [
      ['a', 1],
      [2, 'x'],
    ],
  ],
  [
    'a toJSON that is given its key',
    { a: { toJSON: (key: unknown) => typeof key } },
    { a: 'string' },
  ],
  ['a toJSON that gives the object', new ForMe(), { id: 1 }],
  ['a list with a field', Object.assign(['a'], { total: 7 }), ['a']],
  ['an iterator with an end', { rows: new Map([['a', 1]]).values() }, { rows: [1] }],
])('%s', (_what, value, seen) => {
  expect(json(value)).toEqual(seen);
});

test.each([
  ...['ResponseRow', 'HttpResponse', 'WeakMapping', 'OldWeakMap', 'HeadersRow', 'TableHeaders'],
  ...['URLRow', 'ShortURL', 'FormDataRow', 'OldFormData', 'FileRow', 'MyFile'],
])('an object of a class of its own, %s, is data', (name) => {
  expect(json(named(name, { id: 1 }))).toEqual({ id: 1 });
});

test('the request of a reply stays out; what only looks like a reply is whole', () => {
  const reply = { status: 200, statusText: 'OK', data: 1 };
  const seen = { status: 200, statusText: 'OK', data: 1 };
  expect(json({ ...reply, headers: {}, config: { key: 'x' } })).toEqual(seen);
  expect(json({ ...reply, headers: {}, request: { key: 'x' } })).toEqual(seen);
  for (const data of [
    { ...reply, id: 7 },
    { status: 'done', data: 1, config: {} },
    { status: 200, config: {}, request: {} },
    { data: 1, config: {} },
  ])
    expect(json(data)).toEqual(data);
});

test('a form says its fields', () => {
  const form = new FormData();
  form.append('a', '1');
  expect(json(form)).toEqual({ a: '1' });
});

test('an iterator gives 10,000 entries, a set all of its own', () => {
  function* numbers(count: number): Generator<number> {
    for (let n = 0; n < count; n += 1) yield n;
  }
  expect(json(numbers(10_000))).toEqual([...numbers(10_000)]);
  expect(json(numbers(10_001))).toEqual([...numbers(10_000), '[… more than 10000 entries …]']);
  expect(json(new Set(numbers(10_001)))).toEqual([...numbers(10_001)]);
});

test('200 levels are written, and what is deeper says so', () => {
  const nested = (levels: number): unknown => {
    let value: unknown = 'bottom';
    for (let level = 0; level < levels; level += 1) value = [value];
    return value;
  };
  expect(json(nested(200))).toEqual(nested(200));
  expect(valueJson(nested(201))).toContain('deeper than 200 levels');
});

test('a million values are written, and what is more says so', () => {
  const objects = json(new Array(1_000_005).fill({})) as unknown[];
  expect(objects).toHaveLength(1_000_001);
  expect(objects.slice(-3)).toEqual([
    ...[{}, '[… more than 1000000 values …]'],
    '[… of 1000005 entries …]',
  ]);
  const numbers = json(new Array(1_000_005).fill(0)) as unknown[];
  expect(numbers).toHaveLength(1_000_002);
  expect(numbers.slice(-2)).toEqual([0, '[… of 1000005 entries …]']);
});

test('a value that is one text is that text; data is none', () => {
  expect(valueText(function pay() {})).toBe('[a function pay]');
  expect(valueText(Symbol('s'))).toBe('Symbol(s)');
  expect(valueText(new URL('https://example.com/a'))).toBe('https://example.com/a');
  for (const data of [null, 7, 'text', { a: 1 }, [1]]) expect(valueText(data)).toBeUndefined();
  const { proxy, revoke } = Proxy.revocable({}, {});
  revoke();
  expect(valueText(proxy)).toBeUndefined();
});
