/** The rows of transcripts, blobs, tool executions and route health. */
import type { ContentHash, Head } from '../../../workflows/core/message';
import type { Chunk } from '../content/blob-manifest';
import { storeMismatch } from '../store-errors';
import { recordRowOf, updateRecord, type RecordChange, type RecordRow } from './record-row';
import { probeTables } from './schema';
import {
  bytesOf,
  numberOf,
  placeholders,
  textOf,
  type SqlDatabase,
  type SqlQuery,
  type SqlRow,
  type SqlStatement,
  type SqlValue,
} from './sql-database';

/** A stored transcript node. */
export interface NodeRow {
  readonly hash: Head;
  readonly parent: Head | undefined;
  /** Canonical JSON. */
  readonly messages: string;
}

/** A transcript node to be stored. */
interface NewNodeRow extends NodeRow {
  /** The parent was written so recently that its row is fresh. */
  readonly hasFreshParent?: boolean;
}

/** A stored tool execution. The checksums reveal a changed byte. */
export interface ToolRow {
  /** Canonical JSON of the intent. */
  readonly intent: string;
  readonly intentSum: ContentHash;
  /** `begun` or `executing`, where there is no outcome. */
  readonly phase: string;
  /** Undefined until the execution is finished. */
  readonly outcome: string | undefined;
  readonly outcomeSum: string | undefined;
}

/** A tool execution to be stored. */
export interface NewToolRow extends Pick<ToolRow, 'intent' | 'intentSum'> {
  /** Hash of the tree of runs, the tool, and its input. */
  readonly action: ContentHash;
  /** Hash of the key of the execution that answers this one. */
  readonly source: ContentHash | undefined;
}

/** An attempt that takes a tool execution, and the phase that it moves it to. */
interface NewOwner {
  readonly owner: string;
  readonly scheduledAtMs: number;
  readonly phase: ToolRow['phase'];
}

/** A stored blob. */
export interface BlobRow {
  readonly hash: ContentHash;
  readonly manifest: string;
}

/** What became of a node: a row that is not the node's own is there, or has no parent. */
type NodeInsertion =
  | { readonly type: 'written' }
  | { readonly type: 'present'; readonly row: NodeRow }
  | { readonly type: 'parent-missing' };

/** The outcome of a tool execution that has a row. */
interface NewOutcome {
  readonly keyHash: ContentHash;
  readonly outcome: string;
  readonly outcomeSum: ContentHash;
}

/** What is written together. */
interface Writes {
  readonly chunks?: readonly Chunk[];
  /** Blobs whose chunks are among these, or there. */
  readonly blobs?: readonly BlobRow[];
  readonly nodes?: readonly NewNodeRow[];
  readonly outcome?: NewOutcome;
}

/** What became of the nodes, in their order, and of the outcome. */
interface Written {
  readonly nodes: readonly NodeInsertion[];
  readonly isFinished: boolean;
}

/** Milliseconds. A row younger than this is not touched again: no grace of a sweep is as short (ADR 0025). */
export const freshMs = 20_000;

const touchParentSql = `
  UPDATE @nodes SET touched_ms = $now WHERE hash = ?name AND touched_ms < $now - ${freshMs}`;

/** Makes the row young if it is there; writes nothing without the parent, or if the row was changed, or encrypted at another time. */
const insertNodeSql = `
  INSERT INTO @nodes AS known (hash, parent, messages)
  SELECT CAST(?name AS text), CAST(?name AS text), CAST(?sealed AS text)
  WHERE CAST(?name AS text) IS NULL OR EXISTS (SELECT 1 FROM @nodes WHERE hash = ?name)
  ON CONFLICT (hash) DO UPDATE SET touched_ms = excluded.touched_ms
  WHERE known.messages = excluded.messages
    AND coalesce(known.parent, '') = coalesce(excluded.parent, '')
  RETURNING {hash}`;

const touchNodeSql = `
  UPDATE @nodes SET touched_ms = $now WHERE hash = ?name
  RETURNING {hash}, {parent}, {messages}`;

