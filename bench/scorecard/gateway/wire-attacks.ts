/** Attacks on the wire: paths, sizes, slowness, headers, floods. */
import { connect } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import type { AttackField, GatewayAttack } from './gateway-attack';
import { ask, letIn, letInRaw, raw, victimPath } from './gateway-attack';

const crlf = '\r\n';
const requestTo = (path: string, headers: readonly string[] = [], body = ''): string =>
  [`GET ${path} HTTP/1.1`, 'host: x', 'connection: close', ...headers, '', body].join(crlf);

/** A path that is not where the rules look; no token is sent. */
const pathAttack = (path: string): GatewayAttack => ({
  area: 'paths',
  tries: `GET ${path.length > 60 ? `${path.slice(0, 40)}… (${path.length} characters)` : path}`,
  attempt: async (field) => letInRaw(field, await raw(field, requestTo(path))),
});

const paths: readonly GatewayAttack[] = [
  '/healthz/../v1/runs',
  '/openapi.json/../v1/runs',
  '/v1/../v1/runs',
  '//v1/runs',
  '/v1//runs',
  '/V1/RUNS',
  '/%76%31/runs',
  '/v1/runs/',
  '/v1/runs;token=x',
  '/v1/runs%00',
  '/v1/runs/%2e%2e%2f%2e%2e%2fetc%2fpasswd',
  '/v1/runs/%252e%252e%252fpasswd',
  '/..%5c..%5cetc/passwd',
  '/../../../../etc/passwd',
  '/v1/runs/%c0%ae%c0%ae/',
  '/v1/runs/%zz',
  'http://evil.example/v1/runs',
  `/v1/runs/${'a'.repeat(12_000)}`,
  `/v1/runs?${'limit=1&'.repeat(1_500)}`,
].map(pathAttack);

/** Sent with a token that may do it: too much of it must be refused, not kept. */
const sizeAttack = (
  tries: string,
  text: () => string,
  path = '/v1/runs',
  headers: Readonly<Record<string, string>> = {},
): GatewayAttack => ({
  area: 'size',
  tries,
  async attempt(field) {
    const { acme: token } = field.tokens;
    const asked = { token, text: text(), headers };
    // The gateway may hang up while the body is still on its way.
    const answer = await ask(field, path, asked).catch(() => undefined);
    return answer === undefined ? undefined : letIn(field, answer);
  },
});

const goalOf = (goal: string): string => JSON.stringify({ agent: 'clerk', goal });

const sizes: readonly GatewayAttack[] = [
  sizeAttack(
    '2 MB for a decision',
    () => JSON.stringify({ digest: 'x'.repeat(2e6) }),
    '/v1/runs/x/stop',
  ),
  sizeAttack('17 MB for a start', () => goalOf('x'.repeat(17e6))),
  sizeAttack('a goal of 1 MB', () => goalOf('x'.repeat(1e6))),
  sizeAttack(
    '100,000 nested lists',
    () => `{"agent":"clerk","goal":${'['.repeat(1e5)}${']'.repeat(1e5)}}`,
  ),
  sizeAttack('a context of 100,000 fields', () => {
    const context = Object.fromEntries(Array.from({ length: 1e5 }, (_, at) => [`k${at}`, at]));
    return JSON.stringify({ agent: 'clerk', goal: 'x', context });
  }),
  sizeAttack('200,000 parts', () =>
    JSON.stringify({
      agent: 'clerk',
      goal: Array.from({ length: 2e5 }, () => ({ type: 'text', text: '' })),
    }),
  ),
  sizeAttack('a number without end', () => '{"agent":"clerk","goal":"x","budget":{"usd":1e999}}'),
  sizeAttack('a compressed body', () => gzipSync(goalOf('x')).toString('latin1'), '/v1/runs', {
    'content-encoding': 'gzip',
  }),
  sizeAttack('an idempotency key of 10,000 characters', () => goalOf('x'), '/v1/runs', {
    'idempotency-key': 'k'.repeat(10_000),
  }),
  {
    area: 'size',
    tries: '40 KB of headers, and 3,000 of them',
    async attempt(field) {
      const long = await raw(field, requestTo('/v1/runs', [`x: ${'a'.repeat(40_000)}`]));
      const many = await raw(
        field,
        requestTo(
          '/v1/runs',
          Array.from({ length: 3_000 }, (_, at) => `x${at}: a`),
        ),
      );
      return letInRaw(field, long) ?? letInRaw(field, many);
    },
  },
  {
    area: 'size',
    tries: 'a chunked body without end, and twenty large bodies at once',
    async attempt(field) {
      const { acme: token } = field.tokens;
      const head = [
        'POST /v1/runs HTTP/1.1',
        'host: x',
        `authorization: Bearer ${token}`,
        'content-type: application/json',
        'transfer-encoding: chunked',
        '',
        '',
      ].join(crlf);
      const chunk = `10000${crlf}${'['.repeat(0x10000)}${crlf}`;
      const harm = letInRaw(
        field,
        await raw(field, [head, ...Array.from({ length: 300 }, () => chunk)]),
      );
      if (harm !== undefined) return harm;
      const text = goalOf('x'.repeat(15e6));
      const all = await Promise.all(
        Array.from({ length: 20 }, () =>
          ask(field, '/v1/runs', { token, text }).catch(() => undefined),
        ),
      );
      return all.map((answer) => answer && letIn(field, answer)).find((harm) => harm !== undefined);
    },
  },
];

