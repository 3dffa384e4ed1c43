/** Attacks that want in: without a token, with half of one, with another role or tenant. */
import { createHash } from 'node:crypto';
import type { Ask, AttackField, GatewayAttack } from './gateway-attack';
import { ask, changes, letIn, letInRaw, raw, victimPath } from './gateway-attack';

type Field = AttackField;

const tokenAttack = (
  tries: string,
  asked: (field: Field) => Ask & { path?: string },
): GatewayAttack => ({
  area: 'tokens',
  tries,
  async attempt(field) {
    const { path = '', ...rest } = asked(field);
    return letIn(field, await ask(field, `/v1/runs${path}`, rest));
  },
});

const authorization = (value: (field: Field) => string) => (field: Field) => ({
  headers: { authorization: value(field) },
});

const jwt = (claims: object): string =>
  `${Buffer.from('{"alg":"none","typ":"JWT"}').toString('base64url')}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.`;

const tokens: readonly GatewayAttack[] = [
  tokenAttack('no token', () => ({})),
  tokenAttack(
    'an empty one',
    authorization(() => 'Bearer '),
  ),
  tokenAttack(
    'the words undefined and null',
    authorization(() => 'Bearer undefined'),
  ),
  tokenAttack(
    'a token without its scheme',
    authorization(({ tokens: { admin } }) => admin),
  ),
  tokenAttack(
    'a token as a password',
    authorization(
      ({ tokens: { admin } }) => `Basic ${Buffer.from(`admin:${admin}`).toString('base64')}`,
    ),
  ),
  tokenAttack('all but the last character', ({ tokens: { admin } }) => ({
    token: admin.slice(0, -1),
  })),
  tokenAttack('one character more', ({ tokens: { admin } }) => ({ token: `${admin}A` })),
  tokenAttack('the token in upper case', ({ tokens: { admin } }) => ({
    token: admin.toUpperCase(),
  })),
  tokenAttack('the hash that is configured', ({ tokens: { admin } }) => ({
    token: createHash('sha256').update(admin).digest('hex'),
  })),
  tokenAttack('the name of a token', () => ({ token: 'admin' })),
  tokenAttack('a list of tokens', ({ tokens: { admin, acme } }) => ({
    token: `${admin}, ${acme}`,
  })),
  tokenAttack('8 KB of token', () => ({ token: 'a'.repeat(8_000) })),
  tokenAttack('an unsigned JWT of an admin', () => ({
    token: jwt({ sub: 'admin', role: 'operate' }),
  })),
  tokenAttack(
    'SQL',
    authorization(() => "Bearer ' OR '1'='1"),
  ),
  tokenAttack(
    'a glob',
    authorization(() => 'Bearer *'),
  ),
  tokenAttack('the token in the query', ({ tokens: { admin } }) => ({
    path: `?access_token=${admin}&token=${admin}`,
  })),
  tokenAttack('the token in a cookie', ({ tokens: { admin } }) => ({
    headers: { cookie: `token=${admin}; authorization=Bearer%20${admin}` },
  })),
  tokenAttack('the token in other headers', ({ tokens: { admin } }) => ({
    headers: {
      'x-api-key': admin,
      'x-authorization': `Bearer ${admin}`,
      'proxy-authorization': `Bearer ${admin}`,
    },
  })),
  tokenAttack('the token in the body', ({ tokens: { admin } }) => ({
    body: { agent: 'clerk', goal: 'x', token: admin, authorization: `Bearer ${admin}` },
  })),
  {
    area: 'tokens',
    tries: 'a token split by a NUL and by a line end',
    async attempt(field) {
      const { admin } = field.tokens;
      for (const token of [`${admin}\0`, `x\0${admin}`, `x\r\n ${admin}`]) {
        const head = `GET /v1/runs HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${token}\r\nconnection: close\r\n\r\n`;
        const harm = letInRaw(field, await raw(field, head));
        if (harm !== undefined) return harm;
      }
      return undefined;
    },
  },
  {
    area: 'tokens',
    tries: 'two authorization headers, the first of which is wrong',
    async attempt(field) {
      const head = `GET /v1/runs HTTP/1.1\r\nhost: x\r\nauthorization: Bearer wrong\r\nauthorization: Bearer ${field.tokens.admin}\r\nconnection: close\r\n\r\n`;
      return letInRaw(field, await raw(field, head));
    },
  },
  {
    area: 'tokens',
    tries: 'guessing, behind ever new X-Forwarded-For addresses, until nobody counts',
    async attempt(field) {
      const statuses = [];
      for (let at = 0; at < 90; at += 1) {
        const headers = {
          'x-forwarded-for': `10.0.0.${at}`,
          'x-real-ip': `10.0.1.${at}`,
          forwarded: `for=10.0.2.${at}`,
        };
        statuses.push((await ask(field, '/v1/runs', { token: `hf_guess${at}`, headers })).status);
      }
      if (statuses.some((status) => status !== 401 && status !== 429)) return 'a guess got in';
      return statuses.at(-1) === 429 ? undefined : '90 guesses in a row were looked at';
    },
  },
];

