/** Files of a SQLite store, damaged while nobody has them open: what was stored is read back as it was, or refused. */
import { copyFile, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { InfraException } from '../../../activities/lifecycle/infra-exception';
import { UserError } from '../../../activities/lifecycle/user-error';
import { openStore } from '../../../activities/stores/open-store';
import type { Store } from '../../../activities/stores/store';
import type { Message } from '../../../workflows/core/message';
import type { Finding, FuzzArea, OpenFuzzArea } from '../fuzz-area';
import { crashOf, hanging, settled } from '../fuzz-area';
import { byteMutations, drawMutations, mutated } from '../mutations';

/** What is asked of a store, and what it must answer. */
interface Question {
  readonly about: string;
  readonly ask: (store: Store) => Promise<unknown>;
  readonly answer: unknown;
}

const messages: readonly (readonly Message[])[] = Array.from({ length: 12 }, (_, index) => [
  { role: 'user', blocks: [{ type: 'text', text: `Question ${index} of a person. `.repeat(8) }] },
]);

const intent = {
  key: 'run:1:0',
  tool: 'pay',
  inputDigest: 'd'.repeat(43),
  startedAtMs: 1_700_000_000_000,
  iteration: 1,
};

/** Fills a store; returns what may be asked of it. */
async function filled(store: Store): Promise<readonly Question[]> {
  let head = await store.appendNode(undefined, messages[0] ?? []);
  for (const each of messages.slice(1)) head = await store.appendNode(head, each);
  const blobs = await Promise.all(
    [100, 9_000, 60_000].map(async (bytes) => {
      const content = Buffer.alloc(bytes, `content of ${bytes} `);
      return { hash: await store.putBlob(content), content };
    }),
  );
  await store.beginTool(intent, 1, 'executing');
  const outcome = JSON.stringify({ type: 'output', text: 'paid 120 to Ann' });
  await store.finishTool(intent.key, outcome);
  return [
    { about: 'transcript', ask: (each) => each.loadTranscript(head), answer: messages.flat() },
    ...blobs.map(({ hash, content }) => ({
      about: `blob of ${content.length} bytes`,
      ask: (each: Store) => each.getBlob(hash),
      answer: content,
    })),
    {
      about: 'outcome of a tool',
      ask: (each) => each.getTool(intent.key),
      answer: { type: 'finished', intent, outcome },
    },
    { about: 'health', ask: (each) => each.listHealth(), answer: [] },
  ];
}

function isDeclared(thrown: unknown): boolean {
  return thrown instanceof InfraException || thrown instanceof UserError;
}

/** SQLite has no checksums: a damaged page may hide a row. A call without a record counts as one that was never begun. */
function isGone(value: unknown): boolean {
  return isDeepStrictEqual(value, { type: 'none' });
}

/** Asks everything; what is damaged is refused, or gone, and never something else. */
async function asked(url: string, questions: readonly Question[]): Promise<Finding | undefined> {
  const store = await openStore(url);
  try {
    for (const { about, ask, answer } of questions) {
      const ended = await ask(store).then(
        (value) => ({ value }),
        (thrown: unknown) => ({ thrown }),
      );
      if ('thrown' in ended) {
        if (!isDeclared(ended.thrown)) return crashOf(ended.thrown);
        continue;
      }
      const isRight = isDeepStrictEqual(ended.value, answer) || isGone(ended.value);
      if (!isRight)
        return {
          kind: 'false success',
          what: `${about} is read as ${JSON.stringify(ended.value).slice(0, 400)}`,
        };
    }
    return undefined;
  } finally {
    await store.close();
  }
}

async function open(): Promise<OpenFuzzArea> {
  const folder = await mkdtemp(path.join(tmpdir(), 'holdfast-fuzz-store-'));
  const file = path.join(folder, 'whole.db');
  const store = await openStore(`sqlite:${file}`);
  const questions = await filled(store);
  await store.close();
  const whole = await readFile(file);
  let copies = 0;
  return {
    draw: (random) => ({ base: 0, mutations: drawMutations(byteMutations, random) }),
    attempt: async ({ mutations }) => {
      copies += 1;
      const damaged = path.join(folder, `damaged-${copies}.db`);
      await copyFile(file, damaged);
      await writeFile(damaged, mutated(whole, mutations));
      const ended = await settled(asked(`sqlite:${damaged}`, questions));
      await Promise.all(
        ['', '-wal', '-shm'].map((suffix) => rm(`${damaged}${suffix}`, { force: true })),
      );
      if (ended === 'hang') return hanging;
      if ('value' in ended) return ended.value;
      return isDeclared(ended.thrown) ? undefined : crashOf(ended.thrown);
    },
    close: () => rm(folder, { recursive: true, force: true }),
  };
}

/** The area. */
export const storeFilesArea: FuzzArea = {
  name: 'store-files',
  about: 'damaged files of a SQLite store',
  open,
};
