/** Classification of what vendors, gateways and sockets really say; one row per kind. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { InfraException } from '../../activities/lifecycle/infra-exception';
import { providerFailure } from '../../activities/providers/failure/provider-failure';
import type { FailoverReason } from '../../workflows/core/limits';
import { sortAnswer, type Answer } from './support/vendor-answers';

interface AnswerRow extends Answer {
  readonly name: string;
  readonly status: number;
  readonly reason: FailoverReason;
}

const answers = readFileSync(join(__dirname, 'fixtures', 'vendor-answers.jsonl'), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as AnswerRow);

const fail = (message: string, rest: object = {}): Error => Object.assign(new Error(message), rest);

describe('the reason of an answer', () => {
  it.each(answers)('$name ($status)', ({ name: _name, reason, ...answer }) => {
    const failure = sortAnswer(answer);
    expect(failure.code).toBe(reason);
    expect(failure.status).toBe(answer.status);
    expect(failure.message).not.toMatch(/<\/?[a-z!]/i);
  });

  it.each(answers.filter(({ body }) => body !== undefined))(
    'is the same from the error object of an SDK alone: $name ($status)',
    ({ status, body, reason }) => {
      const inner = Array.isArray(body) ? (body as unknown[])[0] : body;
      const thrown = fail(`${status} ${JSON.stringify(body)}`, { status, error: inner });
      expect(providerFailure(thrown, { route: 'a/b', nowMs: 0 }).code).toBe(reason);
    },
  );
});

describe('the reason of a broken connection', () => {
  it.each<readonly [string, unknown, FailoverReason]>([
    [
      'terminated',
      fail('terminated', { cause: fail('other side closed', { code: 'UND_ERR_SOCKET' }) }),
      'network',
    ],
    ['terminated without a cause', new TypeError('terminated'), 'network'],
    [
      'a reset below an SDK error',
      fail('Connection error.', {
        cause: fail('fetch failed', { cause: fail('read ECONNRESET', { code: 'ECONNRESET' }) }),
      }),
      'network',
    ],
    [
      'refused on both addresses',
      fail('fetch failed', {
        cause: Object.assign(new AggregateError([fail('x', { code: 'ECONNREFUSED' })]), {
          code: 'ECONNREFUSED',
        }),
      }),
      'network',
    ],
    [
      'an unknown host',
      fail('fetch failed', {
        cause: fail('getaddrinfo ENOTFOUND api.acme.test', { code: 'ENOTFOUND' }),
      }),
      'network',
    ],
    [
      'a name server that does not answer',
      fail('x', { cause: fail('x', { code: 'EAI_AGAIN' }) }),
      'network',
    ],
    [
      'a wrong certificate',
      fail('fetch failed', { cause: fail('x', { code: 'DEPTH_ZERO_SELF_SIGNED_CERT' }) }),
      'network',
    ],
    ['premature close', fail('Premature close', { code: 'ERR_STREAM_PREMATURE_CLOSE' }), 'network'],
    ['socket hang up', fail('socket hang up', { code: 'ECONNRESET' }), 'network'],
    ['unreadable data', new SyntaxError('Unexpected end of JSON input'), 'network'],
    [
      'a header timeout',
      fail('fetch failed', { cause: fail('x', { code: 'UND_ERR_HEADERS_TIMEOUT' }) }),
      'timeout',
    ],
    [
      'a connect timeout',
      fail('fetch failed', { cause: fail('x', { code: 'ETIMEDOUT' }) }),
      'timeout',
    ],
    ["the SDK's own timeout", fail('Request timed out.'), 'timeout'],
    ['an overload in words', fail('Overloaded'), 'overloaded'],
    ['a rate limit in words', fail('rate limit exceeded'), 'rate_limit'],
    [
      'a cause below the fifth level',
      fail('1', {
        cause: fail('2', {
          cause: fail('3', {
            cause: fail('4', { cause: fail('5', { cause: fail('6', { code: 'ECONNRESET' }) }) }),
          }),
        }),
      }),
      'unknown',
    ],
    [
      'a cause on the fifth level',
      fail('1', {
        cause: fail('2', {
          cause: fail('3', { cause: fail('4', { cause: fail('5', { code: 'ECONNRESET' }) }) }),
        }),
      }),
      'network',
    ],
  ])('%s', (_name, thrown, reason) => {
    expect(providerFailure(thrown, { route: 'a/b', nowMs: 0 }).code).toBe(reason);
  });

  it.each<readonly [string, FailoverReason]>([
    ['read ECONNRESET', 'network'],
    ['connect ECONNREFUSED 10.0.0.1:443', 'network'],
    ['getaddrinfo ENOTFOUND api.acme.test', 'network'],
    ['getaddrinfo EAI_AGAIN api.acme.test', 'network'],
    ['write EPIPE', 'network'],
    ['upstream said: EHOSTUNREACH', 'network'],
    ['request failed, reason: UND_ERR_SOCKET', 'network'],
    ['connect ETIMEDOUT 10.0.0.1:443', 'timeout'],
    ['code=UND_ERR_BODY_TIMEOUT', 'timeout'],
    ['Request failed with status code 429', 'rate_limit'],
    ['HTTP 502', 'overloaded'],
    ['503', 'overloaded'],
    ['error 401', 'auth'],
    ['no such file: ENOENT', 'unknown'],
    ['the reply named 503 files', 'unknown'],
    ['5032 rows', 'unknown'],
  ])('that only a text names: %s', (text, reason) => {
    const inCause = fail('the call failed', { cause: fail(text) });
    for (const thrown of [fail(text), inCause])
      expect(providerFailure(thrown, { route: 'a/b', nowMs: 0 }).code).toBe(reason);
  });

  it('ends for a cause that points at itself', () => {
    const loop = fail('loop');
    loop.cause = loop;
    expect(providerFailure(loop, { route: 'a/b', nowMs: 0 }).code).toBe('unknown');
  });

  it('keeps a failure that was sorted before', () => {
    const known = new InfraException({ code: 'billing', message: 'no money' });
    const thrown = fail('wrapped', { cause: known });
    expect(providerFailure(thrown, { route: 'a/b', nowMs: 0 })).toBe(known.failure);
  });
});