const roles: readonly GatewayAttack[] = [
  {
    area: 'roles',
    tries: 'each change of a run, or of a pattern, with a token that only views',
    async attempt(field) {
      const ofRun = changes(field).map(
        ([path, body]) => [`${victimPath(field)}${path}`, body] as const,
      );
      for (const [path, body] of [
        ...ofRun,
        ['/v1/patterns/some/disable', {}],
        ['/v1/patterns/some/enable', {}],
      ] as const) {
        const answer = await ask(field, path, { token: field.tokens.reader, body });
        if (answer.status !== 403) return `${path} answered ${answer.status}`;
      }
      return undefined;
    },
  },
  ...(
    [
      ['a start', { body: { agent: 'clerk', goal: 'x' } }],
      [
        'a start by a header that overrides the method',
        { headers: { 'x-http-method-override': 'POST' }, body: { agent: 'clerk', goal: 'x' } },
      ],
      [
        'a start with a role in a header',
        { headers: { 'x-role': 'operate' }, body: { agent: 'clerk', goal: 'x' } },
      ],
      ['a start with a role in the body', { body: { agent: 'clerk', goal: 'x', role: 'operate' } }],
      ['PUT', { method: 'PUT', text: '{}' }],
      ['DELETE', { method: 'DELETE' }],
      ['PATCH', { method: 'PATCH', text: '{}' }],
    ] satisfies readonly (readonly [string, Ask])[]
  ).map(([what, asked]): GatewayAttack => ({
    area: 'roles',
    tries: `${what} with a token that only views`,
    attempt: async (field) =>
      letIn(field, await ask(field, '/v1/runs', { ...asked, token: field.tokens.reader })),
  })),
];

const tenantLook = (path: string): GatewayAttack => ({
  area: 'tenants',
  tries: `another tenant's run: GET ${path || '/'}`,
  attempt: async (field) =>
    letIn(field, await ask(field, `${victimPath(field)}${path}`, { token: field.tokens.globex })),
});

const tenantQuery = (tries: string, path: (field: Field) => string): GatewayAttack => ({
  area: 'tenants',
  tries,
  async attempt(field) {
    const { status, body } = await ask(field, path(field), { token: field.tokens.globex });
    const isSeen = body.includes(field.victim.runId) || body.includes(field.victim.secret);
    return isSeen ? `shows the other tenant's run with status ${status}` : undefined;
  },
});

const tenantStart = (tries: string, extra: (field: Field) => object): GatewayAttack => ({
  area: 'tenants',
  tries,
  attempt: async (field) =>
    letIn(
      field,
      await ask(field, '/v1/runs', {
        token: field.tokens.globex,
        body: { agent: 'clerk', goal: 'x', ...extra(field) },
      }),
    ),
});

const injected = encodeURIComponent("x' OR HoldfastTenant = 'acme");
const escaped = encodeURIComponent("x\\' OR HoldfastTenant = \\'acme");

