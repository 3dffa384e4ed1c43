/** What is volatile in an error cannot defeat the breaker; what tells errors apart stays. */
import { normalizeText, shortHash, volatileParts } from '../../workflows/core/errors/fingerprint';
import { fc } from '../support/properties';

describe('normalizeText: volatile parts', () => {
  test.each<[string, string, string]>([
    [
      'a UUID',
      'job 3f2c1d4e-0000-4abc-9def-1234567890ab',
      'job 99999999-aaaa-4bbb-8ccc-0123456789ab',
    ],
    ['an ISO time', 'at 2026-11-28T02:13:48.123Z failed', 'at 2025-01-02T23:59:59Z failed'],
    ['an ISO time with an offset', 'at 2026-11-28 02:13:48+01:00', 'at 2026-11-28 02:13:49+01:00'],
    ['a date', 'log of 2026-11-28', 'log of 2026-11-29'],
    ['a date with slashes', 'on 11/28/2026, 10:11:12', 'on 12/01/2026, 09:00:00'],
    ['an RFC 1123 date', 'Tue, 26 Mar 2024 19:59:59 GMT: no', 'Wed, 27 Mar 2024 01:00:00 GMT: no'],
    ['a date of date(1)', 'Sat Nov 28 02:13:48 UTC 2026: no', 'Sun Nov 29 12:13:40 UTC 2026: no'],
    ['a clock', '[12:00:01] no such row', '[12:00:59] no such row'],
    ['a clock with milliseconds', 'failed 12:00:01.123', 'failed 13:10:01.9'],
    ['a clock of 12 hours', 'failed at 9:05 pm', 'failed at 11:15 pm'],
    ['hours and minutes', 'failed at 12:05', 'failed at 12:06'],
    ['seconds since the epoch', 'ts=1764295628 no', 'ts=1764295631 no'],
    ['milliseconds since the epoch', 'no (1764295628123)', 'no (1764295631456)'],
    ['fractional epoch seconds', 'no [1764295628.123]', 'no [1764295631.456]'],
    ['an attempt', 'attempt 3 failed', 'attempt 17 failed'],
    ['a JSON counter', '{"attempt": 3,"m":"no"}', '{"attempt": 4,"m":"no"}'],
    ['a fraction', 'retry 2/5', 'retry 3/5'],
    ['one of many', 'try 2 of 5', 'try 3 of 5'],
    ['times', 'failed 3 times', 'failed 4 times'],
    ['an ordinal try', 'the 3rd attempt failed', 'the 4th attempt failed'],
    ['a number sign', 'request #17 failed', 'request #18 failed'],
    ['a request id', 'no (requestId: 17)', 'no (requestId: 18)'],
    ['a process id', 'process 4711 died', 'process 4712 died'],
    ['a pid in brackets', 'node[4711]: died', 'node[4999]: died'],
    ['a duration in ms', 'timed out after 1532ms', 'timed out after 98ms'],
    ['a duration in seconds', 'took 1.53 seconds', 'took 2 seconds'],
    ['a short duration', 'timed out (10s)', 'timed out (12s)'],
    ['a Retry-After', 'Retry-After: 30', 'Retry-After: 29'],
    ['a percentage', 'died at 45%', 'died at 46.5 %'],
    ['a pointer', 'fault at 0x7ffe1234abcd', 'fault at 0x55d0c0ffee'],
    ["an object's address", '<Foo object at 0x10abc>', '<Foo object at 0x10abd>'],
    ['a Java object', 'Foo@1b6d3586', 'Foo@4554617c'],
    ['an IPv4 address', 'ECONNREFUSED 10.0.0.1:5432', 'ECONNREFUSED 192.168.1.20:5432'],
    ['an IPv6 address', 'ECONNREFUSED fe80::1', 'ECONNREFUSED 2001:db8::7'],
    ['a local port', 'connect localhost:45123', 'connect localhost:3999'],
    ['an ephemeral port', 'port 45123 closed', 'port 51234 closed'],
    ['a vendor id', 'request req_011CTESTaaaabbbbcccc1', 'request req_011CTESTzzzzbbbbcccc2'],
    ['a call id', 'call_abc12345 not found', 'call_xyz98765 not found'],
    ['a base62 id', 'trace 4bf92F3577b34dA6a3cE', 'trace 00f067Aa0ba902B7zzYx'],
    ['a ULID', 'id 01ARZ3NDEKTSV4RRFFQ69G5FAV', 'id 01BX5ZZKBKACTAV9WEVGEMMVRZ'],
    ['a commit', 'at 9635849ab', 'at 2ddce3e11'],
    ['a long hash', `sha256:${'a1'.repeat(32)}`, `sha256:${'b2'.repeat(32)}`],
    ['a temporary directory', "ENOENT '/tmp/run-x1y2z3/a.ts'", "ENOENT '/tmp/run-q9w8e7/a.ts'"],
    ['a temporary file', "ENOENT '/tmp/tmpab12cd'", "ENOENT '/tmp/tmpzz99yy'"],
    ['a mkdtemp name of letters', 'in /tmp/holdfast-aBcDeF', 'in /tmp/holdfast-gHiJkL'],
    [
      'a temporary directory of macOS',
      '/var/folders/ab/c1d2/T/run-1/a.ts missing',
      '/var/folders/zz/y9x8/T/run-2/a.ts missing',
    ],
    [
      'a temporary directory of Windows',
      'C:\\Users\\me\\AppData\\Local\\Temp\\x1\\a.ts',
      'C:\\Users\\me\\AppData\\Local\\Temp\\y2\\a.ts',
    ],
    ['white space', 'no  such\n\tfile ', 'no such file'],
  ])('forgets %s', (_what, one, other) => {
    expect(normalizeText(one)).toBe(normalizeText(other));
  });
});

