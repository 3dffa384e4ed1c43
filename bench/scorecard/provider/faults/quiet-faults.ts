/** Faults of silence that is lively, of answers without end, of clocks, and of counts that cannot be true. */
import { gzipSync } from 'node:zlib';
import type { Step } from '../../../../testing/emulator/script';
import { fault, reply } from '../../../../testing/emulator/script';
import type { WireName } from '../../../../testing/emulator/wire';
import { done, failedOver, retried, stoppedAtOnce, unhurt } from '../fault-builders';
import type { RowOptions } from '../fault-builders';
import type { ProviderFault } from '../provider-fault';
import { goodAnswer } from '../provider-fault';

const wires: readonly WireName[] = ['anthropic', 'responses', 'chat'];

/** Above what a loaded machine pauses between two pings, below what the rows wait. */
const silenceMs = 1_500;
const pingEveryMs = 100;
const longerMs = 2_400;
const outlived: RowOptions = { limits: { betweenBytesMs: silenceMs, thinkingMs: 60_000 } };
const ended: RowOptions = { limits: { betweenBytesMs: silenceMs, thinkingMs: silenceMs + 100 } };

const sse = { 'content-type': 'text/event-stream' };

/** A chat answer behind pieces that come while nothing is said. */
function chatBehind(ping: string): Step {
  const data = (choice: object): string =>
    `data: ${JSON.stringify({ choices: [{ index: 0, ...choice }] })}\n\n`;
  const pings = Array.from({ length: 4 }, () => [ping, { waitMs: longerMs / 4 }]).flat();
  const answer = [
    data({ delta: { content: goodAnswer } }),
    data({ delta: {}, finish_reason: 'stop' }),
    'data: [DONE]\n\n',
  ];
  return fault.raw({ headers: sse, pieces: [...pings, ...answer] });
}

function livelySilence(): readonly ProviderFault[] {
  const pause = (during: Parameters<typeof fault.pause>[1]): Step =>
    fault.pause(longerMs, { pingEveryMs, ...during });
  return [
    ...wires.flatMap((wire) => [
      unhurt('pings before any content', wire, pause({ during: done }), outlived),
      unhurt(
        'pings in mid-text',
        wire,
        pause({ during: { ...done, charactersPerDelta: 2 }, afterCharacters: 2 }),
        outlived,
      ),
      failedOver('pings without end', wire, fault.stall({ pingEveryMs }), 'timeout', ended),
    ]),
    unhurt('comments of a router', 'chat', chatBehind(': OPENROUTER PROCESSING\n\n'), outlived),
    unhurt('empty choices', 'chat', chatBehind('data: {"choices":[]}\n\n'), outlived),
    unhurt(
      'empty deltas',
      'chat',
      chatBehind('data: {"choices":[{"index":0,"delta":{"role":"assistant"}}]}\n\n'),
      outlived,
    ),
    stoppedAtOnce(
      'pings without end, on the only route',
      'responses',
      fault.stall({ pingEveryMs }),
      'timeout',
      ended,
    ),
  ];
}

const zeros = gzipSync(Buffer.alloc(64 * 1024 * 1024), { level: 9 });

function answersWithoutEnd(): readonly ProviderFault[] {
  const raw = (piece: string | Buffer, headers: Readonly<Record<string, string>> = {}): Step =>
    fault.raw({ headers: { ...sse, ...headers }, pieces: [piece], end: 'stall' });
  const text = { choices: [{ index: 0, delta: { content: 'word '.repeat(500_000) } }] };
  return [
    ...wires.flatMap((wire) => [
      failedOver('a line of 9 MB', wire, raw(`data: ${'a'.repeat(9_000_000)}`), 'network'),
      failedOver('zeros behind gzip', wire, raw(zeros, { 'content-encoding': 'gzip' }), 'network'),
      failedOver('headers of 20 KB', wire, raw('', { 'x-long': 'a'.repeat(20_000) }), 'network'),
    ]),
    failedOver('600,000 comments', 'anthropic', raw(': p\n\n'.repeat(600_000)), 'network'),
    failedOver('2.5 MB of text', 'chat', raw(`data: ${JSON.stringify(text)}\n\n`), 'network'),
    retried(
      'a 429 with zeros behind gzip',
      'chat',
      fault.raw({
        status: 429,
        headers: { 'content-type': 'application/json', 'content-encoding': 'gzip' },
        pieces: [zeros],
      }),
      'rate_limit',
    ),
  ];
}

function clocks(): readonly ProviderFault[] {
  const limited = (headers: Readonly<Record<string, string>>): Step =>
    fault.http(429, { error: { message: 'Slow down.' }, headers });
  return wires.flatMap((wire) => [
    retried(
      '429, retry-after ten years on',
      wire,
      limited({ 'retry-after': 'Tue, 26 Mar 2041 19:59:59 GMT' }),
      'rate_limit',
    ),
    retried(
      '429, retry-after ten years ago',
      wire,
      limited({ 'retry-after': 'Wed, 26 Mar 2014 19:59:59 GMT' }),
      'rate_limit',
    ),
  ]);
}

function impossibleCounts(): readonly ProviderFault[] {
  const counting = (inputTokens: number): Step =>
    reply.text(goodAnswer, {
      usage: { inputTokens, outputTokens: 2, cacheReadTokens: 0, cacheWriteTokens: 0 },
    });
  return wires.flatMap((wire) => [
    unhurt('counts a billion', wire, counting(1_000_000_000)),
    unhurt('counts nothing', wire, counting(0)),
  ]);
}

/** Rows of this kind. */
export function quietFaults(): readonly ProviderFault[] {
  return [...livelySilence(), ...answersWithoutEnd(), ...clocks(), ...impossibleCounts()];
}
