/** Retry-After in all its dialects. */
import { providerFailure } from '../../activities/providers/failure/provider-failure';
import { retryDelayMs } from '../../activities/providers/failure/retry-after';
import { decideRetry } from '../../workflows/core/failover/stream-recovery';
import { geminiError, openaiError, sortAnswer, type Answer } from './support/vendor-answers';

describe('the delay that a vendor tells', () => {
  const now = Date.parse('2026-03-26T20:00:00Z');
  it.each<readonly [string, Answer, number | undefined]>([
    [
      'retry-after-ms',
      { status: 429, headers: { 'retry-after-ms': '250', 'retry-after': '9' } },
      250,
    ],
    ['seconds', { status: 429, headers: { 'retry-after': '7' } }, 7_000],
    ['seconds, also by a proxy', { status: 429, headers: { 'retry-after': '5, 7' } }, 7_000],
    ['a part of a second', { status: 503, headers: { 'retry-after': '0.5' } }, 500],
    [
      'a date',
      { status: 503, headers: { 'retry-after': 'Thu, 26 Mar 2026 20:00:30 GMT' } },
      30_000,
    ],
    [
      'a date by the clock of the vendor',
      {
        status: 503,
        headers: {
          date: 'Thu, 26 Mar 2026 20:00:20 GMT',
          'retry-after': 'Thu, 26 Mar 2026 20:00:30 GMT',
        },
      },
      10_000,
    ],
    [
      'a date in the past',
      { status: 503, headers: { 'retry-after': 'Thu, 26 Mar 2026 19:00:30 GMT' } },
      0,
    ],
    ['seconds with their unit', { status: 503, headers: { 'retry-after': '30s' } }, 30_000],
    ['nonsense', { status: 503, headers: { 'retry-after': 'soon' } }, undefined],
    [
      'a delay beyond belief',
      { status: 503, headers: { 'retry-after': '99999999999' } },
      undefined,
    ],
    [
      'the exhausted bucket of Anthropic',
      {
        status: 429,
        headers: {
          'anthropic-ratelimit-requests-remaining': '0',
          'anthropic-ratelimit-requests-reset': '2026-03-26T20:00:01Z',
          'anthropic-ratelimit-tokens-remaining': '16000',
          'anthropic-ratelimit-tokens-reset': '2026-03-26T20:00:30Z',
        },
      },
      1_000,
    ],
    [
      'the exhausted bucket of OpenAI',
      {
        status: 429,
        headers: {
          'x-ratelimit-remaining-requests': '59',
          'x-ratelimit-reset-requests': '1s',
          'x-ratelimit-remaining-tokens': '0',
          'x-ratelimit-reset-tokens': '6m0.5s',
        },
      },
      360_500,
    ],
    [
      'no exhausted bucket',
      {
        status: 429,
        headers: { 'x-ratelimit-remaining-requests': '59', 'x-ratelimit-reset-requests': '1s' },
      },
      undefined,
    ],
    [
      'an epoch in seconds',
      {
        status: 429,
        headers: {
          'anthropic-ratelimit-unified-status': 'rejected',
          'anthropic-ratelimit-unified-reset': String(now / 1_000 + 60),
        },
      },
      60_000,
    ],
    [
      'an epoch in milliseconds in a gateway body',
      {
        status: 429,
        body: {
          error: {
            code: 429,
            message: 'Rate limit exceeded',
            metadata: {
              headers: { 'X-RateLimit-Remaining': '0', 'X-RateLimit-Reset': String(now + 5_000) },
            },
          },
        },
      },
      5_000,
    ],
    [
      'RetryInfo of Gemini',
      {
        status: 429,
        body: geminiError(429, 'RESOURCE_EXHAUSTED', 'Resource exhausted', [
          { '@type': 'type.googleapis.com/google.rpc.RetryInfo', retryDelay: '27.5s' },
        ]),
      },
      27_500,
    ],
    [
      'words',
      {
        status: 429,
        body: openaiError(
          'Rate limit reached. Please try again in 1m2.5s.',
          'requests',
          'rate_limit_exceeded',
        ),
      },
      62_500,
    ],
    [
      'words in milliseconds',
      {
        status: 429,
        body: openaiError('Please try again in 20ms.', 'tokens', 'rate_limit_exceeded'),
      },
      20,
    ],
    [
      'words in seconds',
      { status: 429, body: openaiError('Too many requests, retry after 12 seconds', 'requests') },
      12_000,
    ],
    [
      "a day's quota of Gemini, whose delay is a minute's",
      {
        status: 429,
        body: geminiError(429, 'RESOURCE_EXHAUSTED', 'Quota exceeded', [
          { violations: [{ quotaId: 'GenerateRequestsPerDayPerProjectPerModel-FreeTier' }] },
          { retryDelay: '27s' },
        ]),
      },
      3_600_000,
    ],
    [
      "a day's quota without a delay",
      { status: 429, body: { error: { message: 'Rate limit exceeded: free-models-per-day' } } },
      3_600_000,
    ],
    [
      "a day's quota that refills by the minute",
      {
        status: 429,
        body: openaiError(
          'Rate limit reached on requests per day (RPD): Limit 200, Used 200, Requested 1. Please try again in 7m12s.',
          'requests',
          'rate_limit_exceeded',
        ),
      },
      432_000,
    ],
  ])('%s', (_name, answer, delayMs) => {
    expect(sortAnswer(answer, now).retryAfterMs).toBe(delayMs);
  });

  it('is not told where waiting does not help', () => {
    expect(sortAnswer({ status: 400, headers: { 'retry-after': '7' } })).not.toHaveProperty(
      'retryAfterMs',
    );
  });
});