const tenants: readonly GatewayAttack[] = [
  ...[
    '',
    '/result',
    '/result?waitMs=1000',
    '/events',
    '/timeline',
    '/transcript',
    '/transcript?at=0',
  ].map(tenantLook),
  {
    area: 'tenants',
    tries: "each change of another tenant's run",
    async attempt(field) {
      for (const [path, body] of changes(field)) {
        const answer = await ask(field, `${victimPath(field)}${path}`, {
          token: field.tokens.globex,
          body,
        });
        if (answer.status !== 404) return `${path} answered ${answer.status}`;
      }
      return undefined;
    },
  },
  {
    area: 'tenants',
    tries: "telling another tenant's run from none by the answer",
    async attempt(field) {
      const { globex: token } = field.tokens;
      const taken = await ask(field, victimPath(field), { token });
      const none = await ask(field, '/v1/runs/nobody', { token });
      const alike = taken.body.replaceAll(field.victim.runId, 'nobody') === none.body;
      return alike && taken.status === none.status ? undefined : 'the answers differ';
    },
  },
  tenantQuery('the list', () => '/v1/runs?limit=1000'),
  tenantQuery('the list of that tenant', () => '/v1/runs?tenant=acme'),
  tenantQuery('two tenants in a query', () => '/v1/runs?tenant=globex&tenant=acme'),
  tenantQuery('a tenant as an array', () => '/v1/runs?tenant[]=acme'),
  tenantQuery('a query in the name of an agent', () => `/v1/runs?agent=${injected}`),
  tenantQuery('an escaped query in the name of an agent', () => `/v1/runs?agent=${escaped}`),
  tenantQuery('a query in the id of a schedule', () => `/v1/runs?scheduleId=${injected}`),
  tenantQuery('the inbox of that tenant', () => '/v1/inbox?tenant=acme'),
  tenantQuery('patterns of that tenant', () => '/v1/patterns?tenant=acme'),
  {
    area: 'tenants',
    tries: "a cursor from the list of another tenant's token",
    async attempt(field) {
      const first = await ask(field, '/v1/runs?limit=1', { token: field.tokens.acme });
      const { next = 'x' } = JSON.parse(first.body) as { readonly next?: string };
      const { body } = await ask(field, `/v1/runs?cursor=${next}`, { token: field.tokens.globex });
      return body.includes(field.victim.runId) ? "shows the other tenant's run" : undefined;
    },
  },
  tenantStart('a run in another tenant', () => ({ tenant: 'acme' })),
  tenantStart("a run that continues another tenant's", ({ victim }) => ({
    continueFrom: victim.runId,
  })),
  tenantStart('a transcript by its hash', () => ({ head: 'a'.repeat(64), storeId: 'x' })),
  tenantStart('the context of another run', () => ({ contextOf: 'a'.repeat(64) })),
  tenantStart('the origins of another run', ({ victim }) => ({
    origins: [{ runKey: victim.runId, iteration: 0 }],
  })),
  tenantStart("the parent's place in another run", ({ victim }) => ({
    parent: { runId: victim.runId, depth: 0 },
  })),
  tenantStart("an id that another tenant's thread will have", () => ({ runId: 'support/acme:2' })),
  tenantStart("the workers' files", () => ({ workspace: '/etc' })),
  tenantStart('other workers', () => ({ taskQueue: 'others' })),
  tenantStart(
    'a tenant by prototype',
    () => JSON.parse('{"__proto__": {"tenant": "acme"}}') as object,
  ),
  {
    area: 'tenants',
    tries: "another tenant's idempotency key",
    async attempt(field) {
      const headers = { 'idempotency-key': 'shared' };
      const body = { agent: 'worker', goal: 'x' };
      const [one, other] = await Promise.all(
        (['acme', 'globex'] as const).map((name) =>
          ask(field, '/v1/runs', { token: field.tokens[name], headers, body }),
        ),
      );
      const runIds = [one, other].map(
        (answer) => (JSON.parse(answer?.body ?? '{}') as { runId?: string }).runId,
      );
      for (const runId of runIds)
        if (runId !== undefined) await field.client.run(runId).stop('done');
      return new Set(runIds).size === 2 ? undefined : "gives the other tenant's run";
    },
  },
  {
    area: 'tenants',
    tries: 'a workflow of the namespace that is no agent run',
    async attempt(field) {
      const workflowId = 'payroll';
      await field.temporal.workflow.start('payroll', { workflowId, taskQueue: 'nobody' });
      try {
        return letIn(
          field,
          await ask(field, `/v1/runs/${workflowId}`, { token: field.tokens.admin }),
        );
      } finally {
        await field.temporal.workflow.getHandle(workflowId).terminate();
      }
    },
  },
];

/** All of them. */
export const entryAttacks: readonly GatewayAttack[] = [...tokens, ...roles, ...tenants];
