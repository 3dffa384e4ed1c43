/** What a store must do: keep transcripts, blobs and tool outcomes outside Temporal's history, and share route health. */
import { z } from 'zod';
import type { MediaPart } from '../../workflows/core/attachments';
import type { Attachment } from '../../workflows/core/message';
import type { FailoverReason } from '../../workflows/core/limits';
import type { ContentHash, Head, Message } from '../../workflows/core/message';
import type { Encryption } from '../encryption/encryption-shape';
import type { EraseOptions, EraseResult } from './content/erase';
import type { SweepOptions, SweepResult } from './content/sweep';
import type { LiveTexts } from './live-texts';
import type { PatternStore } from './patterns/pattern-store';
import type { TenantStore } from './tenants/tenant-store';

/** A call, and the iteration of its run in which it was made. */
const callPlaceShape = z.object({ key: z.string(), iteration: z.number() });

/** A tool execution that has begun; written before its effect, so that a crash leaves evidence. */
export const toolIntentShape = z.object({
  /** Idempotency key: stable over attempts, workers and segments. */
  key: z.string(),
  tool: z.string(),
  /** Digest of the input as the tool gets it. */
  inputDigest: z.string(),
  startedAtMs: z.number(),
  /** Iteration of its run; absent: before the first. */
  iteration: z.number().exactOptional(),
  /** For a subagent's call: the calls that lead to it; the first is that of the run that people started. */
  callers: z.array(callPlaceShape).readonly().exactOptional(),
  /** Key of the earlier run's execution that this one repeats and that answers it (ADR 0037). */
  source: z.string().exactOptional(),
});

/** The same as a type. */
export type ToolIntent = Readonly<z.infer<typeof toolIntentShape>>;

/** What is known about a tool execution. */
export type ToolRecord =
  | { readonly type: 'none' }
  /** `begun`: no attempt has started the effect. `executing`: one may have. */
  | { readonly type: ToolPhase; readonly intent: ToolIntent }
  | FinishedTool;

/** What is known about an execution that has begun. */
export type RecordedTool = Exclude<ToolRecord, { readonly type: 'none' }>;

/** A tool with an input, called by a run that people started, or by its subagents. */
export interface ToolAction extends Pick<ToolIntent, 'tool' | 'inputDigest'> {
  /** `<workflow id>/<first run id>` of the run that people started. */
  readonly runKey: string;
}

/** How far an execution without outcome is. */
export type ToolPhase = 'begun' | 'executing';

/** An execution with its outcome. */
interface FinishedTool {
  readonly type: 'finished';
  readonly intent: ToolIntent;
  readonly outcome: string;
}

/** An execution that an attempt owns, under this token (ADR 0031); the phase is the one that it found. */
export interface OwnedTool {
  readonly type: ToolPhase;
  readonly intent: ToolIntent;
  readonly owner: string;
}

/** What an attempt finds that begins an execution. */
export type ToolClaim =
  | OwnedTool
  /** A later attempt owns it. */
  | { readonly type: 'taken'; readonly intent: ToolIntent }
  /** The source already answers another call of the same runs; nothing was recorded. */
  | { readonly type: 'source-used' }
  | FinishedTool;

/** A part of a blob. */
export interface BlobSlice {
  readonly bytes: Buffer;
  readonly totalBytes: number;
}

/** Health of one route, shared by all runs and workers. All times are milliseconds since the epoch, by the clock that workers share (ADR 0047). */
export interface SharedHealth {
  /** `provider/model`. */
  readonly route: string;
  readonly status: 'healthy' | 'degraded' | 'down';
  /** Failures since the last success. */
  readonly errorCount: number;
  readonly lastErrorReason?: FailoverReason;
  /** Sanitized by its reporter; at most 500 characters. */
  readonly lastError?: string;
  /** Kept when a success clears the other fields: an older success must not clear a later failure. */
  readonly lastFailureAtMs?: number;
  /** On a healthy route up to 10 s late, so that not every model call of a fleet writes the same row. */
  readonly lastSuccessAtMs?: number;
  /** 0 = not cooling down. */
  readonly cooldownUntilMs: number;
  /** From then on one caller at a time may probe. */
  readonly probeFromMs: number;
  /** The lease of the caller that probes; it ends at `untilMs`. */
  readonly probe?: { readonly holder: string; readonly untilMs: number };
}

