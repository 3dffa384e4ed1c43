/** Removes unreachable content from a store: marks from the roots and from recent content, then deletes the rest. */
import { hashesIn, valuesIn } from '../../../workflows/core/context/content-references';
import type { ContentHash } from '../../../workflows/core/message';
import { runKeyOf } from '../../../workflows/core/tools/lineage';
import { parseManifest } from './blob-manifest';
import type { AgedRow, GarbageRows, SweptTable } from '../sql/garbage-rows';

/** What must stay, and how old everything else must be to be deleted. */
export interface SweepOptions {
  /** Everything in the retained histories that looks like a hash. */
  readonly roots: ReadonlySet<string>;
  /** `<workflow id>/<first run id>` of the retained runs, whose tool records stay. */
  readonly runKeys: ReadonlySet<string>;
  /** Content that was written within so many milliseconds stays: no history may name it yet. */
  readonly graceMs: number;
  /** Deletes nothing. */
  readonly dryRun: boolean;
  /** By the store's own clock (`Store.now`), which also gives content its age. */
  readonly nowMs: number;
}

/** Counts of one kind of row. */
export interface SweptKind {
  readonly removed: number;
  readonly removedBytes: number;
  readonly kept: number;
}

/** What a sweep removed, or would remove. */
export interface SweepResult {
  readonly nodes: SweptKind;
  readonly blobs: SweptKind;
  readonly chunks: SweptKind;
  readonly toolRecords: SweptKind;
  /** Rows of routes' health and of knowledge of tools that nobody has used for a month; none in a dry run. */
  readonly others: number;
}

/** Rows that are read, or deleted in one transaction (ADR 0025). */
const pageRows = 500;
/** Blobs of up to so many bytes are searched for hashes; results and definitions are far smaller (ADR 0025). */
const searchedBlobBytes = 256 * 1024;

/** Milliseconds for which a row that nothing names is kept unused: 30 days. */
const unusedMs = 30 * 86_400_000;

type Rows = ReadonlyMap<ContentHash, AgedRow>;

/** The rows of a table, page by page: a page is gone from memory when the next one comes. */
async function* pagesOf(
  rows: GarbageRows,
  table: SweptTable | 'nodes',
): AsyncGenerator<readonly AgedRow[]> {
  for (let after: string | undefined = ''; after !== undefined;) {
    const page: readonly AgedRow[] = await rows.page(table, after, pageRows);
    yield page;
    after = page.length < pageRows ? undefined : page.at(-1)?.hash;
  }
}

/** Nodes or blobs, whose texts are a name or a list of names. */
export async function allRows(rows: GarbageRows, table: 'nodes' | 'blobs'): Promise<Rows> {
  const found = new Map<ContentHash, AgedRow>();
  for await (const page of pagesOf(rows, table)) for (const row of page) found.set(row.hash, row);
  return found;
}

function* inPages<Item>(items: readonly Item[]): Generator<readonly Item[]> {
  for (let first = 0; first < items.length; first += pageRows)
    yield items.slice(first, first + pageRows);
}

/** Keys of a tool record's runs: its own, those that lead to it, and that of its source, from their idempotency keys. */
export function runKeysOf(record: string): readonly string[] {
  return valuesIn(record, 'key|source').map(runKeyOf);
}

/** Nodes and blobs of a store, by name. */
export interface Contents {
  readonly nodes: Rows;
  readonly blobs: Rows;
}

/** Reads a blob as text; empty if it is damaged. */
export type ReadBlob = (hash: ContentHash) => Promise<string>;

/** Finds what is reached. */
export class Marking {
  readonly reached = new Set<ContentHash>();
  #open: string[] = [];

  constructor(
    private readonly rows: GarbageRows,
    private readonly contents: Contents,
    private readonly readBlob: ReadBlob,
  ) {}

  add(hashes: Iterable<string>): void {
    for (const hash of hashes) {
      const { nodes, blobs } = this.contents;
      if (this.reached.has(hash) || !(nodes.has(hash) || blobs.has(hash))) continue;
      this.reached.add(hash);
      this.#open.push(hash);
    }
  }

  async run(): Promise<void> {
    while (this.#open.length > 0) {
      const batch = this.#open.splice(0, pageRows);
      const nodes = batch.flatMap((hash) => this.contents.nodes.get(hash) ?? []);
      this.add(nodes.flatMap(({ text: parent }) => parent ?? []));
      const messages = await this.rows.messages(nodes.map(({ hash }) => hash));
      for (const text of messages) this.add(hashesIn(text));
      for (const hash of batch) await this.searchBlob(hash);
    }
  }

  private async searchBlob(hash: ContentHash): Promise<void> {
    const blob = this.contents.blobs.get(hash);
    const size = blob && parseManifest(hash, blob.text ?? '')?.totalBytes;
    if (size === undefined || size > searchedBlobBytes) return;
    this.add(hashesIn(await this.readBlob(hash)));
  }
}

/** Hashes of nodes in an order in which each comes before its parent. */
export function childrenFirst(nodes: readonly AgedRow[]): readonly ContentHash[] {
  const parents = new Map(nodes.map(({ hash, text: parent }) => [hash, parent ?? '']));
  const children = new Map<ContentHash, number>();
  for (const parent of parents.values()) children.set(parent, (children.get(parent) ?? 0) + 1);
  const ready = [...parents.keys()].filter((hash) => !children.has(hash));
  const order: ContentHash[] = [];
  for (let hash = ready.pop(); hash !== undefined; hash = ready.pop()) {
    order.push(hash);
    const parent = parents.get(hash) ?? '';
    const left = (children.get(parent) ?? 1) - 1;
    children.set(parent, left);
    if (left === 0 && parents.has(parent)) ready.push(parent);
  }
  return order;
}

