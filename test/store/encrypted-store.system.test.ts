/** The contract on an encrypted store, and what is encryption's own: keys that are missing, wrong, or change. */
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import Database from 'libsql';
import { createEncryption, type Encryption } from '../../activities/index';
import { openStore } from '../../activities/stores/open-store';
import type { Store } from '../../activities/stores/store';
import { describeLiveTexts } from './live-text-contract';
import { describePatternStore } from './pattern-store-contract';
import { describeSharedHealth } from './share-health-contract';
import { describeStoreContract, failureOf, says, type ContractEngine } from './store-contract';
import { describeTenants } from './tenant-contract';
import { describeSweep } from './sweep-contract';
import { describeToolRecords } from './tool-record-contract';

const keys = { one: '1a'.repeat(32), two: '2b'.repeat(32), three: '3c'.repeat(32) };
const encryptedBy = (keyId: keyof typeof keys, ...others: (keyof typeof keys)[]): Encryption =>
  createEncryption({
    keyId,
    keys: Object.fromEntries([keyId, ...others].map((id) => [id, keys[id]])),
  });

const directories: string[] = [];
const stores: Store[] = [];

async function newFile(): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), 'holdfast-encrypted-'));
  directories.push(directory);
  return path.join(directory, 'store.db');
}

async function open(file: string, encryption?: Encryption): Promise<Store> {
  const store = await openStore(file, encryption === undefined ? {} : { encryption });
  stores.push(store);
  return store;
}

afterEach(async () => {
  await Promise.all(stores.splice(0).map((store) => store.close()));
  await Promise.all(
    directories.splice(0).map((directory) => rm(directory, { recursive: true, force: true })),
  );
});

const engine: ContractEngine = {
  options: { encryption: encryptedBy('one') },
  newUrl: async () => `sqlite:${await newFile()}`,
  execute: (url, sql) => {
    const database = new Database(url.slice('sqlite:'.length));
    database.exec(sql);
    database.close();
    return Promise.resolve();
  },
  table: (name) => (name === 'meta' ? 'holdfast_meta' : name),
  bytes: (value) => `x'${value.toString('hex')}'`,
};

// For the processes of the contract.
process.env['STORE_TEST_KEY'] = keys.one;

describeStoreContract('SQLite, encrypted', engine);
describeSharedHealth('SQLite, encrypted', engine);
describePatternStore('SQLite, encrypted', engine);
describeSweep('SQLite, encrypted', engine);
describeToolRecords('SQLite, encrypted', engine);
describeLiveTexts('SQLite, encrypted', engine);
describeTenants('SQLite, encrypted', engine);

const planted = 'the-planted-word';

/** Every byte of the store's files. */
async function bytesOf(file: string): Promise<Buffer> {
  const files = [file, `${file}-wal`].map((name) => readFile(name).catch(() => Buffer.alloc(0)));
  return Buffer.concat(await Promise.all(files));
}

/** Writes the planted word wherever a store takes one. */
async function plant(store: Store): Promise<{ readonly head: string; readonly blob: string }> {
  const intent = { key: `run-${planted}/1/0`, tool: planted, inputDigest: 'd', startedAtMs: 7 };
  await store.beginTool(intent);
  await store.finishTool(intent.key, JSON.stringify(planted));
  await store.reportFailure({
    route: 'a/1',
    reason: 'rate_limit',
    message: planted,
    status: 'down',
    cooldownUntilMs: 1,
    probeFromMs: 1,
    atMs: 1,
  });
  await store.patterns.keepKnowledge(planted, JSON.stringify(planted));
  await store.liveTexts.write(
    planted,
    { call: 'c', number: 1, text: planted, iteration: 1, attempt: 1, route: 'a/1', offset: 0 },
    true,
  );
  const head = await store.appendNode(undefined, says(planted));
  return { head, blob: await store.putBlob(planted) };
}

