/** A vendor that is hostile or broken: replies without end, of any size, with keys that travel and numbers that cannot be. */
import { createServer } from 'node:http';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createGzip } from 'node:zlib';
import { z } from 'zod';
import { defineTool } from '../../../activities/tools/define-tool';
import type { JsonObject } from '../../../workflows/core/json';
import type { RunAttack } from './attack';
import { found } from './attack';
import { vendorKey } from './secret-attacks';

type Vendor = (request: IncomingMessage, response: ServerResponse) => void;

const sse = { 'content-type': 'text/event-stream' };

function frame(event: JsonObject & { readonly type: string }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}

const usage = { input_tokens: 10, output_tokens: 1 };
const start = frame({
  type: 'message_start',
  message: { id: 'm', type: 'message', role: 'assistant', model: 'x', content: [], usage },
});
const stop = (reason = 'end_turn', used: JsonObject = { output_tokens: 5 }): string =>
  frame({ type: 'message_delta', delta: { stop_reason: reason }, usage: used }) +
  frame({ type: 'message_stop' });

function block(index: number, content: JsonObject, ...deltas: readonly JsonObject[]): string {
  return [
    frame({ type: 'content_block_start', index, content_block: content }),
    ...deltas.map((delta) => frame({ type: 'content_block_delta', index, delta })),
    frame({ type: 'content_block_stop', index }),
  ].join('');
}

function call(id: string, name: string, json: string, index = 0): string {
  return block(
    index,
    { type: 'tool_use', id, name, input: {} },
    { type: 'input_json_delta', partial_json: json },
  );
}

/** Writes for as long as the client takes it. */
function endlessly(response: ServerResponse, piece: string | Buffer): void {
  const more = (): void => {
    while (!response.destroyed && response.write(piece));
    if (!response.destroyed) response.once('drain', () => setImmediate(more));
  };
  more();
}

/** Answers each request with the same stream. */
const streams =
  (text: string): Vendor =>
  (request, response) => {
    request.resume();
    response.writeHead(200, sse);
    response.end(text);
  };

/** Begins a stream, then goes on without end. */
const floods =
  (begin: string, piece: string): Vendor =>
  (request, response) => {
    request.resume();
    response.writeHead(200, sse);
    response.write(begin);
    endlessly(response, piece);
  };

const answers =
  (status: number, headers: Readonly<Record<string, string>>, body: string): Vendor =>
  (request, response) => {
    request.resume();
    response.writeHead(status, headers);
    response.end(body);
  };

const kilobytes = 'x'.repeat(64 * 1024);

const bomb: Vendor = (request, response) => {
  request.resume();
  response.writeHead(200, { ...sse, 'content-encoding': 'gzip' });
  const zip = createGzip();
  zip.on('error', () => undefined);
  zip.pipe(response);
  const zeros = Buffer.alloc(1 << 20, 'x');
  const more = (): void => {
    if (response.destroyed) return;
    if (zip.write(zeros)) setImmediate(more);
    else zip.once('drain', more);
  };
  more();
};

const errorBomb: Vendor = (request, response) => {
  request.resume();
  response.writeHead(400, { 'content-type': 'application/json' });
  endlessly(response, kilobytes);
};

