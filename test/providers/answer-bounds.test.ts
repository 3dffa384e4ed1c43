/**
 * Answers without end, through the real SDKs and Node's own fetch: memory stays flat, the event loop turns, the error names the
 * bound, and the next route is asked.
 *
 * Sources of the inputs: lysine-dev/okhttp#9473 and ffuf/ffuf#897 (gzip bombs behind a transparent decompression),
 * itzg/docker-minecraft-server#4062 (the same with br, where a bound for gzip was missing), openai/openai-node#2324 and
 * anthropics/anthropic-sdk-typescript#1096 (time in proportion to the square of an event's size or number),
 * assistant-ui/assistant-ui#7257 (one large event in small pieces).
 */
import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { performance } from 'node:perf_hooks';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { anthropicProvider } from '../../activities/providers/anthropic/anthropic-provider';
import { openaiProvider } from '../../activities/providers/openai/openai-provider';
import { boundedAnswer } from '../../activities/providers/stream/answer-bounds';
import type { WireName } from '../../testing/emulator/wire';
import { failureOf, requestFor, sendOptions, testKey, wires } from './support/provider-bench';

type Answer = (answer: ServerResponse, request: IncomingMessage) => void;

/** Writes the piece until the reader is gone; `limitBytes` ends it for readers that never go. */
function endless(
  answer: ServerResponse,
  piece: string | Buffer,
  limitBytes = 20_000_000_000,
): void {
  let bytes = 0;
  const more = (): void => {
    while (!answer.destroyed && bytes < limitBytes) {
      bytes += piece.length;
      if (!answer.write(piece)) return;
    }
    answer.end();
  };
  answer.on('drain', more);
  more();
}

const sse = { 'content-type': 'text/event-stream' };
const mebibyte = 1024 * 1024;
const event = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;
const chunk = (delta: object): string => event({ choices: [{ index: 0, delta }] });

function streaming(piece: string | Buffer, first = ''): Answer {
  return (answer) => {
    answer.writeHead(200, sse);
    if (first !== '') answer.write(first);
    endless(answer, piece);
  };
}

/** 64 MiB of zeros as one gzip member; members follow each other. */
const zeros = gzipSync(Buffer.alloc(64 * mebibyte), { level: 9 });
const brotliZeros = brotliCompressSync(Buffer.alloc(64 * mebibyte), {
  params: { [constants.BROTLI_PARAM_QUALITY]: 1 },
});

const bombs: readonly (readonly [name: string, found: string, answer: Answer])[] = [
  ['a line without end', 'bytes of one event or line', streaming('a'.repeat(65_536), 'data: ')],
  [
    'a line without end, in pieces',
    'bytes of one event or line',
    streaming('a'.repeat(200), 'data: '),
  ],
  ['lines without an event', 'bytes of one event or line', streaming('data: {}\n'.repeat(7_000))],
  ['events without content', 'events', streaming(`event: note\n${event({})}`.repeat(6_000))],
  ['comments without end', 'events', streaming(': ping\n\n'.repeat(8_000))],
  [
    '10 GB of zeros behind gzip',
    'bytes of one event or line',
    (answer) => {
      answer.writeHead(200, { ...sse, 'content-encoding': 'gzip' });
      endless(answer, zeros, zeros.length * 160);
    },
  ],
  [
    'zeros behind br',
    'bytes of one event or line',
    (answer) => {
      answer.writeHead(200, { ...sse, 'content-encoding': 'br' });
      answer.end(brotliZeros);
    },
  ],
  [
    '1 MB of headers',
    '16 KB of headers',
    (answer) => {
      answer.socket?.end(`HTTP/1.1 200 OK\r\nx-long: ${'a'.repeat(mebibyte)}\r\n\r\n`);
    },
  ],
];

const chatBombs: readonly (readonly [name: string, found: string, answer: Answer])[] = [
  [
    'text without end',
    'characters of a reply',
    streaming(chunk({ content: 'word '.repeat(6_000) })),
  ],
  [
    'text of 2.5 MB in one event, and silence',
    'characters of a reply',
    (answer) => {
      answer.writeHead(200, sse);
      answer.write(chunk({ content: 'word '.repeat(500_000) }));
    },
  ],
  ['thoughts of one letter', 'events', streaming(chunk({ reasoning_content: 'a' }).repeat(700))],
  [
    'calls without end',
    'parts of a reply',
    (answer) => {
      answer.writeHead(200, sse);
      for (let index = 0; index < 11_000; index += 1)
        answer.write(chunk({ tool_calls: [{ index, id: `c${index}`, function: { name: 'a' } }] }));
      answer.end();
    },
  ],
];

