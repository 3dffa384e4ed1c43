/** Faults of the connection and of time: no connection, silence, late answers, requested delays, and oddities that cost nothing. */
import { fault, reply } from '../../../../testing/emulator/script';
import type { WireName } from '../../../../testing/emulator/wire';
import type { Limits } from '../../../../workflows/core/limits';
import {
  asking,
  done,
  failedOver,
  retried,
  spent,
  unhurt,
  unreachable,
  waited,
} from '../fault-builders';
import type { RowOptions } from '../fault-builders';
import type { ProviderFault } from '../provider-fault';

const wires: readonly WireName[] = ['anthropic', 'responses', 'chat'];

/** Far above what a sound answer takes even on a loaded machine, far below what the suite can wait. */
const deadlineMs = 1_500;
const pingEveryMs = 100;
const firstByte: RowOptions = { limits: { firstByteMs: deadlineMs } };
const betweenBytes: RowOptions = { limits: { betweenBytesMs: deadlineMs } };
const midText = { afterText: 'The answer is' };

/** The way to the vendor. */
function way(): readonly ProviderFault[] {
  return wires.flatMap((wire) => [
    unreachable('nothing listens', wire, 'closed-port', /ECONNREFUSED/, 'second route'),
    unreachable('TLS to a plain port', wire, 'tls-on-plain-port', /SSL|EPROTO/, 'only route'),
    retried('reset before the head', wire, fault.connection('reset'), 'network'),
    spent('FIN before the head stays', wire, fault.connection('fin'), 'network'),
    retried('reset after the head', wire, fault.connection('reset', 'after-headers'), 'network'),
    retried('end after the head', wire, fault.connection('eof', 'after-headers'), 'network'),
  ]);
}

/** Silence, with and without pings. */
function silence(): readonly ProviderFault[] {
  return wires.flatMap((wire) => [
    retried('silence before the head', wire, fault.connection('stall'), 'timeout', firstByte),
    retried(
      'silence after the head',
      wire,
      fault.connection('stall', 'after-headers'),
      'timeout',
      firstByte,
    ),
    retried('silence in mid-text', wire, fault.stall(midText), 'timeout', betweenBytes),
    retried(
      'silence in mid-arguments',
      wire,
      fault.stall({ during: asking('a text of some length'), afterCharacters: 20 }),
      'timeout',
      { ...betweenBytes, asksTool: 'a text of some length' },
    ),
    failedOver(
      'nothing but pings in mid-text',
      wire,
      fault.stall({ ...midText, pingEveryMs }),
      'timeout',
      { limits: { betweenBytesMs: deadlineMs, thinkingMs: deadlineMs + 100 } },
    ),
  ]);
}

function silenceThatStays(): readonly ProviderFault[] {
  return [
    spent(
      'silence before the head stays',
      'anthropic',
      fault.connection('stall'),
      'timeout',
      firstByte,
    ),
  ];
}

/** Delays that the vendor tells. */
function requestedDelays(): readonly ProviderFault[] {
  const slow = { error: { message: 'Slow down.' } };
  const limited = (headers: Readonly<Record<string, string>>) =>
    fault.http(429, { ...slow, headers });
  const date = 'Tue, 26 Mar 2024 19:59:59 GMT';
  const twoSecondsOn = 'Tue, 26 Mar 2024 20:00:01 GMT';
  return [
    ...wires.flatMap((wire) => [
      retried('429, retry-after in seconds', wire, limited({ 'retry-after': '1' }), 'rate_limit', {
        gapMs: 1_000,
      }),
      retried(
        '429, retry-after-ms wins',
        wire,
        limited({ 'retry-after-ms': '700', 'retry-after': '3600' }),
        'rate_limit',
        { gapMs: 700 },
      ),
      retried(
        '429, retry-after as a date',
        wire,
        limited({ date, 'retry-after': twoSecondsOn }),
        'rate_limit',
        { gapMs: 2_000 },
      ),
      failedOver(
        '429, retry-after of an hour',
        wire,
        limited({ 'retry-after': '3600' }),
        'rate_limit',
      ),
    ]),
    retried(
      '503, retry-after in seconds',
      'responses',
      fault.http(503, { headers: { 'retry-after': '1' } }),
      'overloaded',
      { gapMs: 1_000 },
    ),
    retried(
      '429, reset of the empty bucket',
      'chat',
      limited({
        'x-ratelimit-remaining-requests': '0',
        'x-ratelimit-reset-requests': '900ms',
        'x-ratelimit-remaining-tokens': '100',
        'x-ratelimit-reset-tokens': '6m0s',
      }),
      'rate_limit',
      { gapMs: 900 },
    ),
    retried(
      '429, a delay in words',
      'chat',
      fault.http(429, { error: { message: 'Rate limit reached. Please try again in 1.2s.' } }),
      'rate_limit',
      { gapMs: 1_200 },
    ),
  ];
}

/** Milliseconds of cooldown in the rows that wait for it. */
const shortCooldownMs = 300;
const shortCooldowns: Limits['cooldownMs'] = {
  auth: shortCooldownMs,
  rate_limit: shortCooldownMs,
  billing: shortCooldownMs,
  timeout: shortCooldownMs,
  overloaded: shortCooldownMs,
  model_not_found: shortCooldownMs,
  format: 0,
  network: shortCooldownMs,
  context_overflow: 0,
  content_filter: 0,
  unknown: shortCooldownMs,
};

/** All routes are cooling down, and waiting helps. */
function durableWaits(): readonly ProviderFault[] {
  const options = { limits: { maxProviderWaitMs: 60_000, cooldownMs: shortCooldowns } };
  return wires.flatMap((wire) => [
    waited('529 until the cooldown ends', wire, fault.http(529), 'overloaded', options),
  ]);
}

/** Lawful oddities: no call is lost. */
function oddities(): readonly ProviderFault[] {
  return wires.flatMap((wire) => [
    unhurt('CRLF line ends', wire, fault.crlf(done)),
    unhurt('one byte per write', wire, fault.oneByteChunks(done)),
    unhurt('head 500 ms late', wire, fault.lateHeaders(500, done)),
    unhurt('a storm of pings', wire, fault.storm(500, 'ping', { during: done })),
    unhurt('a storm of comments', wire, fault.storm(500, 'comment', { during: done })),
    unhurt('pause within the deadline', wire, fault.pause(600, { pingEveryMs, during: done })),
  ]);
}

function foreignEvents(): readonly ProviderFault[] {
  const text = 'event: vendor_news\ndata: {"type":"vendor_news","text":"new"}\n\n';
  return [
    unhurt('an event of a new kind', 'anthropic', fault.insert(text, { during: done })),
    unhurt('an event of a new kind', 'responses', fault.insert(text, { during: done })),
    unhurt(
      'a reply with reasoning first',
      'responses',
      reply.text('done', { reasoning: 'What was asked, and what is there.' }),
    ),
  ];
}

/** Rows of this kind. */
export function silenceFaults(): readonly ProviderFault[] {
  return [
    ...way(),
    ...silence(),
    ...silenceThatStays(),
    ...requestedDelays(),
    ...durableWaits(),
    ...oddities(),
    ...foreignEvents(),
  ];
}
