/** The store over any database: names content, and verifies what it reads. */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { MediaPart } from '../../../workflows/core/attachments';
import type { Attachment } from '../../../workflows/core/message';
import type { ContentHash, Head, Message } from '../../../workflows/core/message';
import { runKeyOf } from '../../../workflows/core/tools/lineage';
import type { Encryption } from '../../encryption/encryption-shape';
import { InfraException } from '../../lifecycle/infra-exception';
import { LiveTexts } from '../live-texts';
import { putMedia } from '../../media/check-media';
import { PatternStore } from '../patterns/pattern-store';
import { TenantStore } from '../tenants/tenant-store';
import type {
  BlobSlice,
  ProbeRequest,
  RecordedTool,
  RouteFailure,
  RouteSuccess,
  SharedHealth,
  Store,
  StoreBatch,
  ToolAction,
  ToolClaim,
  ToolIntent,
  ToolPhase,
  ToolRecord,
} from '../store';
import { chunkBytes, chunksPerBatch, parseManifest, type BlobManifest } from './blob-manifest';
import { canonicalJson, contentHash, isContentHash } from '../content-hash';
import { ContentRows, type ToolRow } from '../sql/content-rows';
import { GarbageRows } from '../sql/garbage-rows';
import { recordRow, type RecordChange, type RecordRow } from '../sql/record-row';
import type { SqlDatabase } from '../sql/sql-database';
import {
  afterFailure,
  afterProbeRequest,
  afterSuccess,
  anyHealthIn,
  healthIn,
  holdsProbe,
  initialHealth,
  withoutProbeOf,
} from './health-record';
import { erase, type EraseOptions, type EraseResult } from './erase';
import type { SweepOptions, SweepResult } from './sweep';
import { byStart, parseIntent, toolRecord } from './tool-records';
import { sweep } from './sweep';
import { RecentBlobs } from './recent-blobs';
import { Transcripts } from './transcripts';
import { storeCorrupt } from '../store-errors';
import type { StoreLimits } from '../store-limits';
import { WriteBatch } from './write-batch';

/**
 * A `Store` whose content is checked against its name, for any database.
 *
 * Contract: a blob given as text is kept as UTF-8, in which a lone surrogate becomes U+FFFD.
 * Errors: as `Store` says; TypeError for messages that JSON cannot carry.
 */
export class ContentAddressedStore implements Store {
  readonly patterns: PatternStore;
  readonly tenants: TenantStore;
  readonly liveTexts: LiveTexts;
  readonly #database: SqlDatabase;
  readonly #rows: ContentRows;
  readonly #transcripts: Transcripts;
  readonly #recent = new RecentBlobs();
  readonly #limits: StoreLimits;

  constructor(
    database: SqlDatabase,
    limits: StoreLimits,
    readonly encryption?: Encryption,
  ) {
    this.patterns = new PatternStore(database);
    this.tenants = new TenantStore(database);
    this.liveTexts = new LiveTexts(database);
    this.#database = database;
    this.#rows = new ContentRows(database);
    this.#transcripts = new Transcripts(this.#rows, database.label);
    this.#limits = limits;
  }

  get id(): string {
    return this.#database.id;
  }

  get label(): string {
    return this.#database.label;
  }

  batch(): StoreBatch {
    return new WriteBatch({
      label: this.label,
      rows: this.#rows,
      limits: this.#limits,
      transcripts: this.#transcripts,
      recent: this.#recent,
      outcomeIn: (key, row) => {
        const record = this.#toolRecord(key, row);
        if (record.type === 'finished') return record.outcome;
        throw storeCorrupt(this.label, `tool execution ${key} ends but never began`);
      },
    });
  }

  appendNode(parent: Head | undefined, messages: readonly Message[]): Promise<Head> {
    return this.#alone((batch) => batch.appendNode(parent, messages));
  }

  async loadTranscript(head: Head): Promise<readonly Message[]> {
    this.#requireHash(head);
    return this.#transcripts.load(head);
  }

  putBlob(content: Buffer | string): Promise<ContentHash> {
    return this.#alone((batch) => batch.putBlob(content));
  }

  putMedia(part: MediaPart): Promise<Attachment> {
    return putMedia(this, part);
  }

