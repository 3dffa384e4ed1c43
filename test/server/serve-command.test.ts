/** `holdfast serve` and `gateway-token`: every wrong use is refused before anything is reached. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { parseTokens } from '../../server/http/access-tokens';
import { runCommand } from '../support/run-command';

const folder = mkdtempSync(path.join(tmpdir(), 'holdfast-serve-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const holdfast = (args: readonly string[], variables: Readonly<Record<string, string>> = {}) =>
  runCommand(args, { variables, directory: folder });

const entry = { name: 'ada', sha256: 'a'.repeat(64), role: 'view' };

it.each<[string, readonly string[], string | undefined, string]>([
  ['no tokens', [], undefined, 'The gateway has no tokens, so nobody could use it. Name a file'],
  ['an empty list', [], '[]', 'HOLDFAST_GATEWAY_TOKENS are not usable: there is no token'],
  [
    'a plain token',
    [],
    '[{"name":"a","role":"view","sha256":"hf_x"}]',
    'the hash of the token and',
  ],
  [
    'no JSON',
    [],
    'hf_secret',
    'are not usable: it is no JSON. Make entries with `holdfast gateway',
  ],
  ['a file that is not there', ['--tokens', 'none.json'], undefined, 'the file none.json are not'],
  ['a file that is none', ['--tokens', 'wrong.json'], undefined, 'entry 1: role must be "view" or'],
  ['a port that is none', ['--port', '70000'], undefined, 'whole number from 0 to 65535'],
  ['an origin with a path', ['--cors-origin', 'https://a.example/x'], undefined, 'without a path'],
  ['every origin', ['--cors-origin', '*'], undefined, 'Give an origin without a path'],
  ['a wait that is none', ['--wait', 'long'], undefined, 'Give a duration such as 30s'],
])('serve refuses %s', async (_what, args, tokens, message) => {
  writeFileSync(path.join(folder, 'wrong.json'), JSON.stringify([{ ...entry, role: 'root' }]));
  const variables: Record<string, string> =
    tokens === undefined ? {} : { HOLDFAST_GATEWAY_TOKENS: tokens };
  const { code, err } = await holdfast(['serve', ...args], variables);
  expect(code).toBe(2);
  expect(err.replace(/\s+/g, ' ')).toContain(message);
  expect(err).not.toContain('hf_secret');
});

it.each([
  ['no role', ['ada'], "required option '--role <role>' not specified"],
  ['a role that is none', ['ada', '--role', 'root'], 'Allowed choices are view, operate'],
  ['a name with a space', ['a b', '--role', 'view'], 'name must be 1 to 100 letters'],
  [
    'a tenant that is none',
    ['ada', '--role', 'view', '--tenant', 'a b'],
    'tenant must be 1 to 100',
  ],
])('gateway-token refuses %s', async (_what, args, message) => {
  const { code, out, err } = await holdfast(['gateway-token', ...args]);
  expect([code, out]).toEqual([2, '']);
  expect(err).toContain(message);
});

it('makes a token whose entry a gateway takes, and which is not in it', async () => {
  const { out, err } = await holdfast(['gateway-token', 'ada', '--role', 'view', '--tenant', 'a']);
  const [entryText = ''] = /\{.*\}/.exec(err) ?? [];
  expect(parseTokens(`[${entryText}]`)).toMatchObject([{ name: 'ada', role: 'view', tenant: 'a' }]);
  expect(out).toMatch(/^hf_[\w-]{43}\n$/);
  expect(err).not.toContain(out.trim());
});
