/** Removes from a store what nothing reaches any more: marks from the roots and from everything young, then deletes the rest. */
import { hashesIn } from '../../../workflows/core/context/content-references';
import type { ContentHash } from '../../../workflows/core/message';
import { parseManifest } from './blob-manifest';
import type { AgedNode, AgedRow, AgedText, GarbageRows, SweptTable } from '../sql/garbage-rows';

/** What must stay, and how old the rest must be to go. */
export interface SweepOptions {
  /** Whatever looks like a hash in what is retained. */
  readonly roots: ReadonlySet<string>;
  /** `<workflow id>/<first run id>` of the runs that are retained: their tool records stay. */
  readonly runKeys: ReadonlySet<string>;
  /** Content that was written, or written again, within so many milliseconds stays: it may not have reached a history yet. */
  readonly graceMs: number;
  /** Deletes nothing. */
  readonly dryRun: boolean;
  readonly nowMs: number;
}

/** How much of one kind. */
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
}

/** Rows read, or deleted in one transaction (ADR 0025). */
const pageRows = 500;
/** Blobs up to so many bytes are searched for hashes: results and definitions are far smaller (ADR 0025). */
const searchedBlobBytes = 256 * 1024;

async function all<Row extends AgedRow>(
  page: (after: string, limit: number) => Promise<readonly Row[]>,
): Promise<ReadonlyMap<ContentHash, Row>> {
  const found = new Map<ContentHash, Row>();
  let after = '';
  for (;;) {
    const rows = await page(after, pageRows);
    for (const row of rows) found.set(row.hash, row);
    const last = rows.at(-1);
    if (last === undefined || rows.length < pageRows) return found;
    after = last.hash;
  }
}

function* inPages<Item>(items: readonly Item[]): Generator<readonly Item[]> {
  for (let first = 0; first < items.length; first += pageRows)
    yield items.slice(first, first + pageRows);
}

/** The run of a tool record, by its idempotency key `<run key>/<tool call id>`. */
function runKeyOf(record: string): string {
  const key = /"key":"((?:[^"\\]|\\.)*)"/.exec(record)?.[1] ?? '';
  return key.slice(0, Math.max(key.lastIndexOf('/'), 0));
}

interface Contents {
  readonly nodes: ReadonlyMap<ContentHash, AgedNode>;
  readonly blobs: ReadonlyMap<ContentHash, AgedText>;
  readonly tools: ReadonlyMap<ContentHash, AgedText>;
}

/** Reads the bytes of a blob, or as much of it as is there. */
export type ReadBlob = (hash: ContentHash) => Promise<string>;

/** Finds what is reached. */
class Marking {
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
      this.add(nodes.flatMap(({ parent }) => parent ?? []));
      const messages = await this.rows.messages(nodes.map(({ hash }) => hash));
      for (const text of messages) this.add(hashesIn(text));
      for (const hash of batch) await this.searchBlob(hash);
    }
  }

  private async searchBlob(hash: ContentHash): Promise<void> {
    const blob = this.contents.blobs.get(hash);
    const size = blob === undefined ? undefined : parseManifest(hash, blob.text)?.totalBytes;
    if (size === undefined || size > searchedBlobBytes) return;
    this.add(hashesIn(await this.readBlob(hash)));
  }
}

/** Nodes in an order in which each comes before its parent. */
function childrenFirst(nodes: readonly AgedNode[]): readonly ContentHash[] {
  const children = new Map<ContentHash, number>();
  for (const { parent } of nodes)
    if (parent !== undefined) children.set(parent, (children.get(parent) ?? 0) + 1);
  const byHash = new Map(nodes.map((node) => [node.hash, node]));
  const ready = nodes.filter(({ hash }) => !children.has(hash));
  const order: ContentHash[] = [];
  for (let next = ready.pop(); next !== undefined; next = ready.pop()) {
    order.push(next.hash);
    const parent = next.parent === undefined ? undefined : byHash.get(next.parent);
    if (parent === undefined) continue;
    const left = (children.get(parent.hash) ?? 1) - 1;
    children.set(parent.hash, left);
    if (left === 0) ready.push(parent);
  }
  return order;
}

function tally<Row extends AgedRow>(
  rows: ReadonlyMap<ContentHash, Row>,
  removed: readonly ContentHash[],
): SweptKind {
  return {
    removed: removed.length,
    removedBytes: removed.reduce((bytes, hash) => bytes + (rows.get(hash)?.bytes ?? 0), 0),
    kept: rows.size - removed.length,
  };
}