const vendors: Readonly<Record<string, Vendor>> = {
  'a line without end': floods('data: ', kilobytes),
  'events without end': floods(start, frame({ type: 'ping' })),
  'unknown events without end': floods(start, frame({ type: 'later', text: kilobytes })),
  'text without end': floods(
    start +
      frame({ type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } }),
    frame({
      type: 'content_block_delta',
      index: 0,
      delta: { type: 'text_delta', text: kilobytes },
    }),
  ),
  'blocks without end': floods(start, block(0, { type: 'text', text: 'x' })),
  'a compressed flood': bomb,
  'an error without end': errorBomb,
  'a header of a megabyte': answers(200, { ...sse, 'x-big': 'x'.repeat(1 << 20) }, start + stop()),
  'a hundred kilobytes of headers': answers(
    200,
    {
      ...sse,
      ...Object.fromEntries(Array.from({ length: 100 }, (_, n) => [`x-${n}`, 'x'.repeat(1_000)])),
    },
    start + stop(),
  ),
  'arguments ten thousand deep': streams(
    start +
      call('t', 'note', `{"text":${'['.repeat(10_000)}${']'.repeat(10_000)}}`) +
      stop('tool_use'),
  ),
  'arguments with __proto__': streams(
    start +
      call(
        't',
        'note',
        '{"text":"x","__proto__":{"taken":true},"constructor":{"prototype":{"taken":true}}}',
      ) +
      stop('tool_use'),
  ),
  'a thousand calls': streams(
    start +
      Array.from({ length: 1_000 }, (_, n) => call(`t${n}`, 'note', '{"text":"x"}', n)).join('') +
      stop('tool_use'),
  ),
  'calls with one id': streams(
    start +
      call('t', 'note', '{"text":"a"}', 0) +
      call('t', 'note', '{"text":"b"}', 1) +
      stop('tool_use'),
  ),
  'an id of a megabyte': streams(
    start + call('t'.repeat(1 << 20), 'note', '{"text":"x"}') + stop('tool_use'),
  ),
  'a name of a megabyte': streams(
    start + call('t', 'n'.repeat(1 << 20), '{"text":"x"}') + stop('tool_use'),
  ),
  'a name of __proto__': streams(
    start + call('t', '__proto__', '{}') + call('u', 'constructor', '{}', 1) + stop('tool_use'),
  ),
  'a name with a path': streams(start + call('t', '../../etc/passwd', '{}') + stop('tool_use')),
  'an index of a thousand million': streams(
    start + block(1_000_000_000, { type: 'text', text: 'x' }) + stop(),
  ),
  'a negative index': streams(start + block(-1, { type: 'text', text: 'x' }) + stop()),
  'usage that cannot be': streams(
    start + stop('end_turn', { output_tokens: 1e308, input_tokens: -5 }),
  ),
  'usage in words': streams(
    start + block(0, { type: 'text', text: 'x' }) + stop('end_turn', { output_tokens: 'many' }),
  ),
  'nulls everywhere': streams(
    'data: null\n\ndata: {"type":null}\n\ndata: []\n\ndata: {"type":"message_start","message":null}\n\n',
  ),
  'a stream of HTML': answers(
    200,
    { 'content-type': 'text/html' },
    '<html><script>alert(1)</script></html>',
  ),
  'bytes that are no text': (request, response) => {
    request.resume();
    response.writeHead(200, sse);
    response.end(Buffer.from(Array.from({ length: 4_096 }, (_, n) => n % 256)));
  },
  'a length that is not kept': (request, response) => {
    request.resume();
    response.writeHead(200, { ...sse, 'content-length': '100000' });
    response.write(start);
    setTimeout(() => response.destroy(), 50);
  },
  'a wait of a thousand years': answers(
    429,
    { 'content-type': 'application/json', 'retry-after': '31536000000' },
    JSON.stringify({ type: 'error', error: { type: 'rate_limit_error', message: 'slow down' } }),
  ),
  'a wait that is no number': answers(
    429,
    { 'content-type': 'application/json', 'retry-after': 'NaN, -1, Thu, 99 Foo 9999' },
    JSON.stringify({ type: 'error', error: { type: 'rate_limit_error', message: 'slow down' } }),
  ),
};

const agent = () => ({
  tools: [
    defineTool({
      name: 'note',
      description: 'Notes.',
      input: z.object({ text: z.string() }),
      effect: 'keyed' as const,
      execute: () => 'noted',
    }),
  ],
});

/** True if an attack reached the prototype of all objects. */
function isPolluted(): boolean {
  const probe: Record<string, unknown> = {};
  return 'taken' in probe;
}

/** Bytes of this process's memory that no reply may add for good. */
const mostAddedBytes = 512 * 1024 * 1024;

const brokenReplies = Object.entries(vendors).map(([name, vendor]): RunAttack => {
  let before = 0;
  return {
    area: 'replies',
    id: name,
    tries: `to stop or fill the worker with ${name}`,
    agent,
    meanwhile: () => {
      before = process.memoryUsage().rss;
      return Promise.resolve();
    },
    vendor,
    harm: () => {
      if (isPolluted()) return 'the prototype of all objects was changed';
      return process.memoryUsage().rss - before > mostAddedBytes
        ? 'the memory was filled'
        : undefined;
    },
  };
});

/** Statuses with which a vendor sends a client, and its key, elsewhere. */
const redirects = [301, 302, 303, 307, 308].map((status): RunAttack => {
  const seen: string[] = [];
  const elsewhere = createServer((request, response) => {
    seen.push(JSON.stringify(request.headers));
    response.end('{}');
  });
  return {
    area: 'replies',
    id: `redirect with ${status}`,
    tries: `to have the key sent to another host by status ${status}`,
    agent,
    prepare: () =>
      new Promise((resolve) => {
        elsewhere.unref().listen(0, '127.0.0.1', resolve);
      }),
    vendor: (request, response) => {
      request.resume();
      const { port } = elsewhere.address() as AddressInfo;
      response.writeHead(status, { location: `http://localhost:${port}/v1/messages` }).end();
    },
    harm: () => {
      elsewhere.close();
      return found(seen.join('\n'), [vendorKey], 'a request to another host');
    },
  };
});

/** All of them. */
export const replyAttacks: readonly RunAttack[] = [...brokenReplies, ...redirects];