/** Counts a table's rows, given those that were removed. */
export function tally(rows: Rows, removed: readonly ContentHash[]): SweptKind {
  return {
    removed: removed.length,
    removedBytes: removed.reduce((bytes, hash) => bytes + (rows.get(hash)?.bytes ?? 0), 0),
    kept: rows.size - removed.length,
  };
}

/** Removes the rows of a table that `isLost`, page by page; `kept` is given each page of the others. */
export async function sweepPages(
  rows: GarbageRows,
  table: 'tool_executions' | 'chunks',
  beforeMs: number,
  {
    dryRun,
    isLost,
    kept,
  }: {
    readonly dryRun: boolean;
    readonly isLost: (row: AgedRow) => boolean;
    readonly kept?: (rows: readonly AgedRow[]) => void;
  },
): Promise<SweptKind> {
  const tallied = { removed: 0, removedBytes: 0, kept: 0 };
  for await (const page of pagesOf(rows, table)) {
    const lost = page.filter((row) => row.touchedMs < beforeMs && isLost(row));
    const hashes = lost.map(({ hash }) => hash);
    const gone = new Set(dryRun ? hashes : await rows.deleteRows(table, hashes, beforeMs));
    for (const { hash, bytes } of page) {
      if (gone.has(hash)) tallied.removedBytes += bytes;
      tallied[gone.has(hash) ? 'removed' : 'kept'] += 1;
    }
    kept?.(page.filter(({ hash }) => !gone.has(hash)));
  }
  return tallied;
}

/**
 * Sweeps a store.
 *
 * Contract: safe while workers run, if the grace is longer than the time between writing content and naming it in a history. A
 * node is deleted only after all its descendants; content that is written again while the sweep runs stays.
 * Errors: `store_unavailable`; an interrupted sweep can be repeated.
 */
export async function sweep(
  rows: GarbageRows,
  readBlob: ReadBlob,
  options: SweepOptions,
): Promise<SweepResult> {
  const { dryRun, nowMs, graceMs, roots, runKeys } = options;
  const beforeMs = nowMs - graceMs;
  const contents: Contents = {
    nodes: await allRows(rows, 'nodes'),
    blobs: await allRows(rows, 'blobs'),
  };
  const isYoung = ({ touchedMs }: AgedRow): boolean => touchedMs >= beforeMs;
  const marking = new Marking(rows, contents, readBlob);
  marking.add(roots);
  const toolRecords = await sweepPages(rows, 'tool_executions', beforeMs, {
    dryRun,
    isLost: ({ text = '' }) => !runKeysOf(text).some((key) => runKeys.has(key)),
    kept: (page) => {
      marking.add(page.flatMap(({ text = '' }) => hashesIn(text)));
    },
  });
  for (const table of [contents.nodes, contents.blobs])
    marking.add([...table.values()].filter(isYoung).map(({ hash }) => hash));
  await marking.run();

  const lost = (table: Rows): readonly AgedRow[] =>
    [...table.values()].filter(({ hash }) => !marking.reached.has(hash));
  const nodes = await inBatches(childrenFirst(lost(contents.nodes)), dryRun, (page) =>
    rows.deleteNodes(page, beforeMs),
  );
  // What was written again while nodes were deleted is reached after all.
  const gone = new Set(nodes);
  marking.add(lost(contents.nodes).flatMap(({ hash }) => (gone.has(hash) ? [] : [hash])));
  await marking.run();
  const lostBlobs = lost(contents.blobs).map(({ hash }) => hash);
  const blobs = await inBatches(lostBlobs, dryRun, (page) =>
    rows.deleteRows('blobs', page, beforeMs),
  );
  const used = await usedChunks(rows, new Set(blobs));
  const isLost = ({ hash }: AgedRow): boolean => !used.has(hash);
  return {
    nodes: tally(contents.nodes, nodes),
    blobs: tally(contents.blobs, blobs),
    chunks: await sweepPages(rows, 'chunks', beforeMs, { dryRun, isLost }),
    toolRecords,
    others: dryRun ? 0 : await rows.deleteUnused(nowMs - unusedMs),
  };
}

/** The chunks of the blobs that stay, which are read again: a blob that was added since names its chunks. */
export async function usedChunks(
  rows: GarbageRows,
  removedBlobs: ReadonlySet<ContentHash>,
): Promise<ReadonlySet<ContentHash>> {
  const used = new Set<ContentHash>();
  for await (const page of pagesOf(rows, 'blobs'))
    for (const { hash, text: manifest = '' } of page)
      if (!removedBlobs.has(hash))
        for (const chunk of manifest.split('\n').slice(1)) used.add(chunk);
  return used;
}

/** The rows that `remove` removed of these, in pages; all in a dry run. */
export async function inBatches(
  hashes: readonly ContentHash[],
  dryRun: boolean,
  remove: (page: readonly ContentHash[]) => Promise<readonly ContentHash[]>,
): Promise<ContentHash[]> {
  const removed: ContentHash[] = [];
  for (const page of inPages(hashes)) removed.push(...(dryRun ? page : await remove(page)));
  return removed;
}
