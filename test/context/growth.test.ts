/** What is done for the parts of a conversation that were there before: nothing, in the store, the measure and on every wire. */
import { measureRequest } from '../../activities/measure/measure-request';
import { anthropicRequest, promptPrefix } from '../../activities/providers/anthropic/request';
import { chatDialects } from '../../activities/providers/openai/chat-dialect';
import { chatPrefix, chatRequest } from '../../activities/providers/openai/chat-request';
import { responsesRequest } from '../../activities/providers/openai/responses-request';
import type { ModelRequest, ProviderWire } from '../../activities/providers/provider';
import { renderTextProtocolRequest } from '../../activities/providers/request/text-tool-protocol';
import { KnownNodes } from '../../activities/stores/content/known-nodes';
import { Transcripts } from '../../activities/stores/content/transcripts';
import { canonicalJson, nodeHash } from '../../activities/stores/content-hash';
import type { NodeRow } from '../../activities/stores/sql/content-rows';
import type { Head, Message } from '../../workflows/core/message';

/** Reads of the texts of a conversation; whoever maps, measures or hashes a message reads its text. */
const reads = { count: 0 };

/** An object whose field counts how often it is read, in every form that a reader may take of it. */
function counting<Value extends object>(value: Value, field: string, text: unknown): Value {
  return Object.defineProperty(value, field, {
    enumerable: true,
    get: () => {
      reads.count += 1;
      return text;
    },
  });
}

function turn(n: number): readonly Message[] {
  const toolCallId = `call-${n}`;
  const thought = { type: 'reasoning', vendor: 'v', text: `thought ${n}`, opaque: {} } as const;
  const call = { type: 'tool-call', toolCallId, name: 'look', input: { n } } as const;
  const result = { type: 'tool-result', toolCallId, name: 'look', isError: false } as const;
  return [
    {
      role: 'assistant',
      vendor: 'v',
      model: 'm',
      blocks: [
        counting({ ...thought, opaque: {} }, 'opaque', {
          signature: `signed ${n}`,
          prefix: '',
        }),
        counting({ ...call }, 'input', { n }),
      ],
    },
    {
      role: 'tool',
      results: [counting({ ...result, content: '' }, 'content', `result ${n}`.repeat(20))],
    },
  ];
}

const start: Message = {
  role: 'user',
  blocks: [counting({ type: 'text', text: '' } as const, 'text', 'Look.')],
};

function conversation(turns: number): readonly Message[] {
  return [start, ...Array.from({ length: turns }, (_, n) => turn(n)).flat()];
}

const tool = { name: 'look', description: 'Looks.', inputSchema: { type: 'object' } };

function requestOf(messages: readonly Message[]): ModelRequest {
  return { model: 'm', system: 'You look.', messages, tools: [tool], maxOutputTokens: 1_000 };
}

const measured =
  (wire: ProviderWire) =>
  (request: ModelRequest): unknown =>
    measureRequest(request, { wire, route: 'p/m' });

const chatOn =
  (dialect: keyof typeof chatDialects) =>
  (request: ModelRequest): unknown => [
    chatRequest(request, 'v', chatDialects[dialect]),
    chatPrefix(request, 'v', chatDialects[dialect]),
  ];

const works: Readonly<Record<string, (request: ModelRequest) => unknown>> = {
  'the measure for anthropic': measured('anthropic'),
  'the measure for chat': measured('chat'),
  'the measure for responses': measured('responses'),
  'the anthropic wire': (request) => anthropicRequest(request, { vendor: 'v' }),
  'the prefix of thoughts': (request) => promptPrefix(request, 'v'),
  'the responses wire': (request) => responsesRequest(request, 'v'),
  'the chat wire': chatOn('compatible'),
  'the chat wire with details': chatOn('openrouter'),
  'the chat wire with nine letters': chatOn('mistral'),
  'the text protocol': (request) =>
    anthropicRequest(renderTextProtocolRequest(request), { vendor: 'v' }),
};

/** Reads that one more turn costs after so many. */
function readsOfNext(work: (request: ModelRequest) => unknown, turns: number): number {
  const messages = conversation(turns);
  work(requestOf(messages));
  const next = [...messages, ...turn(turns)];
  reads.count = 0;
  work(requestOf(next));
  return reads.count;
}

describe('the work of an iteration', () => {
  it.each(Object.entries(works))('is the same at 20 and at 2,000 messages: %s', (_name, work) => {
    const short = readsOfNext(work, 10);
    expect(short).toBeGreaterThan(0);
    expect(readsOfNext(work, 1_000)).toBe(short);
  });

  it.each(Object.entries(works))(
    'gives what a worker gives that sees it first: %s',
    (_name, work) => {
      const messages = conversation(30);
      work(requestOf(messages.slice(0, 21)));
      expect(JSON.stringify(work(requestOf(messages)))).toBe(
        JSON.stringify(work(requestOf(conversation(30)))),
      );
      // A fork from an earlier point, another route, and the first one again.
      const fork = [...messages.slice(0, 11), ...turn(77)];
      work({ ...requestOf(messages), model: 'other', thoughts: 'omitted', system: 'Other.' });
      expect(JSON.stringify(work(requestOf(fork)))).toBe(
        JSON.stringify(work(requestOf([...conversation(30).slice(0, 11), ...turn(77)]))),
      );
      expect(JSON.stringify(work(requestOf(messages)))).toBe(
        JSON.stringify(work(requestOf(conversation(30)))),
      );
    },
  );
});