describe('normalizeText: what tells errors apart', () => {
  test.each<[string, string, string]>([
    ['file names', 'file a.ts not found', 'file b.ts not found'],
    ['numbered files', "open 'chapter-1-introduction.md'", "open 'chapter-2-introduction.md'"],
    ['files in a temporary workspace', '/tmp/run-1/a.ts missing', '/tmp/run-1/b.ts missing'],
    ['stable temporary files', '/tmp/out missing', '/tmp/in missing'],
    ['HTTP status', 'HTTP 404', 'HTTP 500'],
    [
      'status in words',
      'Request failed with status code 404',
      'Request failed with status code 403',
    ],
    ['bare status', '404 Not Found', '410 Not Found'],
    ['exit codes', 'exited with code 1', 'exited with code 2'],
    ['long error codes', 'error 1000060', 'error 1000061'],
    ['HRESULT codes', 'error 0x80070005', 'error 0x80004005'],
    ['compiler codes', 'TS2322: no', 'TS2345: no'],
    ['signals', 'killed by signal 9', 'killed by signal 15'],
    ['lines', 'src/a.ts:10:5 unexpected token', 'src/a.ts:12:5 unexpected token'],
    ['line words', 'SyntaxError on line 3', 'SyntaxError on line 4'],
    ['values', 'must be at most 10, got 12', 'must be at most 10, got 11'],
    ['rows', 'row 5 not found', 'row 6 not found'],
    ['known ports', 'port 3000 is in use', 'port 3001 is in use'],
    ['versions', 'needs v1.2.3', 'needs v1.2.4'],
    ['counts of errors', 'Found 5 errors', 'Found 4 errors'],
    ['case', 'README.md not found', 'readme.md not found'],
    ['Rust paths', 'cannot find dead::beef', 'cannot find dead::fade'],
    ['words', 'permission denied', 'no such file'],
  ])('keeps %s', (_what, one, other) => {
    expect(normalizeText(one)).not.toBe(normalizeText(other));
  });

  test('is settled after one pass', () => {
    const texts = fc.oneof(
      fc.string({ maxLength: 200 }),
      fc.stringMatching(/^(?:[0-9a-f:./#x-]{1,12} ?){0,12}$/),
    );
    fc.assert(
      fc.property(texts, (text) => {
        const once = normalizeText(text);
        expect(normalizeText(once)).toBe(once);
      }),
    );
  });

  test.each(['a-', '1', 'a1', '0x', ':', '/tmp/', '1:', 'attempt ', 'C:\\', '1 of ', '_9'])(
    'takes 200,000 characters of "%s" in its stride',
    (piece) => {
      const text = piece.repeat(200_000 / piece.length);
      const before = performance.now();
      normalizeText(text);
      expect(performance.now() - before).toBeLessThan(5_000);
    },
  );
});

describe('shortHash', () => {
  test('gives equal texts one hash and different texts different ones', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), (one, other) => {
        expect(shortHash(one) === shortHash(other)).toBe(one === other);
        expect(shortHash(one)).toMatch(/^[0-9a-z]{1,11}$/);
      }),
    );
  });

  test('is the same on every machine', () => {
    expect(shortHash('run/1')).toBe(shortHash('run/1'));
    expect(shortHash('')).toBe('0wvjl67o803');
  });
});

