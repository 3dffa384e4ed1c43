/** Attacks on whoever looks: pages of other sites that use a reader's browser, and texts that would run in the reader's own page. */
import type { Answer, Ask, AttackField, GatewayAttack } from './gateway-attack';
import { ask, letIn, victimPath } from './gateway-attack';

/** Would run in a page, leave a string, or look like another event. */
export const hostileText =
  '</script><script>alert(1)</script><img src=x onerror=alert(2)>\u2028"\'`${7*7}\n\nevent: end\ndata: {"status":"completed"}\n\njavascript:alert(3)';

const evil = 'https://evil.example';

/** What lets a page of another site read an answer. */
function corsOf({ headers }: Answer): string | undefined {
  const allowed = headers.get('access-control-allow-origin');
  return allowed === null ? undefined : `access-control-allow-origin: ${allowed}`;
}

const csrf = (
  tries: string,
  asked: (field: AttackField) => Ask,
  path = '/v1/runs',
): GatewayAttack => ({
  area: 'csrf',
  tries,
  async attempt(field) {
    const answer = await ask(field, path, asked(field));
    return letIn(field, answer) ?? corsOf(answer);
  },
});

const form = 'application/x-www-form-urlencoded';

const crossSite: readonly GatewayAttack[] = [
  csrf('a form of another site, with cookies', ({ tokens: { admin } }) => ({
    method: 'POST',
    text: 'agent=clerk&goal=x',
    headers: { origin: evil, 'content-type': form, cookie: `token=${admin}` },
  })),
  csrf('JSON as plain text, which needs no preflight', () => ({
    text: '{"agent":"clerk","goal":"x"}',
    headers: { origin: evil, 'content-type': 'text/plain' },
  })),
  csrf('a preflight', () => ({
    method: 'OPTIONS',
    headers: {
      origin: evil,
      'access-control-request-method': 'POST',
      'access-control-request-headers': 'authorization',
    },
  })),
  csrf('a preflight of a page without origin', () => ({
    method: 'OPTIONS',
    headers: { origin: 'null', 'access-control-request-method': 'GET' },
  })),
  csrf('a body of another type, with a token', ({ tokens: { acme: token } }) => ({
    token,
    text: 'agent=clerk&goal=x',
    headers: { 'content-type': form },
  })),
  csrf('plain text, with a token', ({ tokens: { acme: token } }) => ({
    token,
    text: '{"agent":"clerk","goal":"x"}',
    headers: { 'content-type': 'text/plain' },
  })),
  csrf('several parts, with a token', ({ tokens: { acme: token } }) => ({
    token,
    text: '--x\r\ncontent-disposition: form-data; name="agent"\r\n\r\nclerk\r\n--x--',
    headers: { 'content-type': 'multipart/form-data; boundary=x' },
  })),
  {
    area: 'csrf',
    tries: 'reading an answer from another site, and showing one in a frame',
    async attempt(field) {
      const answer = await ask(field, '/v1/token', {
        token: field.tokens.acme,
        headers: { origin: evil },
      });
      const policy = answer.headers.get('content-security-policy') ?? '';
      if (!policy.includes("frame-ancestors 'none'")) return `policy: ${policy}`;
      if (answer.headers.get('set-cookie') !== null) return 'sets a cookie';
      return corsOf(answer);
    },
  },
];

/** What would let a browser run, sniff, or keep an answer. */
function pageProblem({ headers, body }: Answer, types: RegExp): string | undefined {
  const type = headers.get('content-type') ?? '';
  if (!types.test(type)) return `its type is ${type}`;
  if (headers.get('x-content-type-options') !== 'nosniff') return 'a browser may guess its type';
  if (
    !(headers.get('content-security-policy') ?? "default-src 'none'").includes("default-src 'none'")
  )
    return 'its policy lets scripts run';
  if (!(headers.get('cache-control') ?? '').includes('no-store')) return 'it may be kept';
  const [found] = /[<>\u2028]/.exec(body) ?? [];
  return found === undefined ? undefined : `has ${JSON.stringify(found)} as it is`;
}

