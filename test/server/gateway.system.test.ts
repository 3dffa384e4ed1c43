/** The gateway's own surface, without a run: headers, problems, limits, other sites, and its end. No Temporal answers here. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { execFileSync } from 'node:child_process';
import { Client, Connection } from '@temporalio/client';
import { closedConnection } from '../../client/closed-connection';
import { pino } from 'pino';
import { AgentClient } from '../../client/index';
import type { Gateway } from '../../server/gateway';
import { createGateway } from '../../server/gateway';
import { makeToken } from '../../server/http/access-tokens';
import type { GatewayOptions } from '../../server/ports';

const { token, entry } = makeToken({ name: 'ada', role: 'operate' });
const authorization = `Bearer ${token}`;
const gateways: Gateway[] = [];
const logged: string[] = [];
let connection: Connection;

beforeAll(() => {
  connection = Connection.lazy({ address: '127.0.0.1:1', plugins: [closedConnection] });
});
afterEach(async () => {
  await Promise.all(gateways.splice(0).map((gateway) => gateway.close()));
});
afterAll(() => connection.close());

async function serve(options: Partial<GatewayOptions> = {}): Promise<string> {
  const gateway = await createGateway({
    client: new AgentClient(new Client({ connection })),
    tokens: [entry],
    log: pino({}, { write: (line) => logged.push(line) }),
    version: '1.0.0',
    ...options,
  });
  gateways.push(gateway);
  return gateway.app.listen({ port: 0, host: '127.0.0.1' });
}

test('every answer has the headers of a service for programs, and every error is a problem', async () => {
  const url = await serve();
  for (const path of ['/healthz', '/openapi.json', '/v1/token', '/v1/runs', '/nothing', '/%zz']) {
    const answer = await fetch(`${url}${path}`, { headers: { authorization } });
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff');
    if (path === '/%zz') continue;
    expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'");
    expect(answer.headers.get('access-control-allow-origin')).toBeNull();
    if (answer.status < 400) continue;
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    expect(await answer.json()).toMatchObject({
      type: expect.stringMatching(/^urn:holdfast:problem:/) as string,
      status: answer.status,
      detail: expect.stringMatching(/\.$/) as string,
    });
  }
});

test('what is wrong with the deployment is in the log, and not in the answer', async () => {
  const url = await serve();
  const answer = await fetch(`${url}/v1/runs`, { headers: { authorization } });
  expect(answer.status).toBe(503);
  expect(answer.headers.get('retry-after')).toBe('2');
  expect(await answer.text()).not.toMatch(/127\.0\.0\.1|Temporal|TEMPORAL/);
  expect(logged.join('')).toContain('Temporal does not answer');
  expect(logged.join('')).not.toContain(token);
  expect((await fetch(`${url}/readyz`)).status).toBe(503);
  expect((await fetch(`${url}/healthz`)).status).toBe(200);
});

test('the log names who asked for a change, and nobody where no token is known', async () => {
  const url = await serve();
  logged.splice(0);
  const body = JSON.stringify({ agent: 'a' });
  const headers = { 'content-type': 'application/json' };
  await fetch(`${url}/v1/runs`, { method: 'POST', headers, body });
  await fetch(`${url}/v1/runs`, { method: 'POST', headers: { ...headers, authorization }, body });
  const lines = logged.map((line) => JSON.parse(line) as Record<string, unknown>);
  expect(lines).toMatchObject([
    { msg: 'request', token: 'nobody', route: '/v1/runs', status: 401 },
    { msg: 'request', token: 'ada', route: '/v1/runs', status: 400 },
  ]);
});

test('a token and an address that ask too much are told when to come again', async () => {
  const url = await serve({ limits: { requestsPerMinute: 3, failuresPerMinute: 2 } });
  const ask = async (header: string) => {
    const { status, headers } = await fetch(`${url}/v1/token`, {
      headers: { authorization: header },
    });
    return [status, headers.get('retry-after') === null];
  };
  for (let at = 0; at < 3; at += 1) expect(await ask(authorization)).toEqual([200, true]);
  expect(await ask(authorization)).toEqual([429, false]);
  for (let at = 0; at < 2; at += 1) expect(await ask('Bearer wrong')).toEqual([401, true]);
  expect(await ask('Bearer wrong')).toEqual([429, false]);
});

test('pages of other sites may call if they are named, and none else', async () => {
  const url = await serve({ corsOrigins: ['https://app.example'] });
  const allowedFor = async (origin: string) => {
    const headers = { origin, 'access-control-request-method': 'POST' };
    const answer = await fetch(`${url}/v1/runs`, { method: 'OPTIONS', headers });
    return answer.headers.get('access-control-allow-origin');
  };
  expect(await allowedFor('https://app.example')).toBe('https://app.example');
  expect(await allowedFor('https://app.example.evil')).toBeNull();
  expect(await allowedFor('null')).toBeNull();
});

test('a request that arrives too slowly is ended', async () => {
  const { port } = new URL(await serve({ limits: { requestMs: 500 } }));
  const socket = connect(Number(port), '127.0.0.1');
  socket.write(
    `POST /v1/runs HTTP/1.1\r\nhost: x\r\nauthorization: ${authorization}\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\r\n{`,
  );
  const [answer] = (await once(socket, 'data')) as [Buffer];
  expect(answer.toString()).toMatch(/^HTTP\/1\.1 408 /);
  socket.destroy();
});

test('the types that a client generates are up to date; "npm run gateway-types" writes them', () => {
  const script = [
    '--require',
    './test/support/compile-typescript.cjs',
    'scripts/write-gateway-types.ts',
  ];
  execFileSync(process.execPath, [...script, '--check'], { stdio: 'ignore' });
});