/** UNION, not UNION ALL, so that a manipulated chain that forms a ring ends, and then fails its hashes. */
const chainSql = `
  WITH RECURSIVE chain(hash, parent) AS (
    SELECT hash, parent FROM @nodes WHERE hash = ?name
    UNION
    SELECT nodes.hash, nodes.parent FROM @nodes AS nodes JOIN chain ON nodes.hash = chain.parent
  ), newest(hash) AS (SELECT hash FROM chain LIMIT ?)
  SELECT {nodes.hash}, {nodes.parent}, {nodes.messages}
  FROM newest JOIN @nodes AS nodes ON nodes.hash = newest.hash`;

/** A write that finds the row makes it young; it waits for a sweep of the row, or the sweep for it. */
const touchOnConflict = 'ON CONFLICT (hash) DO UPDATE SET touched_ms = excluded.touched_ms';

const toolColumns = '{phase}, {intent}, {intent_sum}, {outcome}, {outcome_sum}';

/** Repeated after a lost reply, it takes the row over from a later attempt no more than it did the first time. */
const ownToolSql = `
  INSERT INTO @tool_executions AS known
    (key_hash, owner, scheduled_ms, phase, intent, intent_sum, action)
  VALUES (?name, ?, ?, ?, ?sealed, ?name, ?name)
  ON CONFLICT (key_hash) DO UPDATE
  SET owner = excluded.owner, scheduled_ms = excluded.scheduled_ms,
    phase = CASE
      WHEN excluded.phase = 'begun' OR known.source IS NOT NULL THEN known.phase
      ELSE excluded.phase END
  WHERE known.outcome IS NULL AND known.scheduled_ms <= excluded.scheduled_ms
  RETURNING ${toolColumns}`;

/** Adds nothing if the key is known, or if another execution of the same action has the source. */
const addToolSql = `
  INSERT INTO @tool_executions
    (key_hash, owner, scheduled_ms, phase, intent, intent_sum, action, source)
  VALUES (?name, ?, ?, 'begun', ?sealed, ?name, ?name, ?name)
  ON CONFLICT DO NOTHING`;

const takeToolSql = `
  UPDATE @tool_executions SET owner = ?, scheduled_ms = ?
  WHERE key_hash = ?name AND outcome IS NULL AND scheduled_ms <= ?
  RETURNING ${toolColumns}`;

const moveToolSql = `
  UPDATE @tool_executions SET phase = ?
  WHERE key_hash = ?name AND owner = ? AND outcome IS NULL
  RETURNING {key_hash}`;

const selectToolSql = `SELECT ${toolColumns} FROM @tool_executions WHERE key_hash = ?name`;

const toolsOfActionSql = `SELECT ${toolColumns} FROM @tool_executions WHERE action = ?name`;

const finishToolSql = `
  UPDATE @tool_executions SET outcome = ?sealed, outcome_sum = ?name
  WHERE key_hash = ?name AND outcome IS NULL
  RETURNING {key_hash AS hash}`;

/** Adds an empty row, which is no record, if there is none, and locks the row until the transaction ends. */
const lockHealthSql = `
  INSERT INTO @route_health (route_hash, record, record_sum) VALUES (?name, '', '')
  ON CONFLICT (route_hash) DO UPDATE SET route_hash = excluded.route_hash
  RETURNING {record}, {record_sum}`;

const saveHealthSql =
  'UPDATE @route_health SET record = ?sealed, record_sum = ?name, touched_ms = $now WHERE route_hash = ?name';

/**
 * The store's rows in one database.
 *
 * Contract: every write is harmless when repeated; a write that finds its row changes only the row's age.
 * `updateHealth` is the exception to both.
 */
export class ContentRows {
  constructor(readonly database: SqlDatabase) {}