  async hasBlob(hash: string): Promise<boolean> {
    return isContentHash(hash) && (await this.#rows.selectManifest(hash)) !== undefined;
  }

  async getBlob(hash: ContentHash): Promise<Buffer> {
    const manifest = await this.#manifest(hash);
    return this.#readChunks(hash, manifest.chunkHashes, manifest.totalBytes);
  }

  recentBlob(hash: ContentHash): Buffer | undefined {
    return this.#recent.get(hash);
  }

  async readBlob(hash: ContentHash, offset: number, length: number): Promise<BlobSlice> {
    const manifest = await this.#manifest(hash);
    const { totalBytes } = manifest;
    const start = clamp(offset, totalBytes);
    const end = clamp(start + Math.max(0, length), totalBytes);
    const first = Math.floor(start / chunkBytes);
    const chunkHashes = manifest.chunkHashes.slice(first, Math.ceil(end / chunkBytes));
    const base = first * chunkBytes;
    const held = Math.min(totalBytes - base, chunkHashes.length * chunkBytes);
    const bytes = await this.#readChunks(hash, chunkHashes, held);
    return { bytes: bytes.subarray(start - base, end - base), totalBytes };
  }

  async beginTool(
    intent: ToolIntent,
    scheduledAtMs = 0,
    phase: ToolPhase = 'begun',
  ): Promise<ToolClaim> {
    const text = canonicalJson(intent);
    const owner = crypto.randomUUID();
    const { row, isOwned } = await this.#rows.ownTool(
      contentHash(intent.key),
      { owner, scheduledAtMs, phase },
      {
        intent: text,
        intentSum: contentHash(text),
        action: actionHash({ ...intent, runKey: treeOf(intent) }),
        source: intent.source === undefined ? undefined : contentHash(intent.source),
      },
    );
    const record = this.#toolRecord(intent.key, row);
    if (record.type === 'finished') return record;
    if (record.type === 'none' && intent.source !== undefined) return { type: 'source-used' };
    // A sweep removed the row in between: this attempt is far too old to own anything.
    if (record.type === 'none') return { type: 'taken', intent };
    if (!isOwned) return { type: 'taken', intent: record.intent };
    // Of this attempt alone, whose time is in it.
    const isNew = phase === 'executing' && row?.intent === text;
    return { ...record, type: isNew ? 'begun' : record.type, owner };
  }

  moveTool(key: string, owner: string, phase: ToolPhase): Promise<boolean> {
    return this.#rows.moveTool(contentHash(key), owner, phase);
  }

  finishTool(key: string, outcome: string): Promise<string> {
    return this.batch().finishTool(key, outcome);
  }

  async getTool(key: string): Promise<ToolRecord> {
    return this.#toolRecord(key, await this.#rows.selectTool(contentHash(key)));
  }

  async toolsOf(action: ToolAction): Promise<readonly RecordedTool[]> {
    const rows = await this.#rows.selectToolsOf(actionHash(action));
    return rows
      .flatMap((row): readonly RecordedTool[] => {
        const key = parseIntent(row)?.key ?? '';
        const record = this.#toolRecord(key, row);
        return record.type === 'none' ? [] : [record];
      })
      .sort((left, right) => byStart(left.intent, right.intent));
  }

  async readHealth(routes: readonly string[]): Promise<readonly SharedHealth[]> {
    const hashes = routes.map((route) => contentHash(route));
    const rows = await this.#rows.selectHealth([...new Set(hashes)]);
    return routes.flatMap((route) => healthIn(rows.get(contentHash(route)), route) ?? []);
  }

  async listHealth(): Promise<readonly SharedHealth[]> {
    const rows = await this.#rows.selectHealth();
    return [...rows.values()]
      .flatMap((row) => anyHealthIn(row) ?? [])
      .sort((left, right) => (left.route < right.route ? -1 : 1));
  }

  reportFailure(failure: RouteFailure): Promise<SharedHealth> {
    return this.#updateHealth(failure.route, (known) => afterFailure(known, failure));
  }

  async reportSuccess(success: RouteSuccess): Promise<void> {
    await this.#updateHealth(success.route, (known) => afterSuccess(known, success));
  }

