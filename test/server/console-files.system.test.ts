/** The files of the console, as they are built and served: kept by browsers, and nothing beside them can be had. */
import type { IncomingHttpHeaders } from 'node:http';
import { request } from 'node:http';
import { Client, Connection } from '@temporalio/client';
import { closedConnection } from '../../client/closed-connection';
import { pino } from 'pino';
import { AgentClient } from '../../client/index';
import type { Gateway } from '../../server/gateway';
import { createGateway } from '../../server/gateway';
import { makeToken } from '../../server/http/access-tokens';

function gatewayWith(console: boolean): Promise<Gateway> {
  return createGateway({
    client: new AgentClient(
      new Client({ connection: Connection.lazy({ plugins: [closedConnection] }) }),
    ),
    tokens: [makeToken({ name: 'nobody', role: 'view' }).entry],
    log: pino({ enabled: false }),
    version: '0.0.0',
    console,
  });
}

interface Answer {
  readonly status: number | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Asks for a path as it is written: `fetch` would take the dots out of it. */
function get(base: string, path: string, headers: IncomingHttpHeaders = {}): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const { hostname, port } = new URL(base);
    request({ hostname, port, path, headers }, (response) => {
      const chunks: Buffer[] = [];
      response.on('data', (chunk: Buffer) => chunks.push(chunk));
      response.on('end', () => {
        const body = Buffer.concat(chunks).toString();
        resolve({ status: response.statusCode, headers: response.headers, body });
      });
    })
      .on('error', reject)
      .end();
  });
}

let gateway: Gateway;
let url: string;
beforeAll(async () => {
  gateway = await gatewayWith(true);
  url = await gateway.app.listen({ port: 0, host: '127.0.0.1' });
});
afterAll(() => gateway.close());

test('the page loads its own files alone, which browsers keep', async () => {
  const page = await get(url, '/');
  expect(page.status).toBe(200);
  expect(page.headers['content-type']).toBe('text/html; charset=utf-8');
  expect(page.headers['cache-control']).toBe('no-cache');
  expect(page.headers['content-security-policy']).toMatch(
    /^default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; /,
  );
  expect(page.headers['content-security-policy']).not.toMatch(/unsafe|https?:|\*/);
  const loaded = [...page.body.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, path = '']) => path);
  expect(loaded).toHaveLength(3);
  for (const path of loaded.filter((each) => each !== 'data:,')) {
    expect(path).toMatch(/^\/console\/console-[A-Z0-9]{8}\.(js|css)$/);
    const file = await get(url, path);
    expect(file.status).toBe(200);
    expect(file.headers['cache-control']).toBe('public, max-age=31536000, immutable');
    const again = await get(url, path, { 'if-none-match': file.headers.etag });
    expect([again.status, again.body]).toEqual([304, '']);
  }
});

test.each([
  '/console/',
  '/console/..%2fgateway.js',
  '/console/../gateway.js',
  '/console/%2e%2e/gateway.js',
  '/console/..%5cgateway.js',
  '/console/....//gateway.js',
  '/console/%00',
  '/console/index.html%00.js',
  '/console/console-AAAAAAAA.js',
  '/console/constructor',
  '/console/__proto__',
  '//etc/passwd',
])('%s is not found', async (path) => {
  const { status, headers } = await get(url, path);
  expect([400, 404]).toContain(status);
  expect(headers['content-type']).toMatch(/^application\/problem\+json/);
});

test('a gateway without a console has none', async () => {
  const without = await gatewayWith(false);
  const elsewhere = await without.app.listen({ port: 0, host: '127.0.0.1' });
  for (const path of ['/', '/console/index.html'])
    expect((await get(elsewhere, path)).status).toBe(404);
  await without.close();
});