  /** Writes what is given, together. */
  async write({ chunks = [], blobs = [], nodes = [], outcome }: Writes): Promise<Written> {
    const rows = await this.database.write([
      ...insertAll('chunks', 'bytes', new Map(chunks.map(({ hash, bytes }) => [hash, bytes]))),
      ...insertAll('blobs', 'manifest', new Map(blobs.map((row) => [row.hash, row.manifest]))),
      ...nodes.flatMap((node, at) => insertNode(node, nodes[at - 1])),
      ...(outcome === undefined ? [] : [finishTool(outcome)]),
    ]);
    const written = new Set(rows.flat().map(({ hash }) => textOf(hash)));
    const insertions: NodeInsertion[] = [];
    for (const node of nodes)
      insertions.push(written.has(node.hash) ? { type: 'written' } : await this.#unwritten(node));
    return {
      nodes: insertions,
      isFinished: outcome !== undefined && written.has(outcome.keyHash),
    };
  }

  /** `most` rows from `head` towards the first node, in any order; ends at a missing parent. */
  async selectChain(head: Head, most: number): Promise<readonly NodeRow[]> {
    return (await this.#select(chainSql, [head, most])).map(nodeRow);
  }

  /** Makes a blob that is there as young as one that is written now; false if it is not there. */
  touchBlob(hash: ContentHash): Promise<boolean> {
    const sql = 'UPDATE @blobs SET touched_ms = $now WHERE hash = ?name RETURNING {hash}';
    return this.#changes(sql, [hash]);
  }

  async selectManifest(hash: ContentHash): Promise<string | undefined> {
    const [row] = await this.#select('SELECT {manifest} FROM @blobs WHERE hash = ?name', [hash]);
    return textOf(row?.['manifest']);
  }

  async selectChunks(hashes: readonly ContentHash[]): Promise<ReadonlyMap<ContentHash, Buffer>> {
    const sql = `SELECT {hash}, [bytes] FROM @chunks WHERE hash IN (${placeholders(hashes.length)})`;
    const found = new Map<ContentHash, Buffer>();
    for (const row of await this.#select(sql, hashes)) {
      const bytes = bytesOf(row['bytes']);
      if (bytes !== undefined) found.set(textOf(row['hash']) ?? '', bytes);
    }
    return found;
  }

  /**
   * Adds the row, or gives it to this owner unless it has an outcome or belongs to a later attempt; returns the resulting row. No
   * row: another row of the same action has its source. One with a source is `begun`.
   */
  async ownTool(
    keyHash: ContentHash,
    { owner, scheduledAtMs, phase }: NewOwner,
    { intent, intentSum, action, source }: NewToolRow,
  ): Promise<{ readonly row: ToolRow | undefined; readonly isOwned: boolean }> {
    const values = [intent, intentSum, action];
    const written = await this.database.write(
      source === undefined
        ? [[ownToolSql, [keyHash, owner, scheduledAtMs, phase, ...values]]]
        : [
            [addToolSql, [keyHash, owner, scheduledAtMs, ...values, source]],
            [takeToolSql, [owner, scheduledAtMs, keyHash, scheduledAtMs]],
          ],
    );
    const owned = toolRow(written.at(-1)?.[0]);
    return { row: owned ?? (await this.selectTool(keyHash)), isOwned: owned !== undefined };
  }

  /** Sets the phase, if there is no outcome and the owner is this one; else false. */
  moveTool(keyHash: ContentHash, owner: string, phase: ToolRow['phase']): Promise<boolean> {
    return this.#changes(moveToolSql, [phase, keyHash, owner]);
  }

  async selectTool(keyHash: ContentHash): Promise<ToolRow | undefined> {
    return toolRow((await this.#select(selectToolSql, [keyHash]))[0]);
  }

  async selectToolsOf(action: ContentHash): Promise<readonly ToolRow[]> {
    const rows = await this.#select(toolsOfActionSql, [action]);
    return rows.flatMap((row) => toolRow(row) ?? []);
  }

  /** The rows of these routes; of all without an argument. */
  async selectHealth(
    routeHashes?: readonly ContentHash[],
  ): Promise<ReadonlyMap<ContentHash, RecordRow>> {
    if (routeHashes?.length === 0) return new Map();
    const rows = await this.#select(
      `SELECT {route_hash}, {record}, {record_sum}
       FROM @route_health${routeHashes === undefined ? '' : ` WHERE route_hash IN (${placeholders(routeHashes.length)})`}`,
      routeHashes ?? [],
    );
    return new Map(rows.map((row) => [textOf(row['route_hash']) ?? '', recordRowOf(row)]));
  }

  /** Replaces a row with what `update` makes of it, in a transaction; `update` may run twice, and its last result counts. */
  updateHealth<T extends RecordChange>(
    routeHash: ContentHash,
    update: (known: RecordRow | undefined) => T,
  ): Promise<T> {
    return this.database.transaction((query) =>
      updateRecord(query, lockHealthSql, routeHash, update, ({ record, recordSum }) =>
        query(saveHealthSql, [record, recordSum, routeHash]),
      ),
    );
  }

  async now(): Promise<number> {
    const [row] = await this.#select('SELECT $now AS now_ms', []);
    return numberOf(row?.['now_ms']);
  }

  /**
   * Writes a row, to see whether writing works.
   *
   * Errors: `store_mismatch` if the database holds another store now.
   */
  async check(): Promise<void> {
    const { id, label } = this.database;
    const found = await probeTables(this.database);
    if (found === id) return;
    const reason = `the database now holds the store ${String(found)}, not ${id}`;
    throw storeMismatch(label, reason, 'Restore the former database, or restart the worker.');
  }

  /** Writes it once more, as a sweep may have removed its row in between; the row is then locked until it is read. */
  async #unwritten(node: NodeRow): Promise<NodeInsertion> {
    const rows = await this.database.write([
      ...insertNode({ ...node, hasFreshParent: true }, undefined),
      [touchNodeSql, [node.hash]],
    ]);
    const present = rows.at(-1)?.[0];
    return present === undefined
      ? { type: 'parent-missing' }
      : { type: 'present', row: nodeRow(present) };
  }

  /** Runs a statement that returns the rows that it has changed; whether there are any. */
  async #changes(sql: string, values: readonly SqlValue[]): Promise<boolean> {
    const [rows = []] = await this.database.write([[sql, values]]);
    return rows.length > 0;
  }

  #select(sql: string, values: readonly SqlValue[]): Promise<readonly SqlRow[]> {
    return this.database.read((query: SqlQuery) => query(sql, values));
  }
}

