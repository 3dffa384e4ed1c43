/** Keys and payloads: what is refused, what stays readable, and what the codec server lets through. */
import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { ApplicationFailure, type Payload } from '@temporalio/common';
import { createEncryption } from '../../activities/encryption/encryption';
import { EncryptionKeyError } from '../../activities/encryption/key-ring';
import { encryptionProblem, noteEncryption } from '../../activities/encryption/encryption-shape';
import { withoutSecrets } from '../../activities/untrusted/known-secrets';
import { createCodecServer } from '../../workers/codec-server';
import { readEnvironment } from '../../workers/env';
import { failureFromActivity } from '../../workflows/failure-from-activity';

type EncryptionOptions = Parameters<typeof createEncryption>[0];

const one = 'a1'.repeat(32);
const two = Buffer.alloc(32, 7).toString('base64');
const keys = { one, two };

function codecOf(options: EncryptionOptions) {
  const [codec] = createEncryption(options).dataConverter.payloadCodecs ?? [];
  if (codec === undefined) throw new Error('no codec');
  return codec;
}
const payload = (text: string): Payload => ({
  metadata: { encoding: Buffer.from('json/plain') },
  data: Buffer.from(JSON.stringify(text)),
});
const shown = ({ metadata, data }: Payload): string =>
  `${Buffer.from(metadata?.['encoding'] ?? []).toString()} ${Buffer.from(data ?? []).toString()}`;
const refusal = (work: () => unknown): string => {
  try {
    work();
  } catch (thrown) {
    return String(thrown);
  }
  return 'not refused';
};

describe('wrong uses', () => {
  it.each<[string, unknown, string]>([
    ['a key without its key', { keyId: 'three', keys }, 'keyId: is "three", which is not among'],
    ['no keys', { keyId: 'one', keys: {} }, '(none): add it to keys'],
    ['a short key', { keyId: 'one', keys: { one: 'abc' } }, 'is not a key: give 32 bytes'],
    ['short bytes', { keyId: 'one', keys: { one: Buffer.alloc(31) } }, 'is not a key'],
    ['an id with a space', { keyId: 'o ne', keys: { 'o ne': one } }, 'without spaces and commas'],
    ['keys that are a text', { keyId: 'one', keys: one }, 'give an object of keys by id'],
    ['an unknown option', { keyId: 'one', keys, algorithm: 'x' }, 'algorithm'],
  ])('createEncryption refuses %s', (_, options, reason) => {
    const said = refusal(() => createEncryption(options as EncryptionOptions));
    expect(said).toContain('createEncryption: ');
    expect(said).toContain(reason);
    expect(said).not.toContain(one);
  });

  it.each<[string, Record<string, string>, string]>([
    ['no id', { HOLDFAST_ENCRYPTION_KEYS: one }, 'set it to id:key'],
    ['no key', { HOLDFAST_ENCRYPTION_KEYS: 'one:abc' }, 'set it to id:key'],
    ['an id twice', { HOLDFAST_ENCRYPTION_KEYS: `a:${one},a:${two}` }, 'have the same id'],
    [
      'a data converter beside it',
      { HOLDFAST_ENCRYPTION_KEYS: `a:${one}`, HOLDFAST_DATA_CONVERTER: 'x.cjs' },
      'are both set: set one',
    ],
    ['a short token', { HOLDFAST_CODEC_TOKEN: 'abc' }, 'use at least 16 characters'],
  ])('the environment refuses %s, and shows no key', (_, variables, reason) => {
    const said = refusal(() => readEnvironment(variables, '/srv'));
    expect(said).toContain(reason);
    expect(said).not.toContain(one);
  });

  it('a worker is refused whose store is encrypted otherwise', () => {
    const [encryption, another] = [1, 2].map(() => createEncryption({ keyId: 'one', keys }));
    const [encrypted, plain] = [{}, {}];
    noteEncryption(encrypted, encryption);
    noteEncryption(plain, undefined);
    expect(encryptionProblem(encrypted, { encryption })).toBeUndefined();
    expect(encryptionProblem(encrypted, { dataConverter: {} })).toBeUndefined();
    expect(encryptionProblem(plain, {})).toBeUndefined();
    expect(encryptionProblem(encrypted, {})).toContain('is missing, but the store');
    expect(encryptionProblem(encrypted, { encryption: another })).toContain('is another one');
    expect(encryptionProblem(plain, { encryption })).toContain('open it with openStore(url,');
    expect(encryptionProblem(plain, { encryption, dataConverter: {} })).toContain('give one of');
  });
});