/**
 * Sweeps a store.
 *
 * Contract: safe beside live workers, provided that the grace is longer than content can wait between being written and being
 * named in a history. A node goes only after every node that builds on it; what is written again while the sweep runs stays.
 * Errors: `store_unavailable`; repeating a sweep that was cut short does the rest.
 */
export async function sweep(
  rows: GarbageRows,
  readBlob: ReadBlob,
  options: SweepOptions,
): Promise<SweepResult> {
  const { dryRun, nowMs, graceMs, roots, runKeys } = options;
  const beforeMs = nowMs - graceMs;
  const contents: Contents = {
    nodes: await all((after, limit) => rows.nodes(after, limit)),
    blobs: await all((after, limit) => rows.blobs(after, limit)),
    tools: await all((after, limit) => rows.tools(after, limit)),
  };
  const isYoung = ({ touchedMs }: AgedRow): boolean => touchedMs >= beforeMs;
  const keptTools = [...contents.tools.values()].filter(
    (row) => isYoung(row) || runKeys.has(runKeyOf(row.text)),
  );
  const marking = new Marking(rows, contents, readBlob);
  marking.add(roots);
  marking.add(keptTools.flatMap(({ text }) => hashesIn(text)));
  for (const table of [contents.nodes, contents.blobs])
    marking.add([...table.values()].filter(isYoung).map(({ hash }) => hash));
  await marking.run();

  const lost = <Row extends AgedRow>(table: ReadonlyMap<ContentHash, Row>): readonly Row[] =>
    [...table.values()].filter(({ hash }) => !marking.reached.has(hash));
  const remove = (table: SweptTable, hashes: readonly ContentHash[]): Promise<ContentHash[]> =>
    inBatches(hashes, dryRun, (page) => rows.deleteRows(table, page, beforeMs));

  const nodes = await inBatches(childrenFirst(lost(contents.nodes)), dryRun, (page) =>
    rows.deleteNodes(page, beforeMs),
  );
  // What somebody wrote again while the nodes went is reached after all.
  const gone = new Set(nodes);
  marking.add(lost(contents.nodes).flatMap(({ hash }) => (gone.has(hash) ? [] : [hash])));
  await marking.run();
  const blobs = await remove(
    'blobs',
    lost(contents.blobs).map(({ hash }) => hash),
  );
  const kept = new Set(keptTools.map(({ hash }) => hash));
  const tools = await remove(
    'tool_executions',
    [...contents.tools.keys()].filter((hash) => !kept.has(hash)),
  );
  const chunks = await sweepChunks(rows, { dryRun, beforeMs, removedBlobs: new Set(blobs) });
  return {
    nodes: tally(contents.nodes, nodes),
    blobs: tally(contents.blobs, blobs),
    chunks,
    toolRecords: tally(contents.tools, tools),
  };
}

async function inBatches(
  hashes: readonly ContentHash[],
  dryRun: boolean,
  remove: (page: readonly ContentHash[]) => Promise<readonly ContentHash[]>,
): Promise<ContentHash[]> {
  const removed: ContentHash[] = [];
  for (const page of inPages(hashes)) removed.push(...(dryRun ? page : await remove(page)));
  return removed;
}

/** Chunks that no blob consists of. The blobs are read again: one that came meanwhile has touched its chunks, or names them. */
async function sweepChunks(
  rows: GarbageRows,
  options: { dryRun: boolean; beforeMs: number; removedBlobs: ReadonlySet<ContentHash> },
): Promise<SweptKind> {
  const { dryRun, beforeMs, removedBlobs } = options;
  const blobs = await all((after, limit) => rows.blobs(after, limit));
  const used = new Set<ContentHash>();
  for (const { hash, text } of blobs.values())
    if (!removedBlobs.has(hash)) for (const chunk of text.split('\n').slice(1)) used.add(chunk);
  const chunks = await all((after, limit) => rows.chunks(after, limit));
  const loose = [...chunks.values()]
    .filter(({ hash, touchedMs }) => !used.has(hash) && touchedMs < beforeMs)
    .map(({ hash }) => hash);
  const removed = await inBatches(loose, dryRun, (page) =>
    rows.deleteRows('chunks', page, beforeMs),
  );
  return tally(chunks, removed);
}