function insertNode(
  { hash, parent, messages, hasFreshParent }: NewNodeRow,
  before: NodeRow | undefined,
): readonly SqlStatement[] {
  const given = parent ?? null;
  const hasYoungParent = given === null || hasFreshParent === true || before?.hash === parent;
  return [
    ...(hasYoungParent ? [] : [[touchParentSql, [given]] as const]),
    [insertNodeSql, [hash, given, messages, given, given]],
  ];
}

/** Adds rows of a hash and its content, or makes those that are there young. */
function insertAll(
  table: 'chunks' | 'blobs',
  column: string,
  rows: ReadonlyMap<ContentHash, SqlValue>,
): readonly SqlStatement[] {
  if (rows.size === 0) return [];
  const places = [...rows].map(() => '(?name, ?sealed)').join(', ');
  const sql = `INSERT INTO @${table} (hash, ${column}) VALUES ${places} ${touchOnConflict}`;
  // In one order, so that two writers of the same rows never wait for each other.
  return [[sql, [...rows].sort(([left], [right]) => (left < right ? -1 : 1)).flat()]];
}

function finishTool({ keyHash, outcome, outcomeSum }: NewOutcome): SqlStatement {
  return [finishToolSql, [outcome, outcomeSum, keyHash]];
}

function nodeRow(row: SqlRow): NodeRow {
  return {
    hash: textOf(row['hash']) ?? '',
    parent: textOf(row['parent']),
    messages: textOf(row['messages']) ?? '',
  };
}

function toolRow(row: SqlRow | undefined): ToolRow | undefined {
  if (row === undefined) return undefined;
  return {
    intent: textOf(row['intent']) ?? '',
    intentSum: textOf(row['intent_sum']) ?? '',
    phase: textOf(row['phase']) ?? '',
    outcome: textOf(row['outcome']),
    outcomeSum: textOf(row['outcome_sum']),
  };
}
