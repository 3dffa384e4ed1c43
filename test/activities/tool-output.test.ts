/**
 * What a tool returns becomes something true for the model (ADR 0044). Case t2-tooloutput-01, and inputs from public reports:
 * anomalyco/opencode#49065 (Set, RegExp, URLSearchParams), bojieli/ai-agent-book#206 (a set among variables),
 * erossignon/serialijse#8 (Map), ErixWong/touwaka-ai-mate#991 (nested errors), vercel/ai#9775 (a cause without words).
 */
import { createServer } from 'node:http';
import type { AddressInfo, Server } from 'node:net';
import { Readable } from 'node:stream';
import { ReadableStream } from 'node:stream/web';
import { runInNewContext } from 'node:vm';
import { outputText } from '../../activities/tool-output/tool-output';
import { recordedCase } from '../support/recorded-case';

const textOf = (value: unknown): Promise<string> => outputText(value);
const json = async (value: unknown): Promise<unknown> => JSON.parse(await textOf(value));

class Account {
  #secret = 1;
  get hidden(): number {
    return this.#secret;
  }
}
class Row {
  readonly id = 7;
}

const broken = {
  get price(): number {
    throw new Error('no price yet');
  },
  name: 'chair',
};
const cyclic: Record<string, unknown> = { name: 'a' };
cyclic['inner'] = { back: cyclic };
const shared = { a: 1 };
const holes: unknown[] = [];
holes[3] = 'x';
holes.length = 1_000_000_000;

test.each<readonly [string, unknown, unknown]>([
  ['a Map', new Map([['a', 1]]), { a: 1 }],
  ['a Map with other keys', new Map([[{ id: 1 }, 'x']]), [[{ id: 1 }, 'x']]],
  ['a Set', new Set([1, 2]), [1, 2]],
  [
    'a set among variables',
    { s: new Set([1]), r: /x/g, p: new URLSearchParams('a=1') },
    { s: [1], r: '/x/g', p: 'a=1' },
  ],
  [
    'an error in an object',
    { ok: false, error: new Error('quota used up') },
    { ok: false, error: 'Error: quota used up' },
  ],
  [
    'an error with a cause',
    { e: new TypeError('terminated', { cause: new Error('other side closed') }) },
    { e: 'TypeError: terminated: other side closed' },
  ],
  ['a bigint', { n: 10n }, { n: '10n' }],
  ['numbers that JSON lacks', [NaN, Infinity, -0, 0], ['NaN', 'Infinity', '-0', 0]],
  ['a symbol and a function', [Symbol('s'), function pay() {}], ['Symbol(s)', '[a function pay]']],
  ['undefined', { a: undefined, list: [undefined] }, { list: ['[undefined]'] }],
  [
    'a date',
    { at: new Date(0), never: new Date(NaN) },
    { at: '1970-01-01T00:00:00.000Z', never: '[an invalid Date]' },
  ],
  [
    'bytes',
    { key: Buffer.from('abc'), raw: new Uint8Array(4), all: new ArrayBuffer(9) },
    {
      key: '[3 bytes of binary data]',
      raw: '[4 bytes of binary data]',
      all: '[9 bytes of binary data]',
    },
  ],
  [
    'numbers in an array of bytes',
    { vector: new Float64Array(3) },
    { vector: '[24 bytes of binary data] (Float64Array)' },
  ],
  ['a cycle', cyclic, { name: 'a', inner: { back: '[a cycle: the same object as at $]' } }],
  ['the same object twice', [shared, shared], [{ a: 1 }, { a: 1 }]],
  ['a getter that throws', broken, { price: '[cannot be read: no price yet]', name: 'chair' }],
  [
    'a toJSON that throws',
    {
      a: {
        toJSON: () => {
          throw new Error('no');
        },
      },
    },
    { a: '[a value that cannot be read: no]' },
  ],
  ['a toJSON', { a: { toJSON: () => ({ b: new Set([1]) }) } }, { a: { b: [1] } }],
  [
    'an object of a class',
    { row: new Row(), account: new Account() },
    { row: { id: 7 }, account: '[an Account without fields that can be read]' },
  ],
  [
    'a proxy that throws',
    {
      p: new Proxy(
        {},
        {
          ownKeys: () => {
            throw new Error('revoked');
          },
        },
      ),
    },
    { p: '[a Proxy that cannot be read: revoked]' },
  ],
  ['a list of holes', { holes }, { holes: ['[3 empty]', 'x', '[999999996 empty]'] }],
  ['headers', { headers: new Headers({ etag: 'x' }) }, { headers: { etag: 'x' } }],
  ['an address', { url: new URL('https://example.com/a') }, { url: 'https://example.com/a' }],
  [
    'a response in an object',
    { response: new Response('body', { status: 404 }) },
    { response: '[a Response (404): return its text]' },
  ],
  [
    'a stream in an object',
    { body: Readable.from(['x']) },
    { body: '[a Readable: read it and return its text]' },
  ],
  [
    'a reply of axios',
    {
      status: 200,
      statusText: 'OK',
      data: { a: 1 },
      config: { headers: { Authorization: 'x' } },
      request: {},
    },
    { status: 200, statusText: 'OK', data: { a: 1 } },
  ],
  ['lone surrogates', ['\ud800'], ['\ufffd']],
  ['boxed values', [Object('a'), Object(1n)], ['a', '1n']],
  ['the key __proto__', JSON.parse('{"__proto__":{"a":1}}'), JSON.parse('{"__proto__":{"a":1}}')],
  ['null', null, null],
])('%s', async (_what, value, seen) => {
  expect(await json(value)).toEqual(seen);
});