/** The longest time that this process worked without a turn of its event loop, and the most memory on top of before, while `work` ran. */
async function watched<Result>(work: () => Promise<Result>): Promise<{
  readonly result: Result;
  readonly heldMs: number;
  readonly grownBytes: number;
}> {
  const before = process.memoryUsage.rss();
  let [heldMs, most, turnedAtMs] = [0, before, performance.now()];
  let cpu = process.cpuUsage();
  const timer = setInterval(() => {
    const [nowMs, used] = [performance.now(), process.cpuUsage(cpu)];
    // Another process may have held the processor: only what this one worked counts.
    heldMs = Math.max(heldMs, Math.min(nowMs - turnedAtMs, (used.user + used.system) / 1_000));
    most = Math.max(most, process.memoryUsage.rss());
    turnedAtMs = nowMs;
    cpu = process.cpuUsage();
  }, 5);
  try {
    const result = await work();
    return { result, heldMs, grownBytes: most - before };
  } finally {
    clearInterval(timer);
  }
}

async function serving<Result>(
  answer: Answer,
  use: (url: string) => Promise<Result>,
): Promise<Result> {
  const server = createServer((request, response) => {
    request.resume();
    response.on('error', () => undefined);
    answer(response, request);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  try {
    return await use(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

function callOn(wire: WireName, baseUrl: string): ReturnType<typeof failureOf> {
  const provider =
    wire === 'anthropic'
      ? anthropicProvider({ apiKey: testKey, baseUrl })
      : openaiProvider({ api: wire, apiKey: testKey, baseUrl });
  return failureOf(provider.send(requestFor(wire), sendOptions({ thinkingMs: 600_000 })));
}

/** The sending server is in this process too; without bounds these answers hold the loop for many seconds. */
const allowedMs = 2_000;
/** What Node may not have collected yet on a busy machine, far below what is sent. */
const allowedBytes = 1_000 * mebibyte;

const cases = [
  ...wires.flatMap((wire) => bombs.map(([name, ...rest]) => [wire, name, ...rest] as const)),
  ...chatBombs.map(([name, ...rest]) => ['chat', name, ...rest] as const),
];

test.each(cases)('%s: %s ends the call', async (wire, _name, found, answer) => {
  const { result, heldMs, grownBytes } = await watched(() =>
    serving(answer, (url) => callOn(wire, url)),
  );
  expect(result).toMatchObject({ code: 'network', refusesRetry: true });
  expect(result.message).toContain(`sent more than`);
  expect(result.message).toContain(found);
  expect(heldMs).toBeLessThan(allowedMs);
  expect(grownBytes).toBeLessThan(allowedBytes);
});

test.each([
  [429, 'rate_limit', 'text without end', streamingError(429)],
  [500, 'overloaded', 'text without end', streamingError(500)],
  [400, 'format', 'zeros behind gzip', streamingError(400, zeros)],
  [401, 'auth', 'a body that never comes', silentError(401)],
] as const)(
  'the body of a %i is read only as far as it helps',
  async (_status, code, _what, answer) => {
    const { result, heldMs, grownBytes } = await watched(() =>
      serving(answer, (url) => callOn('chat', url)),
    );
    expect(result.code).toBe(code);
    expect(heldMs).toBeLessThan(allowedMs);
    expect(grownBytes).toBeLessThan(allowedBytes);
  },
);

function streamingError(status: number, zipped?: Buffer): Answer {
  return (answer) => {
    const encoding = zipped === undefined ? {} : { 'content-encoding': 'gzip' };
    answer.writeHead(status, { 'content-type': 'text/plain', ...encoding });
    endless(answer, zipped ?? 'no '.repeat(20_000), zipped && zipped.length * 100);
  };
}

function silentError(status: number): Answer {
  return (answer) => {
    answer.writeHead(status, { 'content-type': 'application/json' });
    answer.flushHeaders();
  };
}

async function piecesOf(chunks: Iterable<string>): Promise<readonly string[]> {
  const body = ReadableStream.from(Array.from(chunks, (each) => Buffer.from(each)));
  const pieces: string[] = [];
  for await (const piece of body.pipeThrough(boundedAnswer(() => undefined)))
    pieces.push(Buffer.from(piece).toString());
  return pieces;
}

describe('an answer within the bounds', () => {
  test.each(['\n\n', '\r\n\r\n', '\r\r'])(
    'comes in whole events, whose ends are %j',
    async (end) => {
      const whole = `: hi${end}data: 1${end}data: 2`;
      for (let at = 1; at < whole.length; at += 1) {
        const pieces = await piecesOf([whole.slice(0, at), whole.slice(at)]);
        expect(pieces.join('')).toBe(whole);
        // A CRLF that two chunks share is one end to any reader.
        for (const piece of pieces.slice(0, -1))
          expect(piece).toMatch(/(?:\r\r|\n\r?\n|\n\r|^\n)$/);
      }
      expect((await piecesOf(whole)).join('')).toBe(whole);
    },
  );

  test('is passed on in small pieces, however many events come at once', async () => {
    const pieces = await piecesOf([': ping\n\n'.repeat(8_000)]);
    expect(Math.max(...pieces.map(({ length }) => length))).toBeLessThan(8_192);
  });

  test('of one event of 1 MB in pieces of 16 bytes is one piece, in time in proportion', async () => {
    const pieces = Array.from({ length: mebibyte / 16 }, () => 'a'.repeat(16));
    expect(await piecesOf(['data: ', ...pieces, '\n\n'])).toEqual([`data: ${pieces.join('')}\n\n`]);
  });
});