/** A model call that failed. */
export interface RouteFailure {
  readonly route: string;
  readonly reason: FailoverReason;
  /** Sanitized; cut after 500 characters. */
  readonly message: string;
  readonly status: 'degraded' | 'down';
  /** 0 = no cooldown for this failure. */
  readonly cooldownUntilMs: number;
  readonly probeFromMs: number;
  /** Whose probe this was, if it was one. */
  readonly holder?: string;
  readonly atMs: number;
}

/** A model call that succeeded. */
export interface RouteSuccess {
  readonly route: string;
  readonly startedAtMs: number;
  /** Whose probe this was, if it was one. */
  readonly holder?: string;
  readonly atMs: number;
}

/** A request for the lease to probe a route. */
export interface ProbeRequest {
  readonly route: string;
  /** Stable over attempts and workers. */
  readonly holder: string;
  readonly atMs: number;
  /** When the lease ends by itself. */
  readonly untilMs: number;
}

/**
 * Writes of one activity that become durable together, at `commit` or `finishTool`: one transaction where the database has
 * transactions that cost (ADR 0049). Before that, only this batch sees them.
 *
 * Errors: as `Store`; what is too large, or names no content, at the call that gives it.
 */
export interface StoreBatch extends Pick<
  Store,
  'appendNode' | 'loadTranscript' | 'putBlob' | 'finishTool'
> {
  commit(): Promise<void>;
}

/**
 * Keeps what is too large for history.
 *
 * Contract: every write is idempotent (the same content or key twice is a no-op); nothing but health is ever changed in
 * place; content that comes from the database is checked against its hash; a method resolves only when the write is durable.
 * Errors: throws `InfraException` with `store_unavailable` (down, locked too long), `store_corrupt` (hash mismatch,
 * missing node or blob: names the hash) or `payload_too_large`.
 */