  async acquireProbe(request: ProbeRequest): Promise<boolean> {
    const health = await this.#updateHealth(request.route, (known) => {
      return afterProbeRequest(known, request);
    });
    return holdsProbe(health, request);
  }

  async releaseProbe({ route, holder }: Pick<ProbeRequest, 'route' | 'holder'>): Promise<void> {
    await this.#updateHealth(route, (known) => withoutProbeOf(known, holder));
  }

  async sweep(options: SweepOptions): Promise<SweepResult> {
    if (!options.dryRun) await this.liveTexts.prune();
    return sweep(new GarbageRows(this.#database), (hash) => this.#textOf(hash), options);
  }

  async erase(options: EraseOptions): Promise<EraseResult> {
    if (!options.dryRun) await this.liveTexts.prune();
    return erase(new GarbageRows(this.#database), (hash) => this.#textOf(hash), options);
  }

  async #textOf(hash: ContentHash): Promise<string> {
    try {
      return (await this.getBlob(hash)).toString('utf8');
    } catch (thrown) {
      // A damaged blob names nothing; the sweep continues.
      if (thrown instanceof InfraException && thrown.failure.code === 'store_corrupt') return '';
      throw thrown;
    }
  }

  now(): Promise<number> {
    return this.#rows.now();
  }

  async check(): Promise<void> {
    await this.#rows.check();
  }

  async close(): Promise<void> {
    await this.#database.close();
  }

  async #alone<Result>(write: (batch: StoreBatch) => Promise<Result>): Promise<Result> {
    const batch = this.batch();
    const result = await write(batch);
    await batch.commit();
    return result;
  }

  /** `change` returns its argument if nothing changes: most calls then only read, and never wait for a lock. */
  async #updateHealth(
    route: string,
    change: (known: SharedHealth) => SharedHealth,
  ): Promise<SharedHealth> {
    const update = (row: RecordRow | undefined): RecordChange & { health: SharedHealth } => {
      const known = healthIn(row, route) ?? initialHealth(route);
      const health = change(known);
      return { health, row: health === known ? undefined : recordRow(health) };
    };
    const routeHash = contentHash(route);
    const rows = await this.#rows.selectHealth([routeHash]);
    const foreseen = update(rows.get(routeHash));
    if (foreseen.row === undefined) return foreseen.health;
    return (await this.#rows.updateHealth(routeHash, update)).health;
  }

  async #manifest(hash: ContentHash): Promise<BlobManifest> {
    this.#requireHash(hash);
    const text = await this.#rows.selectManifest(hash);
    if (text === undefined) throw storeCorrupt(this.label, `blob ${hash} is missing`);
    const manifest = parseManifest(hash, text);
    if (manifest === undefined) {
      throw storeCorrupt(this.label, `the list of chunks of blob ${hash} was changed`);
    }
    return manifest;
  }

  async #readChunks(
    blob: ContentHash,
    hashes: readonly ContentHash[],
    totalBytes: number,
  ): Promise<Buffer> {
    const whole = Buffer.allocUnsafe(totalBytes);
    let filled = 0;
    for (let first = 0; first < hashes.length; first += chunksPerBatch) {
      const batch = hashes.slice(first, first + chunksPerBatch);
      const found = await this.#rows.selectChunks([...new Set(batch)]);
      for (const hash of batch) {
        const bytes = found.get(hash);
        if (bytes === undefined || contentHash(bytes) !== hash) {
          const reason = bytes === undefined ? 'is missing' : 'was changed';
          throw storeCorrupt(this.label, `chunk ${hash} of blob ${blob} ${reason}`);
        }
        filled += bytes.copy(whole, filled);
      }
      if (hashes.length > chunksPerBatch) await nextTurn();
    }
    if (filled !== totalBytes) throw storeCorrupt(this.label, `blob ${blob} is not of its size`);
    return whole;
  }

  #toolRecord(key: string, row: ToolRow | undefined): ToolRecord {
    const record = toolRecord(key, row);
    if (record === undefined) {
      throw storeCorrupt(this.label, `the record of tool execution ${key} was changed`);
    }
    return record;
  }

  #requireHash(hash: string): void {
    if (isContentHash(hash)) return;
    throw storeCorrupt(this.label, `"${hash.slice(0, 60)}" names no content`);
  }
}

function clamp(offset: number, totalBytes: number): number {
  return Math.min(Math.max(0, Math.trunc(offset)), totalBytes);
}

/** The run key of the run that people started, to which an execution belongs. */
function treeOf({ key, callers = [] }: ToolIntent): string {
  return runKeyOf(callers[0]?.key ?? key);
}

function actionHash({ runKey, tool, inputDigest }: ToolAction): ContentHash {
  return contentHash(canonicalJson([runKey, tool, inputDigest]));
}
