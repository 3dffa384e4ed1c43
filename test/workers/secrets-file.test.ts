/** `HOLDFAST_SECRETS_FILE`: what it gives, what is remembered, and what is said of a file that cannot be used. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isProtectedPath } from '../../activities/lifecycle/protected-paths';
import { withoutSecrets } from '../../activities/untrusted/known-secrets';
import { readSecretsFile } from '../../workers/cli/secrets-file';

const directory = mkdtempSync(path.join(tmpdir(), 'holdfast-secrets-'));
afterAll(() => {
  rmSync(directory, { recursive: true });
});

function secretsOf(content: string): Readonly<Record<string, string | undefined>> {
  writeFileSync(path.join(directory, 'keys.env'), content);
  return readSecretsFile('keys.env', directory);
}

test('gives lines of a .env file, and protects it from file tools', () => {
  expect(
    secretsOf(
      '# keys\nANTHROPIC_API_KEY=one\r\nexport OPENAI_API_KEY="two # half"\n\nPEM="a\nb"\n',
    ),
  ).toEqual({ ANTHROPIC_API_KEY: 'one', OPENAI_API_KEY: 'two # half', PEM: 'a\nb' });
  expect(isProtectedPath(directory, path.join(directory, 'keys.env'))).toBe(true);
});

test('its values are known as secrets whatever their names, and in no variable of this process', () => {
  const values = ['shapeless-value-0001', 'shapeless/value+0002', 'shapeless-value-0003'];
  secretsOf(`FIRST=${values[0]}\nOPENAI_API_KEY=${values[1]}\nOTHER="${values[2]}"\n`);
  for (const value of values)
    for (const text of [
      value,
      Buffer.from(`x=${value}`).toString('base64'),
      Buffer.from(value).toString('hex'),
    ])
      expect(withoutSecrets(`<${text}>`)).toMatch(/^<[\w=]{0,4}\[redacted\][\w=]{0,4}>$/);
  expect(process.env['FIRST']).toBeUndefined();
});

test('a setting in it is no secret', () => {
  secretsOf('HOLDFAST_MODEL=anthropic/claude-sonnet-4-5\nANTHROPIC_API_KEY=k\n');
  expect(withoutSecrets('anthropic/claude-sonnet-4-5')).toBe('anthropic/claude-sonnet-4-5');
});

test.each([
  [
    'that is missing',
    () => readSecretsFile('gone.env', directory),
    /names .*gone\.env, which cannot be read: ENOENT.*"-" for standard input/,
  ],
  ['that is a folder', () => readSecretsFile('.', directory), /cannot be read: EISDIR/],
  [
    'without a line of a variable',
    () => secretsOf('sk-only-the-key\n'),
    /has no line NAME=value\. Write one per variable/,
  ],
  ['that is empty', () => secretsOf(''), /has no line NAME=value/],
])('refuses a file %s, and shows nothing of it', (_what, read, message) => {
  expect(read).toThrow(message);
  expect(read).not.toThrow(/sk-only/);
});
