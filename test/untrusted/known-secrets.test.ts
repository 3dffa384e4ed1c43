/** The keys that this process was given: redacted by value, in every encoding, wherever a text leaves a tool or a vendor. */
import { anthropicProvider } from '../../activities/providers/anthropic/anthropic-provider';
import { providerFailure } from '../../activities/providers/failure/provider-failure';
import { redactedInput } from '../../activities/model-call/tool-call-intake';
import { sanitizeText } from '../../activities/untrusted/sanitizer';
import {
  rememberSecret,
  rememberSecretsOf,
  withoutSecrets,
} from '../../activities/untrusted/known-secrets';
import { readEnvironment } from '../../workers/env';
import { createLogger } from '../../workers/logging';
import { redactText } from '../../workflows/core/secrets/redact';

/** Of no shape that a rule knows. */
const key = 'plain/unknown+shape="of"key?value&word';
anthropicProvider({ apiKey: key });

const base64 = (before: string, after = ''): string =>
  Buffer.from(`${before}${key}${after}`).toString('base64');
const wrapped = (text: string, width: number, end = '\n'): string =>
  (text.match(new RegExp(`.{1,${width}}`, 'g')) ?? []).join(end);
const each = (format: (byte: number) => string): string =>
  Array.from(Buffer.from(key), format).join('');
const hex = (byte: number): string => byte.toString(16).padStart(2, '0');

const encoded: readonly (readonly [string, string])[] = [
  ['plain', key],
  ['in a sentence', `Key ${key}, refused.`],
  ['broken by a narrow screen', wrapped(key, 20)],
  ['base64', base64('')],
  ['base64 behind one character', base64('a')],
  ['base64 behind two', base64('ab')],
  ['base64 of a line of an env file', base64('ANTHROPIC_API_KEY=', '\nPATH=/bin')],
  ['base64 in lines of 76', wrapped(base64(`${'x'.repeat(50)}=`, 'tail'.repeat(20)), 76)],
  ['base64 in lines as JSON has them', wrapped(base64('KEY='), 20, '\\n')],
  ['base64 for URLs', Buffer.from(`>>${key}`).toString('base64url')],
  ['hexadecimal', Buffer.from(key).toString('hex')],
  ['hexadecimal in capitals', Buffer.from(key).toString('hex').toUpperCase()],
  ['hexadecimal with colons', wrapped(Buffer.from(key).toString('hex'), 2, ':')],
  ['words of a dump', wrapped(Buffer.from(key).toString('hex'), 4, ' ')],
  ['a list of bytes', each((byte) => `0x${hex(byte)}, `)],
  ['escapes of a string', each((byte) => `\\x${hex(byte)}`)],
  ['escapes of JSON', each((byte) => `\\u00${hex(byte)}`)],
  ['percent where needed', encodeURIComponent(key)],
  ['percent everywhere', each((byte) => `%${hex(byte)}`)],
  ['a string of JSON', JSON.stringify({ said: key })],
];

/** Pieces of the value that may not be left. */
const pieces = ['unknown', Buffer.from('known+shape').toString('hex'), 'bmtub3dub', 'dW5rbm93'];

test.each(encoded)('redacts it: %s', (_name, text) => {
  expect(redactText(text)).toBe(text);
  const clean = withoutSecrets(`before ${text} after`);
  expect(clean).toContain('[redacted]');
  const letters = clean.replace(/[redacted]|before|after/g, '');
  expect(letters.length).toBeLessThan(text.length - key.length / 2);
  for (const piece of pieces) expect(clean.toLowerCase()).not.toContain(piece.toLowerCase());
  expect(withoutSecrets(clean)).toBe(clean);
  expect(clean.split('\n')).toHaveLength(text.split('\n').length);
});

test('in every place where a text leaves', async () => {
  expect(sanitizeText(`x ${key}`, { maxChars: 100 })).toBe('x [redacted]');
  expect(await redactedInput(JSON.stringify({ q: key }))).toEqual({ q: '[redacted]' });
  const failure = providerFailure(new Error(`bad key ${base64('k')}`), { route: 'other/model' });
  expect(failure.message).not.toContain(base64('k').slice(4, 30));
  let log = '';
  createLogger('info', { write: (line: string) => (log += line) }).info({ key }, `got ${key}`);
  expect(log).toMatch(/"key":"\[redacted\]".*got \[redacted\]/);
});

test('also values of headers and variables whose names say so, and no short or harmless ones', () => {
  rememberSecretsOf({
    Authorization: 'Bearer word-word-word-word-word',
    'x-harmless': 'an-ordinary-value-of-a-header',
    TOKEN: 'short',
  });
  rememberSecret(undefined);
  expect(withoutSecrets('word-word-word-word-word')).toBe('[redacted]');
  expect(withoutSecrets('an-ordinary-value-of-a-header short')).toBe(
    'an-ordinary-value-of-a-header short',
  );
});

test('also what the environment of the process holds', () => {
  readEnvironment({
    OPENAI_API_KEY: 'an-unshaped-key-of-the-worker',
    AWS_SECRET_ACCESS_KEY: 'another-unshaped-key-of-it',
    SSH_AUTH_SOCK: '/run/user/1000/ssh-agent.sock',
    HOME: '/home/somebody-or-other',
  });
  const text = 'an-unshaped-key-of-the-worker another-unshaped-key-of-it';
  expect(withoutSecrets(text)).toBe('[redacted] [redacted]');
  const paths = '/run/user/1000/ssh-agent.sock /home/somebody-or-other';
  expect(withoutSecrets(paths)).toBe(paths);
});

test('takes time in proportion to the text, for hostile texts too', () => {
  const startedAt = performance.now();
  for (const filler of [
    key.slice(0, -1),
    base64('').slice(0, 20),
    '70 6c ',
    `${key.slice(0, 9)}\n`,
  ])
    withoutSecrets(filler.repeat(20_000));
  // Generous: it takes less than 200 ms.
  expect(performance.now() - startedAt).toBeLessThan(20_000);
});