test.each<readonly [string, unknown, string]>([
  ['an error', new Error('quota used up'), 'Error: quota used up'],
  ['bytes', Buffer.from('abc'), '[3 bytes of binary data]'],
  ['a date', new Date(0), '1970-01-01T00:00:00.000Z'],
  ['a symbol', Symbol('s'), 'Symbol(s)'],
  ['nothing', undefined, ''],
  ['a response', new Response('the body', { status: 503 }), 'Response 503\n\nthe body'],
  [
    'a request',
    new Request('https://example.com/a', { method: 'POST' }),
    '[a Request (POST, https://example.com/a): return its text]',
  ],
  ['a stream of Node', Readable.from(['one ', 'two']), 'one two'],
  [
    'a stream of bytes',
    Readable.from([Buffer.from('grö').subarray(0, 3), Buffer.from('grö').subarray(3)]),
    'grö',
  ],
  [
    'a web stream',
    new ReadableStream({
      start: (to) => {
        to.enqueue('abc');
        to.close();
      },
    }),
    'abc',
  ],
  ['a file', new File(['text'], 'a.txt'), 'a.txt:\ntext'],
  ['binary data in a stream', new Blob([Buffer.from([0, 1, 2, 0, 0])]), '[5 bytes of binary data]'],
])('%s as the whole output', async (_what, value, seen) => {
  expect(await textOf(value)).toBe(seen);
});

