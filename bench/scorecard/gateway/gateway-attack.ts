/** An attack on the gateway: what an outsider, or the holder of one token, tries, and how it shows that it got in. */
import { connect } from 'node:net';
import type { GatewayGround } from './gateway-ground';

/** A run of another tenant, which waits for a decision: what most attacks are after. */
export interface Victim {
  readonly runId: string;
  readonly approvalId: string;
  readonly digest: string;
  /** Stands in its goal, its arguments and its transcript, and nowhere else. */
  readonly secret: string;
}

/** Where an attack takes place. */
export interface AttackField extends GatewayGround {
  readonly url: string;
  readonly port: number;
  /** Of the tenant acme. */
  readonly victim: Victim;
  /** Runs of the tenant globex whose every text is hostile, by who wrote it. */
  readonly hostile: Readonly<Record<'model' | 'person', string>>;
}

/** An attack. */
export interface GatewayAttack {
  readonly area:
    | 'tokens'
    | 'roles'
    | 'tenants'
    | 'paths'
    | 'size'
    | 'slow'
    | 'headers'
    | 'csrf'
    | 'xss'
    | 'floods';
  readonly tries: string;
  /** What got through; undefined where nothing did. */
  readonly attempt: (field: AttackField) => Promise<string | undefined>;
}

/** An answer, its body as text. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly body: string;
}

/** What is asked; `token` is none, a known one by name, or any text. */
export interface Ask {
  readonly method?: string;
  readonly token?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Text that is sent as it is. */
  readonly text?: string;
}

/** Milliseconds that an answer may take. */
const answerMs = 40_000;

/** Sends a request by Node's client, which writes proper HTTP. */
export async function ask({ url }: AttackField, path: string, asked: Ask = {}): Promise<Answer> {
  const { method, token, headers, body, text } = asked;
  const sent = text ?? (body === undefined ? undefined : JSON.stringify(body));
  const response = await fetch(`${url}${path}`, {
    method: method ?? (sent === undefined ? 'GET' : 'POST'),
    headers: {
      ...(sent === undefined ? {} : { 'content-type': 'application/json' }),
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
      ...headers,
    },
    ...(sent === undefined ? {} : { body: sent }),
    redirect: 'manual',
    signal: AbortSignal.timeout(answerMs),
  });
  return { status: response.status, headers: response.headers, body: await response.text() };
}

/** Writes bytes to the gateway's socket and reads what comes back, until it closes or `waitMs` have passed. */
export function raw(
  { port }: Pick<AttackField, 'port'>,
  bytes: string | readonly string[],
  waitMs = 3_000,
): Promise<string> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    let got = '';
    const end = (): void => {
      clearTimeout(timer);
      socket.destroy();
      resolve(got);
    };
    const timer = setTimeout(end, waitMs);
    socket.on('data', (chunk) => {
      got = (got + chunk.toString('latin1')).slice(-1_000_000);
    });
    socket.on('error', end);
    socket.on('close', end);
    for (const part of typeof bytes === 'string' ? [bytes] : bytes) socket.write(part, 'latin1');
  });
}

/** Says it where an answer is a success, or shows what only the victim's tenant may see. */
export function letIn({ victim }: AttackField, { status, body }: Answer): string | undefined {
  if (status >= 200 && status < 400) return `answered ${status}: ${body.slice(0, 80)}`;
  return body.includes(victim.secret) ? `shows the victim's text with status ${status}` : undefined;
}

/** The same for what came over a socket. */
export function letInRaw({ victim }: AttackField, got: string): string | undefined {
  const [, status] = /^HTTP\/1\.1 ([23]\d\d)/m.exec(got) ?? [];
  if (status !== undefined) return `answered ${status}`;
  return got.includes(victim.secret) ? "shows the victim's text" : undefined;
}

/** The path of the victim's run. */
export function victimPath({ victim }: AttackField): string {
  return `/v1/runs/${encodeURIComponent(victim.runId)}`;
}

/** What one could do to a run, as path below it and body. */
export function changes({ victim }: AttackField): readonly (readonly [string, object])[] {
  const approval = `/approvals/${encodeURIComponent(victim.approvalId)}`;
  const { digest } = victim;
  return [
    [`${approval}/approve`, { digest }],
    [`${approval}/edit`, { digest, input: { bill: 'mine' } }],
    [`${approval}/reject`, { digest, reason: 'no' }],
    [`/questions/${encodeURIComponent(victim.approvalId)}/answer`, { answer: 'yes' }],
    ['/messages', { message: 'hello' }],
    ['/escalate', { reason: 'x' }],
    ['/stop', { reason: 'x' }],
    ['/cancel', {}],
    ['/fork', { iteration: 0 }],
  ];
}
