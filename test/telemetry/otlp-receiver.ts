/** A receiver of OTLP over HTTP on loopback, and the page that Prometheus would scrape. */
import { createServer } from 'node:http';
import type { IncomingHttpHeaders } from 'node:http';
import type { AddressInfo } from 'node:net';

/** One value of OTLP's JSON form. */
interface AnyValue {
  readonly stringValue?: string;
  readonly intValue?: number | string;
  readonly doubleValue?: number;
  readonly boolValue?: boolean;
  readonly arrayValue?: { readonly values?: readonly AnyValue[] };
}

interface KeyValue {
  readonly key: string;
  readonly value: AnyValue;
}

interface OtlpSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly startTimeUnixNano: string;
  readonly endTimeUnixNano: string;
  readonly attributes: readonly KeyValue[];
  readonly status: { readonly code?: number; readonly message?: string };
}

interface TraceRequest {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly KeyValue[] };
    readonly scopeSpans: readonly { readonly spans: readonly OtlpSpan[] }[];
  }[];
}

/** A received span, with plain attributes. */
export interface ReceivedSpan extends Omit<OtlpSpan, 'attributes'> {
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly serviceName: unknown;
}

/** What arrived. */
export interface OtlpReceiver {
  readonly url: string;
  spans(): readonly ReceivedSpan[];
  /** Bodies that came to a path, as bytes. */
  bodies(path: string): readonly Buffer[];
  readonly headers: readonly IncomingHttpHeaders[];
  close(): Promise<void>;
}

function plain(value: AnyValue): unknown {
  const { stringValue, intValue, doubleValue, boolValue, arrayValue } = value;
  if (arrayValue !== undefined) return (arrayValue.values ?? []).map(plain);
  if (intValue !== undefined) return Number(intValue);
  return stringValue ?? doubleValue ?? boolValue;
}

function attributesOf(pairs: readonly KeyValue[]): Readonly<Record<string, unknown>> {
  return Object.fromEntries(pairs.map(({ key, value }) => [key, plain(value)]));
}

/** Starts the receiver on a free port. */
export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const received: { readonly path: string; readonly body: Buffer }[] = [];
  const headers: IncomingHttpHeaders[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      headers.push(request.headers);
      received.push({ path: request.url ?? '', body: Buffer.concat(chunks) });
      response.setHeader('content-type', request.headers['content-type'] ?? 'application/json');
      response.end(request.headers['content-type']?.includes('json') === true ? '{}' : '');
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const bodies = (path: string): readonly Buffer[] =>
    received.filter((each) => each.path === path).map(({ body }) => body);
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    headers,
    bodies,
    spans: () =>
      bodies('/v1/traces').flatMap((body) =>
        (JSON.parse(body.toString()) as TraceRequest).resourceSpans.flatMap(
          ({ resource, scopeSpans }) =>
            scopeSpans.flatMap(({ spans }) =>
              spans.map((span) => ({
                ...span,
                attributes: attributesOf(span.attributes),
                serviceName: attributesOf(resource.attributes)['service.name'],
              })),
            ),
        ),
      ),
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}

/** A port that is free now. */
export async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Sum of a counter's samples on a page in Prometheus' text form, of those with all of these labels. */
export function sampleSum(
  page: string,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number {
  const wanted = Object.entries(labels).map(([key, value]) => `${key}="${value}"`);
  return page
    .split('\n')
    .filter((line) => line.startsWith(`${name}{`) && wanted.every((label) => line.includes(label)))
    .reduce((sum, line) => sum + Number(line.split(' ').at(-1)), 0);
}
