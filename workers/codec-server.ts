/** Decrypts payloads for Temporal's Web UI and command line, which have no keys: the protocol of Temporal's remote codecs. */
import { createHash, timingSafeEqual } from 'node:crypto';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { PayloadCodec } from '@temporalio/common';
import { z } from 'zod';
import { reasonOf } from './setup-error';

/** Bytes of a request; the Web UI sends a page of a history. */
const maxRequestBytes = 16 * 1024 * 1024;
/** Milliseconds that a request may take to arrive. */
const requestTimeoutMs = 10_000;

/** How a codec server decides who may decrypt. */
export interface CodecServerOptions {
  readonly codecs: readonly PayloadCodec[];
  /** Origins of web pages that may ask, such as `https://temporal.example.com`; compared as they are. */
  readonly origins: readonly string[];
  /** What a caller sends as `Authorization: Bearer <token>`. */
  readonly token: string;
}

/** A payload in the JSON of protobuf: bytes in base64. */
const wirePayload = z.object({
  metadata: z.record(z.string(), z.base64()).optional(),
  data: z.base64().optional(),
});
const wireBody = z.object({ payloads: z.array(wirePayload) });
type WirePayload = z.infer<typeof wirePayload>;
type Payload = Parameters<PayloadCodec['decode']>[0][number];

const ways = { '/encode': 'encode', '/decode': 'decode' } as const;

const digest = (text: string): Buffer => createHash('sha256').update(text).digest();
const bytesOf = (text: string): Buffer => Buffer.from(text, 'base64');
const textOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64');

function mapped<From, To>(fields: Record<string, From>, change: (from: From) => To) {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, change(value)]));
}

const fromWire = ({ metadata = {}, data = '' }: WirePayload): Payload => ({
  metadata: mapped(metadata, bytesOf),
  data: bytesOf(data),
});

const toWire = ({ metadata, data }: Payload): WirePayload => ({
  metadata: mapped(metadata ?? {}, textOf),
  data: textOf(data ?? Buffer.alloc(0)),
});

async function bodyOf(request: IncomingMessage): Promise<string | undefined> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > maxRequestBytes) return undefined;
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString();
}

async function converted(
  codecs: readonly PayloadCodec[],
  way: 'encode' | 'decode',
  payloads: Payload[],
): Promise<Payload[]> {
  const inOrder = way === 'encode' ? codecs : [...codecs].reverse();
  let all = payloads;
  for (const codec of inOrder) all = await codec[way](all);
  return all;
}

/** Only for pages of these origins; a browser asks first. */
function allowOrigin(
  { headers: { origin } }: IncomingMessage,
  response: ServerResponse,
  origins: readonly string[],
): void {
  response.setHeader('Vary', 'Origin');
  response.setHeader('Cache-Control', 'no-store');
  response.setHeader('X-Content-Type-Options', 'nosniff');
  if (origin === undefined || !origins.includes(origin)) return;
  response.setHeader('Access-Control-Allow-Origin', origin);
  response.setHeader('Access-Control-Allow-Methods', 'POST');
  response.setHeader('Access-Control-Allow-Headers', 'Authorization, Content-Type, X-Namespace');
}

async function answer(
  { codecs, origins, token }: CodecServerOptions,
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  allowOrigin(request, response, origins);
  if (request.method === 'OPTIONS') {
    response.writeHead(204).end();
    return;
  }
  const [status, body] = await answerTo(codecs, token, request);
  response.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
}

/** Status and body of the answer. */
async function answerTo(
  codecs: readonly PayloadCodec[],
  token: string,
  request: IncomingMessage,
): Promise<readonly [number, object]> {
  const path = (request.url ?? '').split('?')[0] ?? '';
  const way = Object.hasOwn(ways, path) ? ways[path as keyof typeof ways] : undefined;
  if (way === undefined) return [404, { message: 'Use POST /encode or POST /decode.' }];
  if (request.method !== 'POST') return [405, { message: `Use POST ${path}.` }];
  const given = request.headers.authorization ?? '';
  if (!timingSafeEqual(digest(given), digest(`Bearer ${token}`)))
    return [401, { message: 'Send the header "Authorization: Bearer <token>".' }];
  const body = await bodyOf(request);
  if (body === undefined)
    return [413, { message: `The request has more than ${maxRequestBytes} bytes.` }];
  const parsed = wireBody.safeParse(jsonOf(body));
  if (!parsed.success)
    return [400, { message: 'The body must be {"payloads": [{"metadata", "data"}]}.' }];
  try {
    const payloads = await converted(codecs, way, parsed.data.payloads.map(fromWire));
    return [200, { payloads: payloads.map(toWire) }];
  } catch (thrown) {
    return [400, { message: reasonOf(thrown) }];
  }
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * Makes the server; the caller lets it listen, and closes it.
 *
 * Contract: whoever has the token reads and writes all that the keys encrypt: let it listen on loopback, or behind TLS.
 */
export function createCodecServer(options: CodecServerOptions): Server {
  const server = createServer((request, response) => {
    answer(options, request, response).catch(() => {
      response.destroy();
    });
  });
  server.requestTimeout = requestTimeoutMs;
  server.headersTimeout = requestTimeoutMs;
  return server;
}
