/** Tokens: what a list of them may hold, and whom a header lets in. */
import { createHash } from 'node:crypto';
import { makeToken, parseTokens, tokenFinder } from '../../server/http/access-tokens';

const hash = 'a'.repeat(64);
const entry = { name: 'ada', sha256: hash, role: 'view' };

describe('a list of tokens is refused', () => {
  it.each([
    ['no JSON', 'ada:secret-word', 'it is no JSON'],
    ['no list', '{}', 'the tokens must be a list'],
    ['an empty list', '[]', 'there is no token, so nobody could do anything'],
    ['a plain token', [{ ...entry, sha256: 'secret-word' }], 'entry 1: sha256 must be 64 hex'],
    ['a role that is none', [{ ...entry, role: 'admin' }], 'role must be "view" or "operate"'],
    ['no role', [{ name: 'ada', sha256: hash }], 'role must be "view" or "operate"'],
    ['no name', [{ sha256: hash, role: 'view' }], 'name must be a string'],
    ['a name with a line end', [{ ...entry, name: 'a\nb' }], 'name must be 1 to 100'],
    ['an empty tenant', [{ ...entry, tenant: '' }], 'tenant must be 1 to 100'],
    ['null for all tenants', [{ ...entry, tenant: null }], 'or left out for all tenants'],
    ['an unknown key', [{ ...entry, tenants: ['a'] }], 'Unrecognized key: "tenants"'],
    ['the same name twice', [entry, { ...entry, sha256: 'b'.repeat(64) }], 'have the same name'],
    ['the same token twice', [entry, { ...entry, name: 'bob' }], 'for the same token'],
  ])('with %s', (_what, given, problem) => {
    const text = typeof given === 'string' ? given : JSON.stringify(given);
    const parse = () => parseTokens(text);
    expect(parse).toThrow(problem);
    expect(parse).not.toThrow('secret-word');
  });
});

it('makes a token whose entry lets exactly it in', () => {
  const one = makeToken({ name: 'ada', role: 'operate', tenant: 'acme' });
  const other = makeToken({ name: 'bob', role: 'view' });
  expect(one.token).toMatch(/^hf_[\w-]{43}$/);
  expect(one.entry.sha256).toBe(createHash('sha256').update(one.token).digest('hex'));
  const find = tokenFinder(parseTokens(JSON.stringify([one.entry, other.entry])));
  expect(find(`Bearer ${one.token}`)).toEqual(one.entry);
  expect(find(`bearer  ${other.token}`)?.name).toBe('bob');
  for (const wrong of [
    undefined,
    '',
    'Bearer',
    'Bearer ',
    one.token,
    `Basic ${one.token}`,
    `Bearer ${one.token}x`,
    `Bearer ${one.token.slice(0, -1)}`,
    `Bearer ${one.token.toUpperCase()}`,
    `Bearer ${one.entry.sha256}`,
    `Bearer ${one.token} ${other.token}`,
    `Bearer ${one.token}, Bearer ${other.token}`,
    `Bearer ${one.token}${'x'.repeat(2_000)}`,
    `Bearer ${one.token}${' '.repeat(2_000)}`,
  ])
    expect(find(wrong)).toBeUndefined();
});
