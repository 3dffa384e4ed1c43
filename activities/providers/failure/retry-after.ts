/** How long a vendor asks to wait before a retry: headers in many dialects, and delays in the body. */
import { asList, asNumber, asText, property } from '../untrusted-json';

/** Milliseconds above which a delay is ignored: quotas reset at least monthly (31 days). */
const longestDelayMs = 31 * 86_400_000;

/**
 * Milliseconds that an absolute time is believed without the vendor's own `Date`: our clock may be wrong, and an hour is what a
 * daily quota waits (ADR 0047).
 */
const longestGuessedDelayMs = 3_600_000;

/** What an absolute time is compared with, and the longest delay that it may give. */
interface Clock {
  readonly nowMs: number;
  readonly mostMs: number;
}

/** A header, by its lower-case name. */
export type HeaderReader = (name: string) => string | undefined;

/**
 * Milliseconds to wait before a retry, or undefined if the vendor does not say. Trusted in this order: `retry-after-ms`, `retry-after` (seconds or
 * date), reset headers of exhausted buckets, the body's RetryInfo, the delay in the error's text.
 *
 * Contract: pure; buckets that are not exhausted are ignored; dates are compared with the vendor's own clock if it sends one. Source: R-FAIL-6; case rate_limit-01.
 */
export function retryDelayMs(
  header: HeaderReader,
  bodies: readonly unknown[],
  texts: readonly string[],
  nowMs: number,
): number | undefined {
  const vendorNowMs = Date.parse(header('date') ?? '');
  const clock: Clock = Number.isNaN(vendorNowMs)
    ? { nowMs, mostMs: longestGuessedDelayMs }
    : { nowMs: vendorNowMs, mostMs: longestDelayMs };
  const delayMs =
    retryAfterHeaderMs(header, clock) ??
    resetHeaderMs(header, clock) ??
    firstOf(bodies, (body) => bodyDelayMs(body, clock)) ??
    firstOf(texts, textDelayMs);
  if (delayMs === undefined || !Number.isFinite(delayMs) || delayMs > longestDelayMs) {
    return undefined;
  }
  return Math.max(0, Math.ceil(delayMs));
}

function firstOf<T>(
  values: readonly T[],
  read: (value: T) => number | undefined,
): number | undefined {
  for (const value of values) {
    const found = read(value);
    if (found !== undefined) return found;
  }
  return undefined;
}

function retryAfterHeaderMs(header: HeaderReader, clock: Clock): number | undefined {
  const read = (name: string): string | undefined => longestOf(header(name));
  return plainNumber(read('retry-after-ms')) ?? untilMs(read('retry-after'), clock);
}

/** The longest of a header that was sent several times, such as by a proxy too: fetch joins them. */
function longestOf(value: string | undefined): string | undefined {
  const parts = value?.split(',').map((part) => part.trim()) ?? [];
  if (parts.length < 2 || !parts.every((part) => plainNumber(part) !== undefined)) return value;
  return String(Math.max(...parts.map(Number)));
}

function plainNumber(value: string | undefined): number | undefined {
  return value !== undefined && /^\s*\d+(\.\d+)?\s*$/.test(value) ? Number(value) : undefined;
}

/** Pairs of headers: what is left in a bucket, and when it is full again. */
const buckets: readonly { readonly remaining: string; readonly reset: string }[] = [
  ...['requests', 'tokens', 'input-tokens', 'output-tokens'].map((bucket) => ({
    remaining: `anthropic-ratelimit-${bucket}-remaining`,
    reset: `anthropic-ratelimit-${bucket}-reset`,
  })),
  ...['requests', 'tokens', 'project-tokens'].map((bucket) => ({
    remaining: `x-ratelimit-remaining-${bucket}`,
    reset: `x-ratelimit-reset-${bucket}`,
  })),
  { remaining: 'x-ratelimit-remaining', reset: 'x-ratelimit-reset' },
  { remaining: 'ratelimit-remaining', reset: 'ratelimit-reset' },
];

function resetHeaderMs(header: HeaderReader, clock: Clock): number | undefined {
  const delays = buckets
    .filter((bucket) => plainNumber(header(bucket.remaining)) === 0)
    .map((bucket) => untilMs(header(bucket.reset), clock))
    .filter((delayMs) => delayMs !== undefined);
  if (header('anthropic-ratelimit-unified-status') === 'rejected') {
    const unified = untilMs(header('anthropic-ratelimit-unified-reset'), clock);
    if (unified !== undefined) delays.push(unified);
  }
  return delays.length === 0 ? undefined : Math.max(...delays);
}

/** A duration (`6m0s`), a date, or a number of seconds; large numbers are seconds or milliseconds since the epoch. */
function untilMs(value: string | undefined, { nowMs, mostMs }: Clock): number | undefined {
  if (value === undefined) return undefined;
  const number = plainNumber(value);
  if (number !== undefined && number <= 1e8) return number * 1_000;
  const atMs = number === undefined ? Date.parse(value) : number * (number > 1e11 ? 1 : 1_000);
  const delayMs = atMs - nowMs;
  const believedMs = delayMs > longestDelayMs ? delayMs : Math.min(delayMs, mostMs);
  return durationMs(value) ?? (Number.isNaN(atMs) ? undefined : believedMs);
}

const unitMs: Readonly<Record<string, number>> = {
  ms: 1,
  s: 1_000,
  m: 60_000,
  h: 3_600_000,
  d: 86_400_000,
};

/** Milliseconds of a duration such as `1h2m3.5s`, `20ms` or `45.5s`. */
function durationMs(value: string): number | undefined {
  if (!/^\s*(\d+(\.\d+)?(ms|[smhd]))+\s*$/.test(value)) return undefined;
  let totalMs = 0;
  for (const [, amount, unit] of value.matchAll(
    /(?<![\d.])(\d{1,15}(?:\.\d{1,15})?)(ms|[smhd])/g,
  )) {
    totalMs += Number(amount) * (unitMs[unit ?? ''] ?? 0);
  }
  return totalMs;
}

function bodyDelayMs(body: unknown, clock: Clock): number | undefined {
  for (const detail of asList(property(body, 'details'))) {
    const delayMs = durationMs(asText(property(detail, 'retryDelay')));
    if (delayMs !== undefined) return delayMs;
  }
  const wrapped = property(property(body, 'metadata'), 'headers');
  const resetAt = property(wrapped, 'X-RateLimit-Reset');
  const remaining = property(wrapped, 'X-RateLimit-Remaining');
  if (Number(remaining) === 0 && remaining !== '' && remaining !== null) {
    return untilMs(asNumber(resetAt)?.toString() ?? asText(resetAt), clock);
  }
  return undefined;
}

/** The delay in a sentence: `Please try again in 1m2.5s`, `Please retry in 27.3s`, `retry after 20 seconds`. */
function textDelayMs(text: string): number | undefined {
  const compact = text.replace(
    /(\d) (s)econds?\b|(\d) (m)inutes?\b|(\d) (h)ours?\b/gi,
    '$1$2$3$4$5$6',
  );
  const duration =
    /(?:try again|retry|wait|resets?)(?: in| after)? ((?:\d+(?:\.\d+)?(?:ms|[smhd]))+)/i.exec(
      compact,
    )?.[1];
  return duration === undefined ? undefined : durationMs(duration.toLowerCase());
}
