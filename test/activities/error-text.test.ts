/** Case surface-01 and similar ones: errors of common clients tell the model why they failed, and reveal no key. */
import { describeThrown } from '../../activities/tool-call/error-text';

const key = 'TESTKEYabcdef0123456789';
const words = 'column "foo" does not exist';
const headers = { authorization: `Key ${key}`, cookie: `session=${key}` };

function failed(message: string, fields: object): Error {
  const request = { headers, body: JSON.stringify({ token: key }) };
  return Object.assign(new Error(message), {
    config: request,
    options: request,
    request,
    ...fields,
  });
}

const plain = { message: words };

test.each<[string, unknown]>([
  ['axios', failed('Request failed', { response: { status: 500, headers, data: plain } })],
  [
    'axios, a nested error',
    failed('Request failed', { response: { status: 500, data: { error: plain } } }),
  ],
  [
    'axios, a list of errors',
    failed('Request failed', { response: { status: 500, data: { errors: [plain] } } }),
  ],
  [
    'axios, problem details',
    failed('Request failed', { response: { status: 500, data: { title: 'Bad', detail: words } } }),
  ],
  [
    'axios, bytes',
    failed('Request failed', {
      response: { status: 500, data: Buffer.from(JSON.stringify(plain)) },
    }),
  ],
  [
    'got',
    failed('Response code 500', {
      response: { statusCode: 500, headers, body: JSON.stringify(plain) },
    }),
  ],
  [
    'superagent',
    failed('Internal Server Error', { status: 500, response: { headers, body: plain } }),
  ],
  ['undici', failed('Response status code 500', { statusCode: 500, headers, body: plain })],
  ['ofetch', failed('[POST] "/queries": 500', { statusCode: 500, data: plain })],
  [
    'fetch with a cause',
    new TypeError('fetch failed', { cause: failed('answered 500', { status: 500, data: plain }) }),
  ],
  [
    'several errors at once',
    new AggregateError([failed(`500: ${words}`, {}), failed('later', {})], ''),
  ],
  ['an object', { status: 500, error: { ...plain, code: 500, message: `500: ${words}` }, headers }],
])('%s', (_client, thrown) => {
  const text = describeThrown(thrown);
  expect(text).toContain(words);
  expect(text).toContain('500');
  expect(text).not.toContain(key);
});

test('a program tells the end of what it said', () => {
  const thrown = Object.assign(new Error('Command failed with exit code 2'), {
    stderr: 'TS2304: no x\n',
  });
  expect(describeThrown(thrown)).toBe('Command failed with exit code 2: TS2304: no x');
});

test('anything can be thrown', () => {
  const circular = new Error('round');
  circular.cause = circular;
  const hostile = Object.defineProperty(new Error('x'), 'response', {
    enumerable: true,
    get: () => {
      throw new Error('no');
    },
  });
  expect(describeThrown(circular)).toBe('round');
  expect(describeThrown(hostile)).toBe('an error that cannot be read');
  expect(describeThrown({})).toBe('an object without a message');
  expect(describeThrown('words')).toBe('words');
  expect(typeof describeThrown(undefined)).toBe('string');
});

const nested = (levels: number, inner: unknown = words): unknown =>
  levels === 0 ? inner : { error: nested(levels - 1, inner) };
const inTexts = (levels: number): string =>
  levels === 0 ? words : JSON.stringify({ error: inTexts(levels - 1) });
const chained = (count: number): Error =>
  new Error(`cause ${count}`, count === 0 ? {} : { cause: chained(count - 1) });

