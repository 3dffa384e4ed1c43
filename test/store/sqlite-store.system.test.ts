/** The contract on SQLite, and what is SQLite's own: files, locks, and several processes. */
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { copyFile, mkdir, mkdtemp, readFile, rename, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import Database from 'libsql';
import { InfraException } from '../../activities/lifecycle/infra-exception';
import type { Store } from '../../activities/stores/store';
import { openStore } from '../../activities/stores/open-store';
import { describeLiveTexts } from './live-text-contract';
import { describePatternStore } from './pattern-store-contract';
import { describeSharedHealth } from './share-health-contract';
import { describeTenants } from './tenant-contract';
import { describeSweep } from './sweep-contract';
import { describeToolRecords } from './tool-record-contract';
import { describeStoreContract, failureOf, says, type ContractEngine } from './store-contract';
import { runStoreProcess, startStoreProcess } from './store-process';
import { cases, fc } from '../support/properties';

const directories: string[] = [];
const stores: Store[] = [];

async function newFile(): Promise<string> {
  const directory = await mkdtemp(path.join(tmpdir(), 'holdfast-sqlite-'));
  directories.push(directory);
  return path.join(directory, 'store.db');
}

async function open(file: string, limits: Parameters<typeof openStore>[1] = {}): Promise<Store> {
  const store = await openStore(file, limits);
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

describeStoreContract('SQLite', engine);
describeSharedHealth('SQLite', engine);
describePatternStore('SQLite', engine);
describeSweep('SQLite', engine);
describeToolRecords('SQLite', engine);
describeLiveTexts('SQLite', engine);
describeTenants('SQLite', engine);

describe('SQLite address', () => {
  it('may be a plain path in directories that do not exist yet', async () => {
    const file = path.join(path.dirname(await newFile()), 'a', 'b', 'my store.db');
    const store = await open(file);
    expect(store.label).toBe('sqlite:my store.db');
    expect((await open(`sqlite:${file}`)).id).toBe(store.id);
  });

  it.each([
    ['', /names? a file|not name a file/],
    ['sqlite:', /not name a file/],
    [':memory:', /keeps nothing/],
    ['sqlite::memory:', /keeps nothing/],
    ['sqlite::memory:?cache=shared', /keeps nothing/],
    ['mysql://me:hunter2@db/x', /unknown scheme "mysql"/],
    ['postgres://me:hunter2@db:port/x', /not a valid URL/],
    ['postgres://', /names no database/],
  ])('refuses %s, and shows no password', async (url, reason) => {
    const message = await failureOf(openStore(url), 'config_invalid');
    expect(message).toMatch(reason);
    expect(message).not.toContain('hunter2');
  });

  it('refuses a directory, and the file of another program', async () => {
    const file = await newFile();
    await failureOf(openStore(path.dirname(file)), 'config_invalid');
    const database = new Database(file);
    database.exec('CREATE TABLE theirs (x)');
    database.close();
    expect(await failureOf(openStore(file), 'config_invalid')).toMatch(/another program/);
    await writeFile(`${file}.txt`, 'no database '.repeat(100));
    await failureOf(openStore(`${file}.txt`), 'store_corrupt');
  });

  it('says that a path cannot be written', async () => {
    const file = await newFile();
    await writeFile(file, '');
    await failureOf(openStore(path.join(file, 'below-a-file.db')), 'store_unavailable');
  });
});

describe('SQLite file', () => {
  it('lets the event loop turn between the writes of a series', async () => {
    const store = await open(await newFile());
    let turns = 0;
    const ticking = setInterval(() => {
      turns += 1;
    }, 0);
    for (let index = 0; index < 40; index += 1) await store.putBlob(`text ${index}`);
    clearInterval(ticking);
    // Each write waits for the disk, mostly longer than the millisecond of a tick.
    expect(turns).toBeGreaterThan(5);
  });

  it('waits for a lock, gives up in time, and goes on when it is free', async () => {
    const file = await newFile();
    const store = await open(file, { waitMs: 200 });
    const rival = new Database(file);
    rival.exec('BEGIN IMMEDIATE');
    expect(await failureOf(store.appendNode(undefined, says('a')), 'store_unavailable')).toMatch(
      /another process holds its lock\. Find the process that does not release it\./,
    );
    await failureOf(store.check(), 'store_unavailable');
    const lease = { route: 'a/1', holder: 'run 1', atMs: 1, untilMs: 2 };
    await failureOf(store.acquireProbe(lease), 'store_unavailable');
    expect(await store.readHealth(['a/1'])).toEqual([]);
    const patient = await open(file);
    const append = patient.appendNode(undefined, says('a'));
    setImmediate(() => rival.exec('ROLLBACK'));
    const head = await append;
    expect(await store.loadTranscript(head)).toEqual(says('a'));
    await store.check();
    rival.close();
  });

  it("is nobody else's to read", async () => {
    const file = path.join(path.dirname(await newFile()), 'new', 'store.db');
    const store = await open(file);
    await store.putBlob('x');
    const beside = [file, `${file}-wal`].map(async (name) => (await stat(name)).mode & 0o777);
    expect(await Promise.all(beside)).toEqual([0o600, 0o600]);
    expect((await stat(path.dirname(file))).mode & 0o777).toBe(0o700);
  });

  it('notices that its file is gone, and goes on when it is back', async () => {
    const file = await newFile();
    const store = await open(file);
    const head = await store.appendNode(undefined, says('a'));
    await rename(file, `${file}.away`);
    expect(await failureOf(store.appendNode(head, says('b')), 'store_unavailable')).toMatch(
      /moved or removed/,
    );
    await rename(`${file}.away`, file);
    const next = await store.appendNode(head, says('b'));
    expect(await (await open(file)).loadTranscript(next)).toHaveLength(2);
  });

  it('goes on with a restored copy of its file, and refuses another store in its place', async () => {
    const file = await newFile();
    const first = await open(file);
    const head = await first.appendNode(undefined, says('a'));
    await first.close();
    await copyFile(file, `${file}.backup`);
    const store = await open(file);
    await rename(`${file}.backup`, file);
    expect(await store.loadTranscript(head)).toEqual(says('a'));
    await store.appendNode(head, says('b'));
    const other = await newFile();
    const otherStore = await open(other);
    await otherStore.close();
    await rename(other, file);
    expect(await failureOf(store.appendNode(head, says('c')), 'store_mismatch')).toContain(
      otherStore.id,
    );
  });

  it('never passes a flipped byte of its file off as content', async () => {
    const file = await newFile();
    const writer = await open(file);
    const messages = says('the quick brown fox '.repeat(300));
    const root = await writer.appendNode(undefined, messages);
    const head = await writer.appendNode(root, messages);
    const blob = await writer.putBlob('jumps over the lazy dog '.repeat(500));
    await writer.close();
    const intact = await readFile(file);
    const tried = { found: 0, harmless: 0 };
    await fc.assert(
      fc.asyncProperty(
        fc.nat(intact.length - 1),
        fc.integer({ min: 1, max: 255 }),
        async (at, mask) => {
          const copy = path.join(path.dirname(file), `flipped-${tried.found + tried.harmless}.db`);
          const bytes = Buffer.from(intact);
          bytes[at] = (bytes[at] ?? 0) ^ mask;
          await writeFile(copy, bytes);
          try {
            const store = await openStore(copy);
            try {
              expect(await store.loadTranscript(head)).toEqual([...messages, ...messages]);
              expect((await store.getBlob(blob)).toString()).toBe(
                'jumps over the lazy dog '.repeat(500),
              );
            } finally {
              await store.close();
            }
            tried.harmless += 1;
          } catch (error) {
            if (!(error instanceof InfraException)) throw error;
            tried.found += 1;
          }
        },
      ),
      cases(60),
    );
    expect(tried.found).toBeGreaterThan(0);
  });
});

describe('SQLite shared by processes', () => {
  it('is created once by eight processes at the same time', async () => {
    const url = `sqlite:${await newFile()}`;
    const ids = await Promise.all(Array.from({ length: 8 }, () => runStoreProcess(url, 'id')));
    expect(new Set(ids.flat())).toEqual(new Set([(await open(url)).id]));
  });

  it('takes the writes of two processes at once, and none is lost', async () => {
    const url = `sqlite:${await newFile()}`;
    const both = await Promise.all([
      runStoreProcess(url, 'append', '300'),
      runStoreProcess(url, 'append', '300'),
    ]);
    const store = await open(url);
    for (const heads of both) {
      expect(heads).toHaveLength(300);
      expect(await store.loadTranscript(heads.at(-1) ?? '')).toHaveLength(300);
    }
  });

  it('has every append that was reported when its writer is killed', async () => {
    const url = `sqlite:${await newFile()}`;
    for (const reports of [1, 7, 40, 111]) {
      const { child, lines } = startStoreProcess([url, 'append', '1000000']);
      const heads: string[] = [];
      lines.on('line', (line) => {
        heads.push(line);
        if (heads.length === reports) child.kill('SIGKILL');
      });
      await Promise.all([once(child, 'exit'), once(lines, 'close')]);
      expect(heads.length).toBeGreaterThanOrEqual(reports);
      const store = await open(url);
      expect(await store.loadTranscript(heads.at(-1) ?? '')).toHaveLength(heads.length);
      await store.appendNode(heads.at(-1), says('next'));
    }
    const database = new Database(url.slice('sqlite:'.length));
    expect(database.pragma('integrity_check')).toEqual([{ integrity_check: 'ok' }]);
    database.close();
  });

  it('says that its file cannot grow, keeps what it has, and goes on when it can', async () => {
    const file = await newFile();
    await mkdir(path.dirname(file), { recursive: true });
    // A soft limit of 2,000 KB per file, which the process may raise again: a full disk without filling one.
    const shell = ['bash', '-c', 'ulimit -S -f 2000; exec "$@"', 'bash'];
    const { child, lines } = startStoreProcess([file, 'fill'], shell);
    // Waited for from the start: on a busy machine the process ends before this test has read what it wrote.
    const ended = once(child, 'exit');
    const [failure] = (await once(lines, 'line')) as [string];
    expect(JSON.parse(failure)).toMatchObject({ code: 'store_unavailable' });
    await (await open(file)).check();
    await promisify(execFile)('prlimit', [`--pid=${String(child.pid)}`, '--fsize=unlimited']);
    const next = once(lines, 'line') as Promise<[string]>;
    child.stdin?.write('\n');
    const [head] = await next;
    const loaded = await (await open(file)).loadTranscript(head);
    expect(loaded.at(-1)).toEqual(says('after'.repeat(50_000))[0]);
    expect(loaded.length).toBeGreaterThan(3);
    expect(await ended).toEqual([0, null]);
  });
});