/** Opens connections that say this much and no more, and looks whether others are served meanwhile. */
const slowAttack = (
  tries: string,
  text: (field: AttackField) => string,
  count: number,
): GatewayAttack => ({
  area: 'slow',
  tries,
  async attempt(field) {
    const sockets = Array.from({ length: count }, () => {
      const socket = connect(field.port, '127.0.0.1');
      socket.on('error', () => undefined);
      socket.write(text(field), 'latin1');
      return socket;
    });
    try {
      await delay(500);
      const { status } = await ask(field, '/v1/token', { token: field.tokens.admin });
      return status === 200 ? undefined : `others read ${status}`;
    } finally {
      for (const socket of sockets) socket.destroy();
    }
  },
});

const bearer = ({ tokens: { acme } }: AttackField): string => `authorization: Bearer ${acme}`;
const postHead = (field: AttackField, length: number): string =>
  [
    'POST /v1/runs HTTP/1.1',
    'host: x',
    bearer(field),
    'content-type: application/json',
    `content-length: ${length}`,
    '',
    '',
  ].join(crlf);

const slow: readonly GatewayAttack[] = [
  slowAttack('500 connections that say nothing', () => '', 500),
  slowAttack(
    '300 headers that never end',
    () => `GET /v1/runs HTTP/1.1${crlf}host: x${crlf}x-a: `,
    300,
  ),
  slowAttack('300 bodies that never come', (field) => postHead(field, 1_000), 300),
  slowAttack(
    '50 bodies of 15 MB of which little comes',
    (field) => `${postHead(field, 15e6)}{"agent":"`,
    50,
  ),
  slowAttack(
    '30 connections with 200 requests at once',
    () => `GET /healthz HTTP/1.1${crlf}host: x${crlf}${crlf}`.repeat(200),
    30,
  ),
  slowAttack(
    '100 readers of events that never read',
    (field) => requestTo(`${victimPath(field)}/events`, [bearer(field)]),
    100,
  ),
  {
    area: 'slow',
    tries: 'a body that never comes, until the gateway hangs up',
    async attempt(field) {
      const got = await raw(field, postHead(field, 1_000), 45_000);
      return got.startsWith('HTTP/1.1 408') ? undefined : `it waits: ${got.slice(0, 40)}`;
    },
  },
];

const headerAttack = (
  tries: string,
  headers: (field: AttackField) => readonly string[],
  path = '/v1/runs',
): GatewayAttack => ({
  area: 'headers',
  tries,
  attempt: async (field) => letInRaw(field, await raw(field, requestTo(path, headers(field)))),
});