describe('whether a vendor may be asked again', () => {
  it.each([
    [{ 'x-should-retry': 'false' }, true],
    [{ 'x-should-retry': 'true' }, undefined],
    [{}, undefined],
  ])('%j is carried by the failure as %s', (headers, refusesRetry) => {
    expect(sortAnswer({ status: 529, headers }).refusesRetry).toBe(refusesRetry);
  });

  it.each<readonly [string, number | undefined, boolean]>([
    ['Quota exceeded', 429, true],
    ["Quota exceeded for quota metric 'Generate requests' of service 'ai'", 429, true],
    ['You have exceeded your daily request quota.', 429, true],
    ['Allocated quota exceeded, please increase your quota limit.', 429, true],
    ['quota exceeded', undefined, true],
    ['Rate limit exceeded; see the quota page for a larger one', 429, false],
    ['Too many requests', 429, false],
    ['Overloaded: the quota service is down', 529, false],
  ])('a spent quota is not asked again: %s (%s)', (message, status, refusesRetry) => {
    const seen = status === undefined ? {} : { status };
    const failure = providerFailure(new Error(message), { route: 'a/b', nowMs: 0 }, seen);
    expect(failure.code).toBe(status === 529 ? 'overloaded' : 'rate_limit');
    expect(failure.refusesRetry === true).toBe(refusesRetry);
    const timing = { streamRetries: 2, streamRetryBaseMs: 1_500 };
    expect(decideRetry(failure, 0, timing).type).toBe(refusesRetry ? 'give-up' : 'retry');
  });
});

describe('a date without the clock that it was made by', () => {
  const now = Date.UTC(2026, 10, 29, 12);
  const at = (delayMs: number): string => new Date(now + delayMs).toUTCString();
  const hourMs = 3_600_000;
  /** What is waited by a worker whose clock is wrong by so much, after `retry-after: <now + 20 s>`. */
  const waitedMs = (wrongByMs: number, vendorWrongByMs = 0, headers = {}): number | undefined => {
    const sent: Readonly<Record<string, string>> = {
      'retry-after': at(20_000 + vendorWrongByMs),
      ...headers,
    };
    return retryDelayMs((name) => sent[name], [], [], now + wrongByMs);
  };

  // Sources: openai/openai-java#853 (past dates), octokit/plugin-throttling.js#599 (two clocks), wso2/carbon-apimgt#7059.
  it.each([
    ['right', 0, 20_000],
    ['an hour behind', -hourMs, hourMs],
    ['a day behind', -24 * hourMs, hourMs],
    ['an hour ahead', hourMs, 0],
    ['ten years behind', -87_660 * hourMs, undefined],
    ['ten years ahead', 87_660 * hourMs, 0],
  ])('is bounded where our own clock is %s', (_what, wrongByMs, waited) => {
    expect(waitedMs(wrongByMs)).toBe(waited);
  });

  it.each([0, -hourMs, hourMs, -87_660 * hourMs, 87_660 * hourMs])(
    'is exact by the clock of a vendor that is wrong by %i ms, however wrong ours is',
    (vendorWrongByMs) => {
      const date = at(vendorWrongByMs);
      expect(waitedMs(5 * hourMs, vendorWrongByMs, { date })).toBe(20_000);
    },
  );
});
