/** What every store must do, whatever database keeps it. Run by one test file per engine. */
import type { Store, ToolIntent } from '../../activities/stores/store';
import { InfraException } from '../../activities/lifecycle/infra-exception';
import { chunkBytes } from '../../activities/stores/content/blob-manifest';
import { canonicalJson, nodeHash } from '../../activities/stores/content-hash';
import { openStore } from '../../activities/stores/open-store';
import type { StoreLimits } from '../../activities/stores/store-limits';
import type { SystemFailureCode } from '../../workflows/core/failure';
import type { JsonObject, JsonValue } from '../../workflows/core/json';
import type { Head, Message } from '../../workflows/core/message';
import { cases, fc } from '../support/properties';

/** What a contract test needs of an engine, beside the store itself. */
export interface ContractEngine {
  /** How its stores are opened; absent: in the clear, so that a test can write rows by hand. */
  readonly options?: Parameters<typeof openStore>[1];
  /** Address of a store that does not exist yet. */
  newUrl(): Promise<string>;
  /** Runs SQL behind the store's back. */
  execute(url: string, sql: string): Promise<void>;
  /** Name of a table in SQL. */
  table(name: string): string;
  /** A literal of bytes in SQL. */
  bytes(value: Buffer): string;
}

/** A message with one text. */
export function says(text: string): readonly Message[] {
  return [{ role: 'user', blocks: [{ type: 'text', text }] }];
}

/** Asserts that work fails as an InfraException with this code, and returns its message. */
export async function failureOf(work: Promise<unknown>, code: SystemFailureCode): Promise<string> {
  const error: unknown = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  );
  if (!(error instanceof InfraException)) throw new Error(`no InfraException: ${String(error)}`);
  expect(error.failure).toMatchObject({ kind: 'infra', code });
  return error.failure.message;
}

const intent: ToolIntent = { key: 'run/1/0', tool: 'pay', inputDigest: 'digest', startedAtMs: 7 };

/** Strings of any UTF-16 units: NUL, quotes, lone surrogates. */
const anyText = fc.string({
  unit: fc.integer({ min: 0, max: 0xffff }).map((unit) => String.fromCharCode(unit)),
});

/** What a reply's JSON would have become. */
function jsonOf(input: unknown): JsonObject {
  return JSON.parse(JSON.stringify(input)) as JsonObject;
}

const anyMessage: fc.Arbitrary<Message> = fc.oneof(
  anyText.map((text): Message => ({ role: 'user', blocks: [{ type: 'text', text }] })),
  fc
    .tuple(anyText, fc.dictionary(anyText, fc.jsonValue({ maxDepth: 3 })))
    .map(([text, input]): Message => ({
      role: 'assistant',
      vendor: 'anthropic',
      model: 'm',
      blocks: [
        { type: 'reasoning', vendor: 'anthropic', text, opaque: { signature: text } },
        { type: 'text', text },
        { type: 'tool-call', toolCallId: 'c', name: 't', input: jsonOf(input) },
      ],
    })),
  anyText.map((content): Message => ({
    role: 'tool',
    results: [{ type: 'tool-result', toolCallId: 'c', name: 't', content, isError: false }],
  })),
);

