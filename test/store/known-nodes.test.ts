/** What a process remembers of transcripts: whole conversations, frozen, the most recent ones. */
import { KnownNodes } from '../../activities/stores/content/known-nodes';
import { nodeHash } from '../../activities/stores/content-hash';
import type { Message } from '../../workflows/core/message';

const says = (text: string): readonly Message[] => [
  { role: 'user', blocks: [{ type: 'text', text }] },
];

/** Adds a node whose text has so many characters; returns its name. */
function add(nodes: KnownNodes, text: string, parent?: string, chars = 100): string {
  const row = { hash: nodeHash(parent, text), parent, messages: text.padEnd(chars, '.') };
  nodes.add(row, says(text));
  return row.hash;
}

function load(nodes: KnownNodes, head: string): readonly Message[] {
  const node = nodes.get(head);
  if (node === undefined) throw new Error(`unknown: ${head}`);
  return nodes.transcript(node);
}

test('a transcript is the messages up to a node, oldest first', () => {
  const nodes = new KnownNodes();
  const first = add(nodes, 'one');
  const second = add(nodes, 'two', first);
  const fork = add(nodes, 'other', first);
  expect(load(nodes, second)).toEqual([...says('one'), ...says('two')]);
  expect(load(nodes, fork)).toEqual([...says('one'), ...says('other')]);
  expect(load(nodes, first)).toEqual(says('one'));
  expect(load(nodes, second)).toBe(load(nodes, second));
});

test('what is loaded cannot be changed', () => {
  const nodes = new KnownNodes();
  const [message] = load(nodes, add(nodes, 'one'));
  expect(Object.isFrozen(message)).toBe(true);
  expect(message?.role === 'user' && Object.isFrozen(message.blocks[0])).toBe(true);
});

test('one list is kept for a conversation, by its newest node', () => {
  const nodes = new KnownNodes();
  const first = add(nodes, 'one');
  load(nodes, first);
  const second = add(nodes, 'two', first);
  load(nodes, second);
  expect(nodes.get(first)?.transcript).toBeUndefined();
  expect(nodes.get(second)?.transcript).toHaveLength(2);
});

test('a node may be added if it is new and all before it are known', () => {
  const nodes = new KnownNodes();
  const first = add(nodes, 'one');
  const row = (hash: string, parent?: string) => ({ hash, parent, messages: '[]' });
  expect(nodes.mayAdd(row('new'))).toBe(true);
  expect(nodes.mayAdd(row('new', first))).toBe(true);
  expect(nodes.mayAdd(row('new', 'unknown'))).toBe(false);
  expect(nodes.mayAdd(row(first))).toBe(false);
});

describe('above the bound', () => {
  test('the conversations that were not loaded for longest are forgotten, whole', () => {
    const nodes = new KnownNodes(550);
    const begin = (name: string): { readonly first: string; readonly last: string } => {
      const first = add(nodes, `${name} one`);
      const last = add(nodes, `${name} two`, first);
      load(nodes, last);
      return { first, last };
    };
    const [a, b] = [begin('a'), begin('b')];
    load(nodes, a.last);
    const c = begin('c');
    const known = [a, b, c].map(({ first, last }) => [nodes.has(first), nodes.has(last)]);
    expect(known).toEqual([
      [true, true],
      [false, false],
      [true, true],
    ]);
    expect(load(nodes, c.last)).toHaveLength(2);
  });

  test('so little is forgotten that three quarters of the bound are left', () => {
    const nodes = new KnownNodes(1_000);
    const heads = Array.from({ length: 11 }, (_, index) => {
      const head = add(nodes, `conversation ${index}`);
      load(nodes, head);
      return head;
    });
    expect(heads.map((head) => nodes.has(head))).toEqual([
      ...[false, false, false, false],
      ...[true, true, true, true, true, true, true],
    ]);
  });

  test('what is just at the bound stays', () => {
    const nodes = new KnownNodes(200);
    const first = add(nodes, 'one');
    const second = add(nodes, 'two');
    load(nodes, second);
    expect(nodes.has(first)).toBe(true);
  });

  test('a part of a conversation that is in use stays with it', () => {
    const nodes = new KnownNodes(280);
    const first = add(nodes, 'one');
    load(nodes, first);
    const fork = add(nodes, 'fork', first);
    load(nodes, fork);
    const other = add(nodes, 'other', first);
    load(nodes, other);
    expect([first, fork, other].map((head) => nodes.has(head))).toEqual([true, false, true]);
  });
});