/** A database of nodes in memory that counts the rows it was asked for. */
class Rows {
  readonly rows = new Map<Head, NodeRow>();
  selected = 0;

  add(parent: Head | undefined, text: string): NodeRow {
    const messages = canonicalJson([{ role: 'user', blocks: [{ type: 'text', text }] }]);
    const row: NodeRow = { hash: nodeHash(parent, messages), parent, messages };
    this.rows.set(row.hash, row);
    return row;
  }

  addChain(parent: Head | undefined, name: string, length: number): Head {
    let head = parent;
    for (let n = 0; n < length; n += 1) head = this.add(head, `${name} ${n}`).hash;
    return head ?? '';
  }

  selectChain(head: Head, most: number): Promise<readonly NodeRow[]> {
    const found: NodeRow[] = [];
    for (let at: Head | undefined = head; at !== undefined && found.length < most;) {
      const row = this.rows.get(at);
      if (row === undefined) break;
      found.push(row);
      at = row.parent;
    }
    this.selected += found.length;
    return Promise.resolve(found);
  }
}

describe('a load of a transcript', () => {
  it('reads nothing that this worker has stored or loaded', async () => {
    const rows = new Rows();
    const transcripts = new Transcripts(rows, 'test');
    const head = rows.addChain(undefined, 'old', 2_000);
    const first = await transcripts.load(head);
    expect(rows.selected).toBeLessThan(2_100);
    rows.selected = 0;
    const row = rows.add(head, 'new');
    transcripts.stored(row);
    const next = await transcripts.load(row.hash);
    expect(rows.selected).toBe(0);
    expect(next).toHaveLength(2_001);
    expect(next.slice(0, -1).every((message, at) => message === first[at])).toBe(true);
  });

  it('reads a few rows of what another worker has added, and of a fork', async () => {
    const rows = new Rows();
    const transcripts = new Transcripts(rows, 'test');
    const trunk = rows.addChain(undefined, 'old', 2_000);
    await transcripts.load(trunk);
    const heads = [rows.addChain(trunk, 'theirs', 4), rows.addChain(trunk, 'fork', 2)];
    for (const head of heads) {
      rows.selected = 0;
      const messages = await transcripts.load(head);
      expect(rows.selected).toBeLessThanOrEqual(16);
      expect(messages).toEqual(await new Transcripts(rows, 'cold').load(head));
    }
  });

  it('gives messages that nobody can change', async () => {
    const rows = new Rows();
    const [message] = await new Transcripts(rows, 'test').load(rows.add(undefined, 'a').hash);
    expect(() => Object.assign(message ?? {}, { role: 'tool' })).toThrow(TypeError);
    expect(Object.isFrozen(message?.role === 'user' ? message.blocks[0] : undefined)).toBe(true);
  });

  it('refuses a node whose content or parent is not the one of its name, wherever it stands', async () => {
    const rows = new Rows();
    const head = rows.addChain(undefined, 'old', 40);
    const changed = [...rows.rows.keys()][3] ?? '';
    rows.rows.set(changed, { ...(rows.rows.get(changed) as NodeRow), messages: '[]' });
    await expect(new Transcripts(rows, 'test').load(head)).rejects.toThrow(/was changed/);
    rows.rows.delete(changed);
    await expect(new Transcripts(rows, 'test').load(head)).rejects.toThrow(/is missing/);
  });
});

describe('the nodes that are known', () => {
  it('stay within their bound: what was not loaded for longest goes, with all that builds on it', () => {
    const rows = new Rows();
    const bytes = new Rows().add(undefined, 'old 0').messages.length;
    const known = new KnownNodes(bytes * 22);
    const keep = (head: Head): void => {
      const chain: NodeRow[] = [];
      for (let at: Head | undefined = head; at !== undefined; at = rows.rows.get(at)?.parent)
        chain.push(rows.rows.get(at) as NodeRow);
      for (const row of chain.reverse())
        if (known.mayAdd(row)) known.add(row, [{ role: 'user', blocks: [] }]);
      const node = known.get(head);
      if (node !== undefined) known.transcript(node);
    };
    const heads = ['old', 'mid', 'new'].map((name) => rows.addChain(undefined, name, 8));
    const [old = '', mid = '', fresh = ''] = heads;
    for (const head of [old, mid, old, fresh]) keep(head);
    expect(heads.map((head) => known.has(head))).toEqual([true, false, true]);
    const held = [...rows.rows.keys()].filter((hash) => known.has(hash));
    expect(held.length).toBeLessThanOrEqual(22);
    for (const hash of held) {
      const parent = rows.rows.get(hash)?.parent;
      expect(parent === undefined || known.has(parent)).toBe(true);
    }
  });
});