test.each<[string, unknown, string]>([
  ['five levels of a response', nested(5), words],
  ['six levels', nested(6), 'an object without a message'],
  ['bytes in the fifth level', nested(4, Buffer.from(words)), words],
  ['bytes in the sixth level', nested(5, Buffer.from(words)), 'an object without a message'],
  ['JSON in JSON', inTexts(2), words],
  ['JSON in JSON in JSON', inTexts(3), ''],
  ['a list', [plain, { detail: 'b' }, plain, '', {}], `${words}; b`],
  ['three words', ['a', 'b', 'c'], 'a; b; c'],
  ['five words', ['a', 'b', 'c', 'd', 'e'], 'a; b; c; and 2 more'],
  ['JSON in a text', ' \n[{"message":"a"},{"message":"b"}]', 'a; b'],
  ['JSON that is cut', '{"message":"a', '{"message":"a'],
  ['JSON behind words', 'answer {"message":"a"}', 'answer {"message":"a"}'],
  ['a text with blanks', ' \n a ', 'a'],
  ['nothing', null, 'an object without a message'],
  ['a number', 5, ''],
  ['an error without words', new TypeError(''), 'TypeError'],
  ['a status', failed('no', { status: 404 }), 'no: status 404'],
  ['another status', failed('no', { statusCode: 404 }), 'no: status 404'],
  ['the status of a response', failed('no', { response: { status: 404 } }), 'no: status 404'],
  [
    'two of them',
    failed('no', { status: 404, statusCode: 405, response: { status: 406 } }),
    'no: status 404',
  ],
  ['a status that was said', failed('no 404 there', { status: 404 }), 'no 404 there'],
  ['a status that is no number', failed('no', { status: 'failed' }), 'no'],
  ['the code of a connection', failed('no', { code: 'ECONNRESET' }), 'no: ECONNRESET'],
  ['a code that was said', failed('read ECONNRESET', { code: 'ECONNRESET' }), 'read ECONNRESET'],
  ['another code', failed('no', { code: 'ENOENT' }), 'no'],
  ['a code that is no text', failed('no', { code: 7 }), 'no'],
  ['a stderr that is no text', failed('no', { stderr: 7 }), 'no'],
  ['a short stderr', failed('no', { stderr: ` ${'e'.repeat(300)}\n` }), `no: ${'e'.repeat(300)}`],
  ['a long stderr', failed('no', { stderr: `E${'e'.repeat(300)}` }), `no: …${'e'.repeat(300)}`],
  ['the text of a response', failed('no', { response: { text: 'a' } }), 'no: a'],
  [
    'the first of several',
    failed('no', { response: { data: '', body: { message: 'b' }, text: 'c' }, data: 'd' }),
    'no: b',
  ],
  ['an answer that was said', failed('no', { data: 'no' }), 'no'],
  [
    'a list of errors and a cause',
    Object.assign(new AggregateError(['1', '2', '3', '4'], 'all'), { cause: new Error('e') }),
    'all: 1: 2: 3: e',
  ],
  [
    'a list of errors that is none',
    Object.assign(new AggregateError([], 'all'), { errors: 'x' }),
    'all',
  ],
  ['errors of another error', failed('no', { errors: ['x'] }), 'no'],
  ['five causes', chained(5), 'cause 5: cause 4: cause 3: cause 2: cause 1: cause 0'],
  ['six causes', chained(6), 'cause 6: cause 5: cause 4: cause 3: cause 2: cause 1'],
  ['a cause that was said', new Error('no x', { cause: new Error('x') }), 'no x'],
])('tells %s', (_what, thrown, text) => {
  expect(describeThrown(thrown)).toBe(text);
});

test('the most specific field of a response is told', () => {
  const fields = {
    ...{ message: 'm', error_description: 'ed', detail: 'd', error: 'e' },
    ...{ errors: 'es', msg: 'ms', reason: 'r', title: 't' },
  };
  const told = Object.keys(fields).map((_name, from) =>
    describeThrown(Object.fromEntries(Object.entries(fields).slice(from).reverse())),
  );
  expect(told).toEqual(Object.values(fields));
});

test('64 KiB of a response are read, of bytes and of a text', () => {
  const long = `${'x '.repeat(32 * 1024 - 1)}yyz`;
  const read = long.slice(0, 64 * 1024);
  expect(describeThrown(long)).toBe(read);
  expect(describeThrown(Buffer.from(long))).toBe(read);
});
