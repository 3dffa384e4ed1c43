/** Receivers of notifications whose answers have no end: nothing of a body is read, and the status decides. */
import { once } from 'node:events';
import type { ServerResponse } from 'node:http';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';
import { NotifierError } from '../../activities/definitions/notifier';
import { postJson } from '../../activities/notifiers/post-json';

const mebibyte = 1024 * 1024;
const zeros = gzipSync(Buffer.alloc(64 * mebibyte));

function endless(answer: ServerResponse, piece: string | Buffer): void {
  const more = (): void => {
    while (!answer.destroyed && answer.write(piece));
  };
  answer.on('drain', more);
  more();
}

async function posted(
  answerWith: (answer: ServerResponse) => void,
  timeoutMs = 20_000,
): Promise<NotifierError | undefined> {
  const server = createServer((request, answer) => {
    request.resume();
    answer.on('error', () => undefined);
    answerWith(answer);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/secret`;
  const { signal } = new AbortController();
  try {
    await postJson(url, '{}', {}, { signal, timeoutMs });
    return undefined;
  } catch (thrown) {
    if (thrown instanceof NotifierError) return thrown;
    throw thrown;
  } finally {
    server.closeAllConnections();
    server.close();
  }
}

test.each([
  [200, undefined],
  [500, /answered 500/],
  [404, /answered 404/],
])('a body without end behind a %i costs nothing', async (status, message) => {
  const before = process.memoryUsage.rss();
  for (const [piece, headers] of [
    ['no '.repeat(20_000), {}],
    [zeros, { 'content-encoding': 'gzip' }],
  ] as const) {
    const error = await posted((answer) => {
      answer.writeHead(status, headers);
      endless(answer, piece);
    });
    if (message === undefined) expect(error).toBeUndefined();
    else expect(error?.message).toMatch(message);
  }
  expect(process.memoryUsage.rss() - before).toBeLessThan(200 * mebibyte);
});

test('headers of 1 MB are a failure that does not name the path', async () => {
  const error = await posted((answer) => {
    answer.socket?.end(`HTTP/1.1 200 OK\r\nx-long: ${'a'.repeat(mebibyte)}\r\n\r\n`);
  });
  expect(error?.message).toContain('cannot be reached');
  expect(error?.message).not.toContain('secret');
});

test('headers that never end are cut by the deadline', async () => {
  const error = await posted((answer) => {
    const timer = setInterval(() => answer.socket?.write('x-a: b\r\n'), 20);
    answer.socket?.write('HTTP/1.1 200 OK\r\n');
    answer.on('close', () => {
      clearInterval(timer);
    });
  }, 300);
  expect(error?.message).toMatch(/cannot be reached: (?:no answer in time|TimeoutError)/);
});