export interface Store {
  /** Made when the store was created, and kept in it: two workers share runs only if their stores' ids are equal. */
  readonly id: string;
  /** For people: `sqlite:<file name>` or `postgres:<host>/<database>`, never a password. */
  readonly label: string;
  /** What encrypts its content. @internal */
  readonly encryption?: Encryption | undefined;
  /** What runs learn, in the same database. @internal */
  readonly patterns: PatternStore;
  /** What counts against the caps of tenants. @internal */
  readonly tenants: TenantStore;
  /** The text of model calls in progress, for whoever watches their runs. @internal */
  readonly liveTexts: LiveTexts;
  /** Begins to collect writes; what is never committed is not written. @internal */
  batch(): StoreBatch;
  /** Appends one node; `parent` is undefined for the first. Returns `hash(parent, messages)`. @internal */
  appendNode(parent: Head | undefined, messages: readonly Message[]): Promise<Head>;
  /** All messages from the first node to `head`, oldest first. */
  loadTranscript(head: Head): Promise<readonly Message[]>;
  /** @internal */
  putBlob(bytes: Buffer | string): Promise<ContentHash>;
  /** False for what names no blob, and for a blob that was never stored or was removed. @internal */
  hasBlob(hash: string): Promise<boolean>;
  /**
   * Stores an image or a file that a run will be given.
   *
   * Errors: `UserError` for what no model takes.
   * @internal
   */
  putMedia(part: MediaPart): Promise<Attachment>;
  /** The whole blob. */
  getBlob(hash: string): Promise<Buffer>;
  /** The same, if this process wrote it lately; asks nothing of the database. @internal */
  recentBlob(hash: ContentHash): Buffer | undefined;
  /** `length` bytes from `offset`; shorter at the end. @internal */
  readBlob(hash: ContentHash, offset: number, length: number): Promise<BlobSlice>;
  /**
   * Records the intent unless the key is known, and makes this attempt the owner of the execution, which ends the ownership of
   * every earlier one. `scheduledAtMs` is when the server scheduled the attempt, and gives attempts their order; callers that
   * never start an effect need none. Of the executions of a run that people started and its subagents, at most one has a given source.
   * `executing` also marks an execution that this attempt owns, as `moveTool` does, in the same write: the claim then has `begun`
   * only if this attempt has added it. One with a source is never marked here.
   * @internal
   */
  beginTool(intent: ToolIntent, scheduledAtMs?: number, phase?: ToolPhase): Promise<ToolClaim>;
  /**
   * Moves an execution without outcome to a phase, if this owner still owns it; else false. Back to `begun` moves only the
   * owner that found it `begun` and started nothing.
   * @internal
   */
  moveTool(key: string, owner: string, phase: ToolPhase): Promise<boolean>;
  /** Records the outcome (JSON text, at most 64 KB) of a begun execution. The first outcome stays, and is returned. @internal */
  finishTool(key: string, outcome: string): Promise<string>;
  /** @internal */
  getTool(key: string): Promise<ToolRecord>;
  /**
   * The executions of one action (a tool with exactly this input) by a run that people started and its subagents, in the order in
   * which they began.
   * @internal
   */
  toolsOf(action: ToolAction): Promise<readonly RecordedTool[]>;
  /** Removes what neither the roots nor recent content reaches; safe while workers run (`content/sweep.ts`). @internal */
  sweep(options: SweepOptions): Promise<SweepResult>;
  /** Removes at once what only some runs have named (`content/erase.ts`). @internal */
  erase(options: EraseOptions): Promise<EraseResult>;
  /** Milliseconds since the epoch by the database's own clock, which all workers share. @internal */
  now(): Promise<number>;
  /** Rejects with `store_unavailable` if the store cannot be written. */
  check(): Promise<void>;
  close(): Promise<void>;
  /** The records of these routes in their order; a route without one is left out. @internal */
  readHealth(routes: readonly string[]): Promise<readonly SharedHealth[]>;
  /** Every route that was ever reported, by name. @internal */
  listHealth(): Promise<readonly SharedHealth[]>;
  /**
   * Counts a failure and returns the new record. The ends of cooldowns only ever move later; status and error are those of the
   * last report; the lease of `holder` ends.
   * @internal
   */
  reportFailure(failure: RouteFailure): Promise<SharedHealth>;
  /**
   * Makes the route healthy and ends any lease. A success that began before the last failure clears nothing
   * and ends only the lease of `holder`.
   * @internal
   */
  reportSuccess(success: RouteSuccess): Promise<void>;
  /**
   * True for one holder at a time, until a report ends its lease or it expires. The holder may take the lease again, as the
   * same activity does on another worker. False before `probeFromMs`: a caller with an older record must read it again.
   * @internal
   */
  acquireProbe(request: ProbeRequest): Promise<boolean>;
  /** Ends the lease of this holder only: its probe ended for a reason that says nothing about the route. @internal */
  releaseProbe(lease: Pick<ProbeRequest, 'route' | 'holder'>): Promise<void>;
}

/**
 * Shares route health between runs, workers and machines.
 *
 * Contract: each method is atomic, however many callers there are; times are finite, and come from the shared clock.
 * A damaged record, or one of a time that has not come yet, counts as none: forgetting costs one call, refusing would stop every run.
 * Errors: `store_unavailable`; the report may then be recorded or not, and repeating it changes at most `errorCount`.
 */
export type HealthStore = Pick<
  Store,
  'readHealth' | 'reportFailure' | 'reportSuccess' | 'acquireProbe' | 'releaseProbe'
>;