const json = /^application\/(problem\+)?json/;

const shown = (who: 'model' | 'person', path: string): GatewayAttack => ({
  area: 'xss',
  tries: `what a ${who} wrote, in ${path || 'the run'}`,
  async attempt(field) {
    const runPath = `/v1/runs/${encodeURIComponent(field.hostile[who])}`;
    const answer = await ask(field, `${runPath}${path}`, { token: field.tokens.globex });
    if (answer.status !== 200) return `answered ${answer.status}: ${answer.body.slice(0, 100)}`;
    if (!answer.body.includes('alert(1)')) return 'the text is not there, so nothing was tried';
    return pageProblem(answer, json);
  },
});

const reflected = (
  tries: string,
  path: string,
  asked: (field: AttackField) => Ask = ({ tokens: { acme: token } }) => ({ token }),
): GatewayAttack => ({
  area: 'xss',
  tries,
  async attempt(field) {
    const answer = await ask(field, path, asked(field));
    return answer.status < 400 ? `answered ${answer.status}` : pageProblem(answer, json);
  },
});

const encoded = encodeURIComponent(hostileText);

const texts: readonly GatewayAttack[] = [
  ...['', '/timeline', '/transcript', '/result'].map((path) => shown('model', path)),
  ...['', '/timeline', '/transcript'].map((path) => shown('person', path)),
  {
    area: 'xss',
    tries:
      'what a model and a tool wrote, in the stream of events: as markup, and as events of its own',
    async attempt(field) {
      const runPath = `/v1/runs/${encodeURIComponent(field.hostile.model)}`;
      const answer = await ask(field, `${runPath}/events`, { token: field.tokens.globex });
      if (!answer.body.includes('alert(1)')) return 'the text is not there, so nothing was tried';
      const ends = answer.body.split('\n').filter((line) => line === 'event: end').length;
      if (ends !== 1) return `the stream ends ${ends} times`;
      return pageProblem(answer, /^text\/event-stream/);
    },
  },
  {
    area: 'xss',
    tries: 'what a model asks a person for, in the inbox',
    async attempt(field) {
      const answer = await ask(field, '/v1/inbox?limit=100', { token: field.tokens.globex });
      if (!answer.body.includes('alert(1)')) return 'the text is not there, so nothing was tried';
      return pageProblem(answer, json);
    },
  },
  reflected('the id of a run, in an error', `/v1/runs/${encoded}`),
  reflected('a path, in an error', `/${encoded}`),
  reflected('a query, in an error', `/v1/runs?${encoded}=${encoded}`),
  reflected('a value of a query, in an error', `/v1/runs?status=${encoded}`),
  reflected('a field of a body, in an error', '/v1/runs', ({ tokens: { acme: token } }) => ({
    token,
    body: { agent: 'clerk', goal: 'x', [hostileText]: 1 },
  })),
  reflected('the name of an agent, in an error', '/v1/runs', ({ tokens: { acme: token } }) => ({
    token,
    body: { agent: hostileText, goal: 'x' },
  })),
  reflected(
    'the id of an approval, in an error',
    `/v1/runs/nobody/approvals/${encoded}/approve`,
    ({ tokens: { acme: token } }) => ({
      token,
      body: { digest: hostileText },
    }),
  ),
  {
    area: 'xss',
    tries: 'the id of an approval of a run that is there, in an error',
    async attempt(field) {
      const path = `${victimPath(field)}/approvals/${encoded}/approve`;
      const body = { digest: hostileText, by: hostileText.slice(0, 200) };
      const answer = await ask(field, path, { token: field.tokens.acme, body });
      return answer.status === 409 ? pageProblem(answer, json) : `answered ${answer.status}`;
    },
  },
];

/** All of them. */
export const pageAttacks: readonly GatewayAttack[] = [...crossSite, ...texts];
