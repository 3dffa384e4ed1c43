/** Secrets of common shapes never pass; what only looks like one stays readable. */
import { redactText } from '../../workflows/core/secrets/redact';
import { redactionMark } from '../../workflows/core/secrets/own-secret-rules';
import { fc } from '../support/properties';

const hex = (length: number): string => '0123456789abcdef'.repeat(20).slice(0, length);
const mixed = (length: number): string => 'aB3dE6gH9jK2mN5pQ8sT1vW4yZ7'.repeat(20).slice(0, length);
const upper = (length: number): string =>
  'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.repeat(4).slice(0, length);

/** Name, text, and the part that may not survive. */
const secrets: readonly (readonly [string, string, string])[] = [
  ['Anthropic', `key sk-ant-api03-${mixed(80)} end`, mixed(80)],
  ['OpenAI', `sk-${mixed(48)}`, mixed(48)],
  ['OpenAI project', `sk-proj-${mixed(60)}_-${mixed(10)}`, mixed(60)],
  ['OpenAI in its 401', `Incorrect API key provided: sk-proj-${mixed(20)}.`, mixed(20)],
  ['OpenRouter', `sk-or-v1-${hex(64)}`, hex(64)],
  ['DeepSeek', `sk-${hex(32)}`, hex(32)],
  ['Google', `AIzaSy${mixed(33)}`, mixed(33)],
  ['Groq', `gsk_${mixed(52)}`, mixed(52)],
  ['xAI', `xai-${mixed(80)}`, mixed(80)],
  ['Hugging Face', `hf_${mixed(34)}`, mixed(34)],
  ['Replicate', `r8_${mixed(37)}`, mixed(37)],
  ['Perplexity', `pplx-${mixed(48)}`, mixed(48)],
  ['NVIDIA', `nvapi-${mixed(64)}`, mixed(64)],
  ['Tavily', `tvly-${mixed(32)}`, mixed(32)],
  ['LangSmith', `lsv2_pt_${hex(32)}_${hex(10)}`, hex(32)],
  ['AWS access key', `AKIA${upper(16)}`, upper(16)],
  ['AWS temporary', `ASIA${upper(16)}`, upper(16)],
  ['AWS secret', `aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYzzz1`, 'wJalrXUtnFEMI'],
  ['AWS in JSON', `{"SecretAccessKey":"wJalrXUtnFEMI/K7MDENG+bPx1"}`, 'wJalrXUtnFEMI'],
  ['GitHub', `ghp_${mixed(36)}`, mixed(36)],
  ['GitHub app', `ghs_${mixed(36)}`, mixed(36)],
  ['GitHub fine', `github_pat_${mixed(22)}_${mixed(59)}`, mixed(59)],
  ['GitLab', `glpat-${mixed(20)}`, mixed(20)],
  ['npm', `//registry/:_authToken=npm_${mixed(36)}`, mixed(36)],
  ['PyPI', `pypi-AgEIcHlwaS5vcmc${mixed(100)}`, mixed(100)],
  ['Docker', `dckr_pat_${mixed(27)}`, mixed(27)],
  ['Slack bot', `xoxb-123456789012-1234567890123-${mixed(24)}`, mixed(24)],
  ['Slack app', `xapp-1-A1B2-123-${hex(64)}`, hex(64)],
  ['Slack hook', `https://hooks.slack.com/services/T0000/B0000/${mixed(24)}`, mixed(24)],
  ['Discord hook', `https://discord.com/api/webhooks/12345678/${mixed(60)}`, mixed(60)],
  ['Telegram', `bot 123456789:AA${mixed(33)}`, mixed(33)],
  ['Stripe', `sk_live_${mixed(24)}`, mixed(24)],
  ['Stripe hook', `whsec_${mixed(32)}`, mixed(32)],
  ['SendGrid', `SG.${mixed(22)}.${mixed(43)}`, mixed(43)],
  ['Twilio', `SK${hex(32)}`, hex(32)],
  ['Mailgun', `key-${hex(32)}`, hex(32)],
  ['Mailchimp', `${hex(32)}-us12`, hex(32)],
  ['Shopify', `shpat_${hex(32)}`, hex(32)],
  ['Vault', `hvs.${mixed(24)}`, mixed(24)],
  ['Databricks', `dapi${hex(32)}`, hex(32)],
  ['DigitalOcean', `dop_v1_${hex(64)}`, hex(64)],
  ['Google OAuth', `ya29.${mixed(60)}`, mixed(60)],
  ['Azure client secret', `abc8Q~${mixed(34)}`, mixed(34)],
  ['Linear', `lin_api_${mixed(40)}`, mixed(40)],
  ['Figma', `figd_${mixed(40)}`, mixed(40)],
  ['age', `AGE-SECRET-KEY-1${upper(58)}`, upper(58)],
  ['JWT', `eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.${mixed(43)}`, mixed(43)],
  [
    'PEM',
    `-----BEGIN RSA PRIVATE KEY-----\n${mixed(64)}\n${mixed(30)}\n-----END RSA PRIVATE KEY-----`,
    mixed(30),
  ],
  [
    'PEM in JSON',
    `"-----BEGIN PRIVATE KEY-----\\n${mixed(64)}\\n-----END PRIVATE KEY-----\\n"`,
    mixed(64),
  ],
  ['PEM cut at its end', `-----BEGIN PRIVATE KEY-----\n${mixed(64)}\n${mixed(64)}`, mixed(64)],
  ['PEM cut at its beginning', `${mixed(64)}\n${mixed(64)}\n-----END PRIVATE KEY-----`, mixed(64)],
  [
    'OpenSSH',
    `-----BEGIN OPENSSH PRIVATE KEY-----\n${mixed(70)}\n-----END OPENSSH PRIVATE KEY-----`,
    mixed(70),
  ],
  [
    'PGP',
    `-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n${mixed(64)}\n-----END PGP PRIVATE KEY BLOCK-----`,
    mixed(64),
  ],
  ['Postgres URL', 'postgres://me:hunter2@db.example:5432/x', 'hunter2'],
  ['password with signs', 'postgresql://me:p@ss/w:rd@db.example/x', 'p@ss/w'],
  ['MongoDB URL', 'mongodb+srv://me:s3cr3t@c.example/x?w=1', 's3cr3t'],
  ['Redis URL', 'redis://:s3cr3tpw@r.example:6379', 's3cr3tpw'],
  ['token as user', `https://${mixed(40)}@git.example/x.git`, mixed(40)],
  ['ADO string', 'Server=x;User Id=me;Password=hunter2!;Encrypt=true', 'hunter2!'],
  ['Azure storage', `AccountName=x;AccountKey=${mixed(86)}==;EndpointSuffix=y`, mixed(86)],
  ['key in URL', 'GET https://api.example/v1?key=abcd1234efgh&alt=sse', 'abcd1234efgh'],
  ['signed URL', `https://b.example/o?X-Amz-Credential=AA1&X-Amz-Signature=${hex(64)}`, hex(64)],
  ['SAS', 'https://x.blob.example/c?sv=1&sig=abc%2Fdef123%3D&se=2', 'abc%2Fdef123'],
  ['Bearer header', 'Authorization: Bearer abcdef-123456.xyz', 'abcdef-123456'],
  ['Basic header', "{'authorization': 'Basic dXNlcjpwYXNzd29yZA=='}", 'dXNlcjpwYXNz'],
  [
    'Digest header',
    'Authorization: Digest username="a1b2", response="ffee"',
    'username="a1b2"'.slice(0, 9),
  ],
  ['API key header', 'x-api-key: 9f8e7d6c5b4a', '9f8e7d6c5b4a'],
  ['Cookie header', 'Cookie: session=abc123; theme=dark', 'abc123'],
  ['Set-Cookie header', 'set-cookie: sid=s%3Aabc123.def; Path=/; HttpOnly', 's%3Aabc123'],
  ['environment', 'DB_PASSWORD=hunter2\nX=1', 'hunter2'],
  ['YAML', 'password: Tr0ub4dor3', 'Tr0ub4dor3'],
  ['JSON', '{"client_secret": "abcDEF123"}', 'abcDEF123'],
  ['escaped JSON', '{\\"apiKey\\": \\"abcDEF123\\"}', 'abcDEF123'],
  ['code', "const apiKey = 'abcDEF1234';", 'abcDEF1234'],
  ['option', 'deploy --token=abcdef123456 --env=x', 'abcdef123456'],
  ['curl', 'curl -u admin:hunter2 https://x.example', 'hunter2'],
  ['numeric password', 'password=12345678', '12345678'],
];