it('the first key of the environment encrypts, and the others decrypt', () => {
  const { encryptionKeys } = readEnvironment({
    HOLDFAST_ENCRYPTION_KEYS: `arn:aws:kms:key/2:${two}, one:${one}`,
  });
  expect(encryptionKeys).toEqual({
    keyId: 'arn:aws:kms:key/2',
    keys: { 'arn:aws:kms:key/2': two, one },
  });
});

describe('the codec', () => {
  it('hides a payload with its metadata, each time otherwise, and gives it back', async () => {
    const codec = codecOf({ keyId: 'one', keys });
    const [first, again] = await codec.encode([payload('secret'), payload('secret')]);
    if (first === undefined || again === undefined) throw new Error('two payloads');
    expect(shown(first)).toMatch(/^binary\/encrypted /);
    expect(shown(first)).not.toContain('json/plain');
    expect(shown(first)).not.toBe(shown(again));
    expect((await codec.decode([first, again])).map(shown)).toEqual([
      'json/plain "secret"',
      'json/plain "secret"',
    ]);
  });

  it('reads what another key of its own wrote, and what was written in the clear', async () => {
    const [old] = await codecOf({ keyId: 'one', keys }).encode([payload('old')]);
    const codec = codecOf({ keyId: 'two', keys });
    const read = await codec.decode([...(old ? [old] : []), payload('clear')]);
    expect(read.map(shown)).toEqual(['json/plain "old"', 'json/plain "clear"']);
  });

  it('names the key that is missing or another one, and takes no changed byte', async () => {
    const encoded = await codecOf({ keyId: 'one', keys }).encode([payload('secret')]);
    await expect(codecOf({ keyId: 'two', keys: { two } }).decode(encoded)).rejects.toThrow(
      /"one" is not among the keys \(two\)\. Add it/,
    );
    await expect(codecOf({ keyId: 'one', keys: { one: two } }).decode(encoded)).rejects.toThrow(
      /the key has another value here/,
    );
    const changed = encoded.map(({ metadata, data }) => {
      const bytes = Buffer.from(data ?? []);
      bytes[20] = (bytes[20] ?? 0) ^ 1;
      return { ...(metadata && { metadata }), data: bytes };
    });
    await expect(codecOf({ keyId: 'one', keys }).decode(changed)).rejects.toThrow(/was changed/);
  });

  it('asks a service again after it failed, and not after it answered', async () => {
    let asked = 0;
    const codec = codecOf({
      keyId: 'one',
      keys: () => {
        asked += 1;
        if (asked === 1) throw new Error('503');
        return Buffer.alloc(32, 1);
      },
    });
    await expect(codec.encode([payload('a')])).rejects.toThrow(/could not be had: 503/);
    await codec.encode([payload('a')]);
    await codec.encode([payload('a')]);
    expect(asked).toBe(2);
  });

  it('makes a run wait, not fail, if no attempt of an activity could decrypt', () => {
    // As the SDK makes it of what a codec throws.
    const failure = ApplicationFailure.fromError(new EncryptionKeyError('no key'), {
      message: 'Failed to parse activity args for activity runTool: no key',
    });
    expect(failureFromActivity(failure, 'tool_infrastructure')).toMatchObject({
      code: 'store_unavailable',
      message: expect.stringContaining('no key') as string,
    });
  });

  it('leaves its keys in no text that the worker shows', async () => {
    await codecOf({ keyId: 'one', keys }).encode([payload('a')]);
    expect(withoutSecrets(`the key is ${one}`)).not.toContain(one);
  });
});