describe('an encrypted store', () => {
  it('holds no word of its content, in any row, and gives all of it back', async () => {
    const file = await newFile();
    const store = await open(file, encryptedBy('one'));
    const { head, blob } = await plant(store);
    const bytes = await bytesOf(file);
    expect(bytes.includes(planted)).toBe(false);
    expect(bytes.includes(Buffer.from(planted).toString('base64').slice(0, 20))).toBe(false);
    const again = await open(file, encryptedBy('one'));
    expect(await again.loadTranscript(head)).toEqual(says(planted));
    expect((await again.getBlob(blob)).toString()).toBe(planted);
    expect(await again.getTool(`run-${planted}/1/0`)).toMatchObject({
      outcome: JSON.stringify(planted),
    });
    expect(await again.listHealth()).toMatchObject([{ lastError: planted }]);
    expect(await again.patterns.knowledge(planted)).toBe(JSON.stringify(planted));

    const plain = await open(await newFile());
    const named = await plant(plain);
    // The same names, which only the database does not show: a guessed text cannot be looked up in it.
    expect(named).toEqual({ head, blob });
    expect(bytes.includes(head)).toBe(false);
    expect(bytes.includes(blob)).toBe(false);
  });

  it('goes on under a new key, also for a worker that opened it before, and then needs no old one', async () => {
    const file = await newFile();
    const first = await open(file, encryptedBy('one', 'two'));
    const head = await first.appendNode(undefined, says('under one'));
    const rotated = await open(file, encryptedBy('two', 'one'));
    const next = await rotated.appendNode(head, says('under two'));
    expect(await first.loadTranscript(next)).toHaveLength(2);
    // One that still encrypts with the old key does not turn the rotation back.
    const late = await open(file, encryptedBy('one', 'two'));
    await late.appendNode(next, says('late'));
    const only = await open(file, encryptedBy('two'));
    expect(await only.loadTranscript(next)).toHaveLength(2);
    expect(
      await failureOf(openStore(file, { encryption: encryptedBy('one') }), 'config_invalid'),
    ).toMatch(/key "two" is not among the keys \(one\)\. Add it/);
  });

  it('is unavailable, not corrupt, to a worker that lacks the key of a rotation', async () => {
    const file = await newFile();
    const first = await open(file, encryptedBy('one'));
    const head = await first.appendNode(undefined, says('under one'));
    const rotated = await open(file, encryptedBy('two', 'one'));
    const next = await rotated.appendNode(head, says('under two'));
    expect(await failureOf(first.loadTranscript(next), 'store_unavailable')).toMatch(
      /key "two" is not among the keys \(one\)/,
    );
    expect(await first.loadTranscript(head)).toEqual(says('under one'));
  });

  it('rotates once for all who open it at the same time', async () => {
    const file = await newFile();
    await (await open(file, encryptedBy('one'))).putBlob('x');
    const opened = await Promise.all([1, 2, 3].map(() => open(file, encryptedBy('two', 'one'))));
    const blobs = await Promise.all(opened.map((store, at) => store.putBlob(`blob ${at}`)));
    const last = await open(file, encryptedBy('two'));
    for (const [at, blob] of blobs.entries())
      expect((await last.getBlob(blob)).toString()).toBe(`blob ${at}`);
  });

  it('asks a key management service once for each key', async () => {
    const file = await newFile();
    const asked: string[] = [];
    const encryption = createEncryption({
      keyId: 'arn:aws:kms:eu:1:key/7',
      keys: async (keyId) => {
        asked.push(keyId);
        return Promise.resolve(Buffer.alloc(32, keyId));
      },
    });
    const store = await open(file, encryption);
    await store.putBlob('x');
    await store.check();
    expect(asked).toEqual(['arn:aws:kms:eu:1:key/7']);
  });

  it.each<[string, () => Encryption | undefined, RegExp]>([
    ['no key', () => undefined, /is encrypted, with keys \["one"\]\. Open it with `encryption`/],
    ['another key', () => encryptedBy('three'), /"one" is not among the keys \(three\)/],
    [
      'another value of the key',
      () => createEncryption({ keyId: 'one', keys: { one: keys.two } }),
      /key "one" than the one given here: the key has another value/,
    ],
    [
      'a service that does not answer',
      () => createEncryption({ keyId: 'one', keys: () => Promise.reject(new Error('503')) }),
      /key "one" could not be had: 503\. Check the function/,
    ],
    [
      'a service that gives something else',
      () => createEncryption({ keyId: 'one', keys: () => Buffer.alloc(16) }),
      /gave 16 bytes for encryption key "one"\. Return 32 bytes/,
    ],
    [
      'what is no encryption',
      () => ({ keyId: 'one' }) as Encryption,
      /encryption is object: give what createEncryption/,
    ],
  ])('is not opened with %s', async (_, encryption, reason) => {
    const file = await newFile();
    await (await open(file, encryptedBy('one'))).putBlob('x');
    const refusal: unknown = await open(file, encryption()).catch((thrown: unknown) => thrown);
    expect(String(refusal)).toMatch(reason);
  });

  it('is made of no store that has content in the clear', async () => {
    const file = await newFile();
    const plain = await open(file);
    const early = await newFile();
    const before = await open(early);
    await plain.putBlob('x');
    expect(
      await failureOf(openStore(file, { encryption: encryptedBy('one') }), 'config_invalid'),
    ).toMatch(/has content in the clear.*Open a new store/);
    // A worker that opened the empty store before is no longer taken for one of its workers.
    await open(early, encryptedBy('one'));
    await failureOf(before.check(), 'store_mismatch');
  });

  it('finds a changed byte', async () => {
    const file = await newFile();
    const store = await open(file, encryptedBy('one'));
    const head = await store.appendNode(undefined, says('a'));
    await engine.execute(
      `sqlite:${file}`,
      `UPDATE nodes SET messages = 'AQ' || substr(messages, 3, 40)`,
    );
    await failureOf((await open(file, encryptedBy('one'))).loadTranscript(head), 'store_corrupt');
  });
});