test.each(secrets)('redacts: %s', (_name, text, secret) => {
  const clean = redactText(text);
  expect(clean).not.toContain(secret);
  expect(clean).toContain(redactionMark);
});

test.each(secrets)(
  'redacts in the middle of a sentence, quoted, twice and without changing more: %s',
  (_name, text, secret) => {
    const clean = redactText(`It failed with "${text}" and then:\n${text}\nDone.`);
    expect(clean).not.toContain(secret);
    expect(clean).toMatch(/^It failed with/);
    expect(redactText(clean)).toBe(clean);
  },
);

test.each([
  'export interface Login { password: string; token?: string }',
  'const token = getToken(); const password = options.password ?? "";',
  'if (password === undefined) throw new Error("password missing");',
  'Authorization: required',
  'maxOutputTokens: 8192, total_tokens=123456',
  'http://localhost:3000/x@y https://registry.example:443/@scope/pkg',
  'git commit 9fceb02d0ae598e95dc970b74767f19372d61af8',
  'sha512-oAnJ2vYdQ1cVvVbZ0Gm2y5w8bX1QfQ8yYj1mK2lP3oN4mL5kJ6iH7gF8eD9cB0aA==',
  'id 550e8400-e29b-41d4-a716-446655440000 at 2026-01-01T00:00:00.000Z',
  'sk-folding-cube sk-chasing-dot',
  'token: ${{ secrets.TOKEN }} password: <your password> apiKey: process.env.KEY',
  'The secret of a good test is a small input.',
  'Basic understanding of cookies: they are small.',
  '-----BEGIN PUBLIC KEY-----\nMIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8A\n-----END PUBLIC KEY-----',
])('leaves alone: %s', (text) => {
  expect(redactText(text)).toBe(text);
});

test('any text: redacting twice is redacting once, and it never throws', () => {
  const pieces = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom(...secrets.map(([, text]) => text)),
  );
  fc.assert(
    fc.property(fc.array(pieces, { maxLength: 4 }), (parts) => {
      const clean = redactText(parts.join(' '));
      expect(redactText(clean)).toBe(clean);
    }),
  );
});

test.each([
  ['one letter', 'a'.repeat(300_000)],
  ['begun keys', '-----BEGIN PRIVATE KEY-----'.repeat(10_000)],
  ['begun URLs', 'http://a:b'.repeat(30_000)],
  ['begun headers', 'authorization: cookie: '.repeat(10_000)],
  ['names', 'password="'.repeat(30_000)],
  ['begun JWTs', 'eyJaaaaaaaa.'.repeat(20_000)],
  ['base64', 'A1+/='.repeat(60_000)],
])('takes time in proportion to the length for hostile text: %s', (_name, text) => {
  const startedAt = performance.now();
  redactText(text);
  // Generous: quadratic patterns take minutes on these.
  expect(performance.now() - startedAt).toBeLessThan(20_000);
});