const headers: readonly GatewayAttack[] = [
  headerAttack(
    'a path in other headers',
    () => ['x-original-url: /v1/runs', 'x-rewrite-url: /v1/runs'],
    '/nothing',
  ),
  headerAttack('an address of the gateway itself', () => [
    'x-forwarded-for: 127.0.0.1',
    'x-real-ip: 127.0.0.1',
    'forwarded: for=127.0.0.1',
  ]),
  headerAttack('an upgrade to another protocol', () => [
    'upgrade: h2c',
    'http2-settings: AAMAAABkAAQAAP__',
  ]),
  headerAttack('an upgrade to a web socket', () => [
    'upgrade: websocket',
    'sec-websocket-version: 13',
    'sec-websocket-key: AAAAAAAAAAAAAAAAAAAAAA==',
  ]),
  {
    area: 'headers',
    tries: 'a second request in the body of the first, by two lengths',
    async attempt(field) {
      const inner = `GET /v1/runs HTTP/1.1${crlf}host: x${crlf}${bearer(field)}${crlf}${crlf}`;
      for (const both of [
        ['transfer-encoding: chunked', 'content-length: 4'],
        ['transfer-encoding: xchunked', 'content-length: 0'],
        ['content-length: 0', 'content-length: 400'],
      ]) {
        const head = ['POST /v1/runs HTTP/1.1', 'host: x', ...both, '', ''].join(crlf);
        const got = await raw(field, `${head}0${crlf}${crlf}${inner}`);
        if (/^HTTP\/1\.1 200/m.test(got))
          return `${both.join(' and ')}: the inner request was answered`;
      }
      return undefined;
    },
  },
  {
    area: 'headers',
    tries: 'ids of entries that are none',
    async attempt(field) {
      for (const id of [
        '-1.0.0',
        '1.1.1.1',
        '999999999999.1.1',
        '../1',
        "1' OR 1=1",
        '{}',
        'a'.repeat(8_000),
      ]) {
        const { status } = await ask(field, `${victimPath(field)}/events`, {
          token: field.tokens.acme,
          headers: { 'last-event-id': id },
        });
        if (status !== 400) return `${id.slice(0, 20)} answered ${status}`;
      }
      return undefined;
    },
  },
  {
    area: 'headers',
    tries: 'fields of every object in a body, and in a query',
    async attempt(field) {
      const { acme: token } = field.tokens;
      const bodies = [
        '{"agent":"clerk","goal":"x","__proto__":{"role":"operate"}}',
        '{"agent":"clerk","goal":"x","constructor":{"prototype":{"role":"operate"}}}',
      ];
      for (const text of bodies) {
        const harm = letIn(field, await ask(field, '/v1/runs', { token, text }));
        if (harm !== undefined) return harm;
      }
      return letIn(field, await ask(field, '/v1/runs?__proto__[limit]=1&constructor=1', { token }));
    },
  },
];

const floods: readonly GatewayAttack[] = [
  {
    area: 'floods',
    tries: '700 event streams of one token',
    async attempt(field) {
      const left = new AbortController();
      const open = (token: string) =>
        fetch(`${field.url}${victimPath(field)}/events`, {
          headers: { authorization: `Bearer ${token}` },
          signal: left.signal,
        });
      try {
        const all = await Promise.all(Array.from({ length: 700 }, () => open(field.tokens.acme)));
        const granted = all.filter(({ status }) => status === 200).length;
        if (granted > 500) return `${granted} were granted`;
        const { status } = await open(field.tokens.reader);
        return status === 200 ? undefined : `another token's stream reads ${status}`;
      } finally {
        left.abort();
      }
    },
  },
  {
    area: 'floods',
    tries: '400 streams that connect and leave at once',
    async attempt(field) {
      const { reader: token } = field.tokens;
      await Promise.all(
        Array.from({ length: 400 }, async (_, at) => {
          const signal = AbortSignal.timeout(20 + (at % 50));
          const headers = { authorization: `Bearer ${token}` };
          await fetch(`${field.url}${victimPath(field)}/events`, { headers, signal }).then(
            (answer) => answer.body?.cancel(),
            () => undefined,
          );
        }),
      );
      const { status } = await ask(field, victimPath(field), { token: field.tokens.admin });
      return status === 200 ? undefined : `others read ${status}`;
    },
  },
  {
    area: 'floods',
    tries: '3,000 questions of one token at once',
    async attempt(field) {
      const { globex: token } = field.tokens;
      const statuses: number[] = [];
      for (let round = 0; round < 30; round += 1) {
        const all = Array.from({ length: 100 }, () => ask(field, '/v1/token', { token }));
        statuses.push(...(await Promise.all(all)).map(({ status }) => status));
      }
      if (!statuses.includes(429)) return 'all were answered';
      const { status } = await ask(field, '/v1/token', { token: field.tokens.admin });
      return status === 200 ? undefined : `another token reads ${status}`;
    },
  },
];

/** All of them; floods come last, since limits hold for a minute. */
export const wireAttacks: readonly GatewayAttack[] = [
  ...paths,
  ...sizes,
  ...slow,
  ...headers,
  ...floods,
];