describe('t2-tooloutput-01', () => {
  const { input, expect: expected } = recordedCase('t2-tooloutput-01');
  const named: Readonly<Record<string, () => unknown>> = {
    Buffer: () => Buffer.from('data'),
    Uint8Array: () => new Uint8Array(4),
    'a fetch Response': () => new Response('quota used up'),
    'an async generator': async function* () {
      yield await Promise.resolve('quota used up');
    },
    'a ReadableStream': () => new Response('quota used up').body,
    'a cycle': () => cyclic,
  };

  // Of another realm, as a value of a thread or a test runner is.
  test.each(input.values)('%s', async (expression) => {
    const value: unknown = named[expression]?.() ?? runInNewContext(`(${expression})`);
    const shown = await textOf(value);
    expect(shown).not.toMatch(/\{\}|\[\d+,\d+,\d+/);
    if (/quota|Response|generator|Stream/.test(expression))
      expect(expected.checks.model_sees_any.some((seen) => shown.includes(seen))).toBe(true);
  });
});

test('a promise says so, and nobody hears its failure', async () => {
  expect(await json({ later: Promise.reject(new Error('never heard')) })).toEqual({
    later: '[a Promise: await it and return its value]',
  });
  await new Promise((resolve) => setImmediate(resolve));
});

test('a page of a list is data, and does not fetch the next', async () => {
  let fetched = 0;
  const page = {
    data: [1],
    async *[Symbol.asyncIterator]() {
      yield await Promise.resolve((fetched += 1));
    },
  };
  expect(await json(page)).toEqual({ data: [1] });
  expect(fetched).toBe(0);
});

test('a generator is read, up to where it breaks', async () => {
  async function* rows(): AsyncGenerator {
    yield { a: 1 };
    await Promise.resolve();
    yield new Set([2]);
    throw new Error('the cursor is closed');
  }
  expect(await textOf(rows())).toBe(
    '{"a":1}\n[2]\n\n[… the rest of an AsyncGenerator is missing: it broke: Error: the cursor is closed …]',
  );
});

test('what has no end is read up to a bound: generators, streams, proxies, depth', async () => {
  function* numbers(): Generator<number> {
    for (let n = 0; ; n += 1) yield n;
  }
  expect(await textOf(numbers())).toContain('[… more than 10000 entries …]');
  const zeros = new ReadableStream({
    pull: (to) => {
      to.enqueue('x'.repeat(1_000_000));
    },
  });
  expect((await textOf(zeros)).slice(-90)).toContain('only its first 17000000 bytes were read');
  const endless: object = new Proxy(
    {},
    {
      ownKeys: () => ['a'],
      get: (_target, key) => (key === 'a' ? endless : undefined),
      getOwnPropertyDescriptor: () => ({ enumerable: true, configurable: true }),
    },
  );
  expect(await textOf({ endless })).toContain('a cycle');
  let deep: unknown = 'bottom';
  for (let n = 0; n < 100_000; n += 1) deep = [deep];
  expect(await textOf(deep)).toContain('deeper than 200 levels');
});

test("a stream that hangs is let go of when the tool's time is over", async () => {
  const over = new AbortController();
  let cancelled = false;
  const hanging = new ReadableStream({
    start: (to) => {
      to.enqueue('so far');
    },
    cancel: () => {
      cancelled = true;
    },
  });
  const text = outputText(hanging, over.signal);
  setImmediate(() => {
    over.abort();
  });
  expect(await text).toBe(
    "so far\n[… the rest of a ReadableStream is missing: it had not ended when the tool's time was over …]",
  );
  await new Promise((resolve) => setImmediate(resolve));
  expect(cancelled).toBe(true);
});

describe('a real response', () => {
  let server: Server;
  let address = '';
  beforeAll(async () => {
    server = createServer((request, response) => {
      if (request.url === '/cut') {
        response.writeHead(200, { 'content-length': '100' });
        response.write('half of it', () => response.destroy());
        return;
      }
      response.end(Buffer.from('\ufeffgrößer', 'utf16le'));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    await new Promise((resolve) => server.close(resolve));
  });

  test('is read with its status and encoding', async () => {
    expect(await textOf(await fetch(`${address}/a`))).toBe(
      `Response 200 OK ${address}/a\n\ngrößer`,
    );
  });
  test('says where it was cut', async () => {
    const text = await textOf(await fetch(`${address}/cut`));
    expect(text).toContain(
      'half of it\n[… the rest of the response is missing: it broke: TypeError: terminated',
    );
  });
  test('whose body the tool has read says so', async () => {
    const response = await fetch(`${address}/a`);
    await response.arrayBuffer();
    expect(await textOf(response)).toContain('[its body was read by the tool: return the text]');
  });
});
