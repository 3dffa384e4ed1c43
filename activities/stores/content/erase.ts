/** Removes what only some runs have named, at once and whatever its age: their content is to be forgotten. */
import { hashesIn } from '../../../workflows/core/context/content-references';
import type { ContentHash } from '../../../workflows/core/message';
import type { AgedRow, GarbageRows } from '../sql/garbage-rows';
import { parseManifest } from './blob-manifest';
import {
  allRows,
  childrenFirst,
  inBatches,
  Marking,
  runKeysOf,
  sweepPages,
  tally,
  usedChunks,
  type Contents,
  type ReadBlob,
  type SweepResult,
} from './sweep';

/** What the histories of some runs name. */
interface NamedContent {
  readonly hashes: ReadonlySet<string>;
  /** `<workflow id>/<first run id>`. */
  readonly runKeys: ReadonlySet<string>;
}

/** Which content goes, and which stays. */
export interface EraseOptions {
  readonly erased: NamedContent;
  /** Of all other retained runs. */
  readonly others: NamedContent;
  /** When the histories were begun to be read, by the store's own clock: what was written since stays. */
  readonly nowMs: number;
  /** Deletes nothing. */
  readonly dryRun: boolean;
}

/** What was removed, or would be. */
export interface EraseResult extends Pick<
  SweepResult,
  'nodes' | 'blobs' | 'chunks' | 'toolRecords'
> {
  /** Nodes and blobs that stay because other runs have them, too. */
  readonly shared: number;
}

/** Milliseconds for which content may be unnamed by its run's history: as the default grace of `gc` (ADR 0025). */
const unnamedMs = 86_400_000;

/**
 * Erases the content of some runs.
 *
 * Contract: content that another run's history or record names stays, and so does what it builds on. What another run has written
 * but not named yet stays unless it is, byte for byte, content of the erased runs.
 * Errors: `store_unavailable`; an interrupted erasure can be repeated.
 */
export async function erase(
  rows: GarbageRows,
  readBlob: ReadBlob,
  { erased, others, nowMs, dryRun }: EraseOptions,
): Promise<EraseResult> {
  const contents = {
    nodes: await allRows(rows, 'nodes'),
    blobs: await allRows(rows, 'blobs'),
  };
  const [leaving, staying] = [1, 2].map(() => new Marking(rows, contents, readBlob));
  if (leaving === undefined || staying === undefined) throw new Error('two markings');
  leaving.add(erased.hashes);
  staying.add(others.hashes);
  const toolRecords = await sweepPages(rows, 'tool_executions', nowMs, {
    dryRun,
    isLost: ({ text = '' }) => {
      const keys = runKeysOf(text);
      const isErased = keys.some((key) => erased.runKeys.has(key));
      if (!isErased || keys.some((key) => others.runKeys.has(key))) return false;
      leaving.add(hashesIn(text));
      return true;
    },
    kept: (page) => {
      staying.add(page.flatMap(({ text = '' }) => hashesIn(text)));
    },
  });
  await settle(contents, leaving, staying, nowMs - unnamedMs);

  const isLost = ({ hash }: { readonly hash: ContentHash }): boolean =>
    leaving.reached.has(hash) && !staying.reached.has(hash);
  const lostNodes = childrenFirst([...contents.nodes.values()].filter(isLost));
  const nodes = await inBatches(lostNodes, dryRun, (page) => rows.deleteNodes(page, nowMs));
  const lostBlobs = [...contents.blobs.values()].filter(isLost);
  const blobs = await inBatches(
    lostBlobs.map(({ hash }) => hash),
    dryRun,
    (page) => rows.deleteRows('blobs', page, nowMs),
  );
  const used = await usedChunks(rows, new Set(blobs));
  const lostChunks = new Set(
    lostBlobs.flatMap(({ hash, text = '' }) => parseManifest(hash, text)?.chunkHashes ?? []),
  );
  const chunks = await sweepPages(rows, 'chunks', nowMs, {
    dryRun,
    isLost: ({ hash }) => lostChunks.has(hash) && !used.has(hash),
  });
  const shared = [...leaving.reached].filter((hash) => staying.reached.has(hash)).length;
  return {
    nodes: tally(contents.nodes, nodes),
    blobs: tally(contents.blobs, blobs),
    chunks,
    toolRecords,
    shared,
  };
}

/** Whether the first named node before this one is named by erased runs alone. */
function buildsOnErased(
  nodes: ReadonlyMap<ContentHash, AgedRow>,
  hash: ContentHash,
  leaving: Marking,
  staying: Marking,
): boolean {
  let at = nodes.get(hash)?.text;
  while (at !== undefined && !leaving.reached.has(at) && !staying.reached.has(at))
    at = nodes.get(at)?.text;
  return at !== undefined && !staying.reached.has(at);
}

/** Marks all that is reached, and then what no history names: with the erased runs if it builds on them alone, else as staying while it is young. */
async function settle(
  { nodes, blobs }: Contents,
  leaving: Marking,
  staying: Marking,
  youngFromMs: number,
): Promise<void> {
  await leaving.run();
  await staying.run();
  for (const table of [nodes, blobs])
    for (const { hash, touchedMs } of table.values()) {
      if (leaving.reached.has(hash) || staying.reached.has(hash)) continue;
      // An erased run's last words: a run that continues another one names where it began.
      if (buildsOnErased(nodes, hash, leaving, staying)) leaving.add([hash]);
      else if (touchedMs >= youngFromMs) staying.add([hash]);
    }
  await leaving.run();
  await staying.run();
}
