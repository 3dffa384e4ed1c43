/** A text is clean before its lines are joined or its JSON is taken apart: a secret is recognized by what stands beside it. */
import { callIdentity } from '../../activities/identity/call-identity';
import { providerFailure } from '../../activities/providers/failure/provider-failure';
import { describeThrown } from '../../activities/tool-call/error-text';
import { readFile } from '../../activities/tools/workspace/read-file';
import { createLogger } from '../../workers/logging';

const line = 'aB3dE6gH9jK2mN5pQ8sT1vW4yZ7cD0fGaB3dE6gH9jK2mN5pQ8sT1vW4yZ7cD0fG';
const keys = [
  `1\t-----BEGIN PRIVATE KEY-----\n2\t${line}\n3\t${line}\n`,
  `-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n${line}\n${line}\n`,
  `-----BEGIN PGP PRIVATE KEY BLOCK-----\nVersion: GnuPG v2\n\n${line}\n${line}\n`,
  `password: >-\n  ${line}`,
];

test.each(keys)('%j', (key) => {
  const failure = providerFailure(new Error(key), { route: 'a/b' });
  expect(failure.message).not.toContain('aB3dE6');
  const tool = { ...readFile, label: 'path' };
  const call = { toolCallId: 'c', name: 'read_file', input: { path: key } };
  expect(callIdentity(tool, call).label).not.toContain('aB3dE6');
});

test('a pair that an error gives as JSON', () => {
  const pair = JSON.stringify(['DB_PASSWORD', line.slice(0, 20)]);
  expect(describeThrown({ message: pair })).not.toContain('aB3dE6');
  const thrown = Object.assign(new Error('no'), { response: { data: { message: pair } } });
  expect(describeThrown(thrown)).not.toContain('aB3dE6');
});

test('a token with a backspace in the log', () => {
  let log = '';
  createLogger('info', { write: (text: string) => (log += text) }).info(
    'sk_live_aB3dE6gH9jK2\bmN5pQ8sT1vW4',
  );
  expect(log).toContain('[redacted]');
  expect(log).not.toContain('mN5pQ8');
});
