/** What a tool returns to be read: pieces of any kind, bounds, ends, and what a stream leaves (ADR 0044). */
import { Readable } from 'node:stream';
import { streamText } from '../../activities/tool-output/output-stream';

const never = new AbortController().signal;
const textOf = (value: unknown, signal = never): Promise<string | undefined> =>
  streamText(value, signal);

async function* pieces(...given: readonly unknown[]): AsyncGenerator {
  for (const piece of given) yield await Promise.resolve(piece);
}
async function* ending(last: unknown): AsyncGenerator {
  yield await Promise.resolve('a');
  return last;
}
/** A stream without a class: its pieces, and what it does when it is let go of. */
const plainStream = (
  next: () => Promise<IteratorResult<unknown>>,
  end?: () => unknown,
): object => ({
  next,
  [Symbol.asyncIterator]: () => ({ next, ...(end && { return: end }) }),
});
const endless = (piece: unknown): (() => Promise<IteratorResult<unknown>>) => {
  return () => Promise.resolve({ done: false, value: piece });
};

test.each<[string, () => unknown, string | undefined]>([
  ['texts', () => pieces('a', 'b'), 'ab'],
  ['data', () => pieces({ a: 1 }, 'b', [2]), '{"a":1}\nb[2]\n'],
  [
    'bytes of one character, and a text',
    () =>
      pieces(...[...Buffer.from('ö')].map((byte) => Buffer.from([byte])), 'b', Buffer.from('c')),
    'öbc',
  ],
  [
    'a view of bytes',
    () => pieces(new DataView(new Uint8Array(Buffer.from('xab')).buffer, 1)),
    'ab',
  ],
  ['a text after binary data', () => pieces(Buffer.alloc(9), 'a'), '[9 bytes of binary data]a'],
  ['what a generator returns', () => ending({ b: 1 }), 'a{"b":1}\n'],
  ['a generator that returns nothing', () => ending(undefined), 'a'],
  ['no pieces', () => pieces(), ''],
  ['a response without a body', () => new Response(null, { status: 204 }), 'Response 204'],
  [
    'a response with its address',
    () =>
      Object.defineProperty(new Response('a', { statusText: 'Fine' }), 'url', {
        value: 'http://h/',
      }),
    'Response 200 Fine http://h/\n\na',
  ],
  ['a file without a name', () => new File(['a'], ''), 'a'],
  ['a blob', () => new Blob(['a']), 'a'],
  ['a text', () => 'a', undefined],
  ['nothing', () => null, undefined],
  ['data with a symbol', () => ({ [Symbol.asyncIterator]: 1 }), undefined],
  ['a page of a list', () => ({ data: [1], [Symbol.asyncIterator]: () => pieces('a') }), undefined],
])('reads %s', async (_what, value, text) => {
  expect(await textOf(value())).toBe(text);
});

test('a response that was read says so', async () => {
  const response = new Response('a');
  await response.text();
  expect(await textOf(response)).toBe(
    'Response 200\n[its body was read by the tool: return the text]',
  );
});

test('a response that cannot be looked at says so', async () => {
  const response = Object.defineProperty(new Response('a'), 'bodyUsed', {
    get: () => {
      throw new Error('no');
    },
  });
  expect(await textOf(response)).toBe(
    '[the tool returned something that cannot be read: Error: no]',
  );
});

test('16 MiB of a stream are read, in texts and in bytes', async () => {
  const mebi = 1024 * 1024;
  const whole = await textOf(pieces(...new Array<string>(16).fill('x'.repeat(mebi))));
  expect(whole).toHaveLength(16 * mebi);
  for (const piece of ['x'.repeat(mebi), Buffer.alloc(mebi, 'x')]) {
    const text = (await textOf(pieces(...new Array<unknown>(20).fill(piece)))) ?? '';
    expect(text.slice(17 * mebi)).toBe(
      `\n[… the rest of an AsyncGenerator is missing: only its first ${17 * mebi} bytes were read …]`,
    );
  }
});

test('200,000 pieces are read, while other work goes on', async () => {
  let turns = 0;
  const turn = (): void => {
    turns += 1;
    setImmediate(turn).unref();
  };
  setImmediate(turn).unref();
  expect(await textOf(plainStream(endless('')))).toBe(
    '\n[… the rest of a stream is missing: only its first 200000 pieces were read …]',
  );
  expect(turns).toBeGreaterThanOrEqual(300);
});

test('a stream is let go of, whatever its end', async () => {
  const ended: string[] = [];
  const whole = plainStream(
    () => Promise.resolve({ done: true, value: undefined }),
    () => ended.push('whole'),
  );
  expect(await textOf(whole)).toBe('');
  const broken = plainStream(
    () => Promise.reject(new Error('no')),
    () => Promise.reject(new Error('not let go')),
  );
  expect(await textOf(broken)).toBe('\n[… the rest of a stream is missing: it broke: Error: no …]');
  const late = plainStream(
    () => new Promise(() => undefined),
    () => ended.push('late'),
  );
  expect(await textOf(late, AbortSignal.abort())).toBe(
    "\n[… the rest of a stream is missing: it had not ended when the tool's time was over …]",
  );
  expect(ended).toEqual(['whole', 'late']);
  const readable = new Readable({ read: () => undefined });
  await textOf(readable, AbortSignal.abort());
  expect(readable.destroyed).toBe(true);
});