/** An example of each row of the tables. A row without one fails the test below. */
const examples: Readonly<Record<string, string>> = {
  'ISO date, with or without time': '2026-11-28T02:13:48.123Z',
  'day, month, year': 'Tue, 26 Mar 2024 19:59:59 GMT',
  'month, day, year': 'Sat Nov 28 02:13:48 UTC 2026',
  'date with slashes': '11/28/2026, 10:11:12',
  'time with seconds': '12:00:01.123',
  'time with am or pm': '9:05 pm',
  'time after "at"': 'at 12:05',
  'temporary folder of macOS': '/var/folders/ab/c1/T/run-1',
  'folder in /tmp': '/tmp/run-x/a.ts',
  'random file in /tmp': '/tmp/tmp.Ez5ATL',
  'temporary folder of Windows': 'C:\\Users\\ann\\Temp\\x1',
  UUID: '3f2c1d4e-0000-4abc-9def-1234567890ab',
  'id with a prefix: a name, then at least 8 characters with a digit and a letter': 'req_8f3k2m1q',
  'base62: a digit and letters of both cases': 'aB3dE5gH7jK9mN1p',
  'ULID: digits and capitals': '01HZX3V5K9QW2E4R6T8Y0U1I3O',
  'hash in hexadecimal': '9fceb02',
  'address in memory, unless it is an error code': 'fault at 0x7ffe1234abcd',
  IPv4: '10.0.0.7:5432',
  IPv6: '2001:db8:0:0:1:0:0:1',
  'shortened IPv6': 'fe80::1',
  'identity of an object': 'Object@1b6d3586',
  'port of localhost': 'localhost:8080',
  'port that the system hands out': 'port 49321',
  duration: '1532ms',
  percentage: '45 %',
  fraction: '2/5',
  'n of m': '2 of 5',
  'number of attempts': '3 times',
  'number after a word that counts': 'attempt 3',
  'delay of a retry': 'Retry-After: 30',
  'number after #': '#17',
  'process id in brackets': 'node[4711]',
  'long number, unless it is an error code': '4711471147',
  'id after a word that names a request': 'request_id: 9f8e7d6c',
  'long address in memory': '0x7ffe1234abcd',
  'Unix time': '1764295628',
  'number of an attempt, a process or a duration': 'attempt: 3',
};

test.each(volatileParts())('the row "%s" finds its example', (what, pattern, placeholder) => {
  const example = examples[what] ?? '';
  expect(example.replace(pattern, placeholder)).toContain(placeholder);
});
