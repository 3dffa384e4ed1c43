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