describe('the codec server', () => {
  const token = 'a-token-of-the-web-ui';
  const origin = 'http://localhost:8233';
  let server: Server;
  let url: string;
  const codec = codecOf({ keyId: 'one', keys });

  beforeAll(async () => {
    server = createCodecServer({ codecs: [codec], origins: [origin], token });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.close();
    server.closeAllConnections();
  });

  const ask = (path: string, body: unknown, headers: Record<string, string> = {}) =>
    fetch(`${url}${path}`, {
      method: 'POST',
      body: typeof body === 'string' ? body : JSON.stringify(body),
      headers: { authorization: `Bearer ${token}`, ...headers },
    });
  const wire = async (text: string) => ({
    payloads: (await codec.encode([payload(text)])).map(({ metadata, data }) => ({
      metadata: Object.fromEntries(
        Object.entries(metadata ?? {}).map(([name, value]) => [
          name,
          Buffer.from(value).toString('base64'),
        ]),
      ),
      data: Buffer.from(data ?? []).toString('base64'),
    })),
  });

  it('decrypts and encrypts as the Web UI and `temporal --codec-endpoint` ask', async () => {
    const decoded = await ask('/decode', await wire('secret'), { origin });
    expect(decoded.headers.get('access-control-allow-origin')).toBe(origin);
    const body = (await decoded.json()) as { payloads: { data: string }[] };
    expect(Buffer.from(body.payloads[0]?.data ?? '', 'base64').toString()).toBe('"secret"');
    const encoded = await ask('/encode', body);
    expect(encoded.status).toBe(200);
    expect(await encoded.text()).not.toContain(body.payloads[0]?.data);
  });

  it('answers the question that a browser asks first, for its own pages only', async () => {
    const preflight = (from: string) =>
      fetch(`${url}/decode`, { method: 'OPTIONS', headers: { origin: from } });
    const own = await preflight(origin);
    expect(own.status).toBe(204);
    expect(own.headers.get('access-control-allow-headers')).toContain('Authorization');
    const foreign = await preflight('https://evil.example');
    expect(foreign.headers.get('access-control-allow-origin')).toBeNull();
  });

  it.each<[string, () => Promise<Response>, number]>([
    ['no token', async () => ask('/decode', await wire('s'), { authorization: '' }), 401],
    [
      'another token',
      async () => ask('/decode', await wire('s'), { authorization: 'Bearer x' }),
      401,
    ],
    ['another path', () => ask('/constructor', {}), 404],
    ['another method', () => fetch(`${url}/decode`), 405],
    ['no JSON', () => ask('/decode', '{'), 400],
    ['no payloads', () => ask('/decode', { payloads: [{ data: 7 }] }), 400],
    ['too much', () => ask('/decode', 'x'.repeat(17 * 1024 * 1024)), 413],
    [
      'a key that it lacks',
      async () => {
        const foreign = await codecOf({ keyId: 'two', keys: { two } }).encode([payload('s')]);
        const metadata = Object.fromEntries(
          Object.entries(foreign[0]?.metadata ?? {}).map(([name, value]) => [
            name,
            Buffer.from(value).toString('base64'),
          ]),
        );
        const data = Buffer.from(foreign[0]?.data ?? []).toString('base64');
        return ask('/decode', { payloads: [{ metadata, data: `${data.slice(0, -8)}AAAAAAA=` }] });
      },
      400,
    ],
  ])('refuses %s', async (_, work, status) => {
    const response = await work();
    expect(response.status).toBe(status);
    expect(await response.text()).not.toContain('"s"');
  });
});