/** Registers the contract's tests for one engine. */
export function describeStoreContract(name: string, engine: ContractEngine): void {
  const inTheClear = (title: string, test: () => Promise<void>): void => {
    if (engine.options === undefined) it(title, test);
  };
  describe(`${name} store`, () => {
    const opened: Store[] = [];
    const open = async (url: string, limits: Partial<StoreLimits> = {}): Promise<Store> => {
      const store = await openStore(url, { ...limits, ...engine.options });
      opened.push(store);
      return store;
    };
    const fresh = async (
      limits: Partial<StoreLimits> = {},
    ): Promise<{ store: Store; url: string }> => {
      const url = await engine.newUrl();
      return { url, store: await open(url, limits) };
    };
    afterEach(async () => {
      await Promise.all(opened.splice(0).map((store) => store.close()));
    });

    describe('identity', () => {
      it('keeps the id that it was created with', async () => {
        const { store, url } = await fresh();
        const other = await fresh();
        expect((await open(url)).id).toBe(store.id);
        expect(store.id).toMatch(/^[\w-]{16,}$/);
        expect(other.store.id).not.toBe(store.id);
      });

      it('gives eight openers of a new database one id', async () => {
        const url = await engine.newUrl();
        const stores = await Promise.all(Array.from({ length: 8 }, () => open(url)));
        expect(new Set(stores.map((store) => store.id)).size).toBe(1);
        await stores[7]?.check();
      });

      it('refuses a database that a newer Holdfast has migrated', async () => {
        const { url } = await fresh();
        const meta = engine.table('meta');
        await engine.execute(url, `UPDATE ${meta} SET value = '99' WHERE name = 'schema_version'`);
        const message = await failureOf(openStore(url, engine.options), 'store_mismatch');
        expect(message).toMatch(/schema version 99.*Upgrade Holdfast/);
        const long = 'x'.repeat(100);
        await engine.execute(
          url,
          `UPDATE ${meta} SET value = '${long}' WHERE name = 'schema_version'`,
        );
        const corrupt = await failureOf(openStore(url, engine.options), 'store_corrupt');
        expect(corrupt).toContain(`reads "${long.slice(0, 40)}"`);
      });

      it('is brought up to date from the first version, once for all who open it', async () => {
        const { store, url } = await fresh();
        const head = await store.appendNode(undefined, says('kept'));
        await store.patterns.keepKnowledge('digest', '"known"');
        const [meta, health, knowledge, tenants] = [
          ...['meta', 'route_health', 'tool_knowledge', 'tenant_usage'],
        ].map((name) => engine.table(name));
        for (const sql of [
          `ALTER TABLE ${String(health)} DROP COLUMN touched_ms`,
          `ALTER TABLE ${String(knowledge)} DROP COLUMN touched_ms`,
          `DROP TABLE ${String(tenants)}`,
          `UPDATE ${String(meta)} SET value = '8' WHERE name = 'schema_version'`,
        ])
          await engine.execute(url, sql);
        const stores = await Promise.all(Array.from({ length: 4 }, () => open(url)));
        for (const upgraded of stores) {
          expect(upgraded.id).toBe(store.id);
          expect(await upgraded.loadTranscript(head)).toEqual(says('kept'));
          expect(await upgraded.patterns.knowledge('digest')).toBe('"known"');
          expect(await upgraded.tenants.usage('2026-11-29')).toEqual([]);
          await upgraded.check();
        }
        const old = `UPDATE ${String(meta)} SET value = '7' WHERE name = 'schema_version'`;
        await engine.execute(url, old);
        expect(await failureOf(openStore(url, engine.options), 'store_mismatch')).toMatch(
          /schema version 7, .* versions 8 to 10.*before the first release/,
        );
      });

      it('says that it was closed, and lets itself be closed twice', async () => {
        const { store } = await fresh();
        await store.close();
        await store.close();
        expect(await failureOf(store.check(), 'store_unavailable')).toMatch(/was closed/);
        await failureOf(store.appendNode(undefined, says('late')), 'store_unavailable');
        await failureOf(store.putBlob('late'), 'store_unavailable');
      });
    });

    describe('transcript', () => {
      it('loads any tree of appends as it was written, warm and cold', async () => {
        const { store, url } = await fresh();
        const appends = fc.array(fc.tuple(fc.nat(), fc.array(anyMessage, { maxLength: 3 })), {
          minLength: 1,
          maxLength: 12,
        });
        await fc.assert(
          fc.asyncProperty(appends, async (steps) => {
            const written: { head: Head; messages: readonly Message[] }[] = [];
            for (const [pick, messages] of steps) {
              const parent = written[pick % (written.length + 1)];
              const head = await store.appendNode(parent?.head, messages);
              written.push({ head, messages: [...(parent?.messages ?? []), ...messages] });
            }
            const cold = await openStore(url, engine.options);
            try {
              for (const { head, messages } of written) {
                expect(await store.loadTranscript(head)).toEqual(messages);
                expect(await cold.loadTranscript(head)).toEqual(messages);
              }
            } finally {
              await cold.close();
            }
          }),
          cases(12),
        );
      });

      it('gives the same head for the same content, whatever the order of keys', async () => {
        const { store, url } = await fresh();
        const head = await store.appendNode(undefined, says('a'));
        const turned: Message = { blocks: [{ text: 'a', type: 'text' }], role: 'user' };
        expect(await store.appendNode(undefined, [turned])).toBe(head);
        expect(await (await open(url)).appendNode(undefined, says('a'))).toBe(head);
        expect(await store.appendNode(head, says('a'))).not.toBe(head);
        expect(await store.loadTranscript(head)).toEqual(says('a'));
      });

      it('lets several writers append the same chain at once', async () => {
        const { store, url } = await fresh();
        const writers = [store, await open(url), await open(url)];
        const heads = await Promise.all(
          writers.map(async (writer) => {
            let head: Head | undefined;
            for (let n = 0; n < 20; n += 1) head = await writer.appendNode(head, says(String(n)));
            return head ?? '';
          }),
        );
        expect(new Set(heads).size).toBe(1);
        expect(await (await open(url)).loadTranscript(heads[0] ?? '')).toHaveLength(20);
      });

      it('refuses a parent and a head that it does not have', async () => {
        const { store } = await fresh();
        const absent = nodeHash(undefined, '[]');
        expect(await failureOf(store.appendNode(absent, says('a')), 'store_corrupt')).toContain(
          absent,
        );
        expect(await failureOf(store.loadTranscript(absent), 'store_corrupt')).toContain(absent);
        await failureOf(store.loadTranscript('no hash \0'), 'store_corrupt');
        await failureOf(store.appendNode('', says('a')), 'store_corrupt');
      });

      it('refuses what is too large, too deep, or not JSON, and stores nothing', async () => {
        const { store, url } = await fresh({ maxNodeBytes: 1_000 });
        await failureOf(store.appendNode(undefined, says('x'.repeat(1_000))), 'payload_too_large');
        const deep = JSON.parse(`${'['.repeat(5_000)}${']'.repeat(5_000)}`) as JsonValue;
        const call = { type: 'tool-call', toolCallId: 'c', name: 't', input: { deep } } as const;
        const message: Message = { role: 'assistant', vendor: 'v', model: 'm', blocks: [call] };
        const message2 = { ...message, blocks: [{ ...call, input: { number: Number.NaN } }] };
        expect(
          await failureOf(store.appendNode(undefined, [message]), 'payload_too_large'),
        ).toMatch(/deeper/);
        await expect(store.appendNode(undefined, [message2])).rejects.toThrow(TypeError);
        const head = nodeHash(undefined, canonicalJson(says('x'.repeat(1_000))));
        await failureOf((await open(url)).loadTranscript(head), 'store_corrupt');
      });

      inTheClear('loads a chain of 10,000 nodes', async () => {
        const { store, url } = await fresh();
        const head = await insertChain(engine, url, 10_000, 100);
        const messages = await store.loadTranscript(head);
        expect(messages).toHaveLength(10_000);
        expect(messages.at(-1)).toEqual(says(`9999 ${'x'.repeat(100)}`)[0]);
        expect(await store.loadTranscript(head)).toEqual(messages);
      });
    });

    describe('integrity', () => {
      inTheClear('finds any changed byte of a node, its parent or its name', async () => {
        const { store, url } = await fresh();
        const root = await store.appendNode(undefined, says('root'));
        const other = await store.appendNode(undefined, says('other'));
        const head = await store.appendNode(root, says('héad'));
        const json = canonicalJson(says('héad'));
        const nodes = engine.table('nodes');
        const tamper = async (change: string, restore: string): Promise<void> => {
          await engine.execute(url, `UPDATE ${nodes} SET ${change} WHERE hash = '${head}'`);
          const cold = await openStore(url, engine.options);
          expect(await failureOf(cold.loadTranscript(head), 'store_corrupt')).toMatch(
            /node [\w-]{43}/,
          );
          await failureOf(cold.appendNode(root, says('héad')), 'store_corrupt');
          await cold.close();
          await engine.execute(url, `UPDATE ${nodes} SET ${restore} WHERE hash = '${head}'`);
        };
        for (let at = 0; at < json.length; at += 7) {
          const changed = `${json.slice(0, at)}${json[at] === '#' ? '!' : '#'}${json.slice(at + 1)}`;
          await tamper(`messages = '${changed}'`, `messages = '${json}'`);
        }
        await tamper(`messages = '${json} '`, `messages = '${json}'`);
        await tamper(`parent = '${other}'`, `parent = '${root}'`);
        await tamper(`parent = NULL`, `parent = '${root}'`);
        await engine.execute(
          url,
          `UPDATE ${nodes} SET hash = '${'A'.repeat(43)}' WHERE hash = '${head}'`,
        );
        await failureOf((await open(url)).loadTranscript(head), 'store_corrupt');
        await failureOf((await open(url)).loadTranscript('A'.repeat(43)), 'store_corrupt');
      });

      inTheClear('ends on a chain that was bent into a ring', async () => {
        const { store, url } = await fresh();
        const root = await store.appendNode(undefined, says('root'));
        const head = await store.appendNode(root, says('head'));
        await engine.execute(
          url,
          `UPDATE ${engine.table('nodes')} SET parent = '${head}' WHERE hash = '${root}'`,
        );
        expect(await failureOf((await open(url)).loadTranscript(head), 'store_corrupt')).toContain(
          root,
        );
      });

      inTheClear('refuses content of the right hash that holds no messages', async () => {
        const { url } = await fresh();
        for (const json of [
          '[{"role":"oracle"}]',
          '{}',
          '[',
          '[{"role":"user","blocks":[{"type":"video"}]}]',
        ]) {
          const hash = nodeHash(undefined, json);
          await engine.execute(
            url,
            `INSERT INTO ${engine.table('nodes')} (hash, parent, messages) VALUES ('${hash}', NULL, '${json}')`,
          );
          expect(
            await failureOf((await open(url)).loadTranscript(hash), 'store_corrupt'),
          ).toContain(hash);
        }
      });

      it('finds changed blobs and tool records', async () => {
        const { store, url } = await fresh();
        const hash = await store.putBlob('some output');
        const run = (sql: string): Promise<void> => engine.execute(url, sql);
        const blobs = engine.table('blobs');
        const chunks = engine.table('chunks');
        await run(`UPDATE ${chunks} SET bytes = ${engine.bytes(Buffer.from('some outpuT'))}`);
        expect(await failureOf(store.getBlob(hash), 'store_corrupt')).toContain(hash);
        await failureOf(store.readBlob(hash, 0, 2), 'store_corrupt');
        await run(`DELETE FROM ${chunks}`);
        await failureOf(store.getBlob(hash), 'store_corrupt');
        await run(`UPDATE ${blobs} SET manifest = 'blob 0'`);
        expect(await failureOf(store.getBlob(hash), 'store_corrupt')).toContain(hash);
        await run(`DELETE FROM ${blobs}`);
        expect(await failureOf(store.getBlob(hash), 'store_corrupt')).toMatch(/missing/);

        await store.beginTool(intent);
        await store.finishTool(intent.key, '{"paid":10}');
        const tools = engine.table('tool_executions');
        const restore = `outcome = '{"paid":10}', intent = '${canonicalJson(intent)}'`;
        for (const change of [
          `outcome = '{"paid":99}'`,
          `outcome = NULL`,
          `intent = '${canonicalJson({ ...intent, tool: 'buy' })}'`,
          `intent = '?'`,
        ]) {
          await run(`UPDATE ${tools} SET ${change}`);
          expect(await failureOf(store.getTool(intent.key), 'store_corrupt')).toContain(intent.key);
          await run(`UPDATE ${tools} SET ${restore}`);
        }
        expect(await store.getTool(intent.key)).toMatchObject({ type: 'finished' });
      });
    });

    describe('blobs', () => {
      it.each([0, 1, chunkBytes - 1, chunkBytes, chunkBytes + 1, 3 * chunkBytes + 5])(
        'gives back %d bytes, whole and in part',
        async (size) => {
          const { store, url } = await fresh();
          const bytes = Buffer.from(
            Array.from({ length: size }, (_, at) => (at * 7 + (at >> 9)) % 251),
          );
          const hash = await store.putBlob(bytes);
          const reader = await open(url);
          expect((await reader.getBlob(hash)).equals(bytes)).toBe(true);
          for (const [offset, length] of [
            [0, 10],
            [size - 3, 10],
            [chunkBytes - 2, 4],
            [2 * chunkBytes + 1, 2],
            [0, size + 1],
            [size + 5, 1],
            [-4, 8],
            [1, 0],
          ] as const) {
            const start = Math.max(0, offset);
            const slice = await reader.readBlob(hash, offset, length);
            expect(slice.totalBytes).toBe(size);
            expect(slice.bytes.equals(bytes.subarray(start, start + length))).toBe(true);
          }
        },
      );

      it('keeps equal content once, and text as UTF-8', async () => {
        const { store } = await fresh();
        const hash = await store.putBlob('Grüße');
        expect(await store.putBlob(Buffer.from('Grüße'))).toBe(hash);
        expect((await store.getBlob(hash)).toString()).toBe('Grüße');
        const repeated = Buffer.alloc(4 * chunkBytes, 1);
        expect((await store.getBlob(await store.putBlob(repeated))).equals(repeated)).toBe(true);
      });

      it('takes 32 MB, and reads the end of it without the rest', async () => {
        const { store, url } = await fresh();
        const bytes = Buffer.alloc(32_000_000);
        for (let at = 0; at < bytes.length; at += 4_096) bytes.writeUInt32LE(at, at);
        const hash = await store.putBlob(bytes);
        expect((await store.getBlob(hash)).equals(bytes)).toBe(true);
        const slice = await (await open(url)).readBlob(hash, 31_999_990, 100);
        expect(slice.bytes.equals(bytes.subarray(31_999_990))).toBe(true);
      });

      it('refuses a blob beyond its limit before it writes', async () => {
        const { store } = await fresh({ maxBlobBytes: 100 });
        expect(await failureOf(store.putBlob('x'.repeat(101)), 'payload_too_large')).toMatch(
          /101 bytes.*100/,
        );
        await store.putBlob('x'.repeat(100));
      });

      it('does not have a blob that was never stored', async () => {
        const { store } = await fresh();
        const absent = nodeHash(undefined, 'absent');
        expect(await failureOf(store.getBlob(absent), 'store_corrupt')).toContain(absent);
        for (const name of ['x', `${absent}x`]) {
          const message = await failureOf(store.readBlob(name, 0, 1), 'store_corrupt');
          expect(message).toContain('names no content');
          expect(await store.hasBlob(name)).toBe(false);
        }
      });
    });
  });
}

/** Writes a chain of nodes with texts of `textLength` behind the store's back, which is faster than appending. */
async function insertChain(
  engine: ContractEngine,
  url: string,
  length: number,
  textLength: number,
): Promise<Head> {
  let head: Head | undefined;
  let values: string[] = [];
  for (let n = 0; n < length; n += 1) {
    const json = canonicalJson(says(`${n} ${'x'.repeat(textLength)}`));
    const hash = nodeHash(head, json);
    values.push(`('${hash}', ${head === undefined ? 'NULL' : `'${head}'`}, '${json}')`);
    head = hash;
    if (values.length === 500 || n === length - 1) {
      await engine.execute(
        url,
        `INSERT INTO ${engine.table('nodes')} (hash, parent, messages) VALUES ${values.join(', ')}`,
      );
      values = [];
    }
  }
  return head ?? '';
}
