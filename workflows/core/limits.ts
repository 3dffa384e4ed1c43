/** Every limit of a run, with unit, default and source. Resolved at start into RunState, so a new default changes new runs only. */

/** Default cooldown of a route in milliseconds, by the reason of its failure (R-FAIL-1). */
const cooldownMs = {
  auth: 600_000,
  rate_limit: 60_000,
  billing: 1_800_000,
  timeout: 30_000,
  overloaded: 120_000,
  model_not_found: 3_600_000,
  format: 0,
  network: 30_000,
  context_overflow: 0,
  content_filter: 0,
  unknown: 30_000,
};

/** Why a provider could not answer; decides cooldown and failover. */
export type FailoverReason = keyof typeof cooldownMs;

/** Limits of one run. People set them; nothing that a model says can. */
export interface Limits {
  /** Model calls with their tool calls, per run. Default 10 for completion `text`, 50 for `tool` (R-GUARD-8). */
  readonly maxIterations: number;
  /** Events that the core processes per run, except its own timers and waits for the store. Default 2,000 (R-GUARD-1). */
  readonly maxEvents: number;
  /** Tool calls per run. Default 400 (R-GUARD-2). */
  readonly maxToolCalls: number;
  /** Rounds of the same calls with the same results that end the run. Default 4 (R-GUARD-5). */
  readonly maxSameCalls: number;
  /** Edits of one file per run; the next one ends it. Default 4 (R-GUARD-6). */
  readonly maxEditsPerFile: number;
  /** Milliseconds of active time, without waits for people, cooldowns, and the store. Default 600,000 (R-GUARD-3). */
  readonly maxActiveMs: number;
  /** Levels of subagents below the first run. Default 3 (R-SUB-4). */
  readonly maxSubagentDepth: number;
  /** Workers that one tool call or model call may lose; then it does not run again. Default 25 (ADR 0004). */
  readonly maxLostWorkers: number;
  /** Retries of one model call on the same route. Default 2 (R-STREAM-2). */
  readonly streamRetries: number;
  /** First retry delay in milliseconds, doubled each time. Default 1,500 (R-STREAM-3). */
  readonly streamRetryBaseMs: number;
  /** Milliseconds until the vendor's first byte. Default 120,000 (ADR 0007). */
  readonly firstByteMs: number;
  /** Milliseconds between two bytes of an answer, pings included. Default 120,000 (ADR 0007). */
  readonly betweenBytesMs: number;
  /** Milliseconds without a piece of content while pings arrive, or after the model said that it thinks. Default 300,000 (ADR 0047). */
  readonly thinkingMs: number;
  /** Milliseconds that one attempt of a model call may take in all. Default 1,800,000 (ADR 0007). */
  readonly modelCallTimeoutMs: number;
  /** Milliseconds after which an activity without heartbeat counts as lost with its worker. Default 20,000 (ADR 0007). */
  readonly heartbeatTimeoutMs: number;
  /** Milliseconds that a run may wait in all for routes that cool down; then it fails with each route's reason. Default 86,400,000 (R-FAIL-8). */
  readonly maxProviderWaitMs: number;
  /** Milliseconds before a cooldown's end from which one prober may try the route. Default 30,000 (R-FAIL-5). */
  readonly probeLeadMs: number;
  /** Milliseconds of a prober's lease, if it does not report. Default 30,000 (R-FAIL-5). */
  readonly probeLeaseMs: number;
  /** Milliseconds that a recovery plan may take, its retries included. Default 120,000 (ADR 0026). */
  readonly recoveryPlanTimeoutMs: number;
  /** Cooldown of a route in milliseconds, by reason; 0 = no cooldown and no failover (R-FAIL-1). */
  readonly cooldownMs: { readonly [Reason in FailoverReason]: number };
}

/** Limits that a run passes to the subagents that it starts: what is left of its own. */
export interface HandedLimits extends Pick<
  Limits,
  'maxEvents' | 'maxToolCalls' | 'maxActiveMs' | 'maxSubagentDepth' | 'maxEditsPerFile'
> {
  /** Calls that are left, by capped tool. */
  readonly toolCallsLeft: { readonly [tool: string]: number };
  /** Edits that are left, by hash of the file; of other files all of `maxEditsPerFile` are. */
  readonly fileEditsLeft: { readonly [fileHash: string]: number };
}

/** How often, by name. */
export type Counts = Readonly<Record<string, number>>;

/** What is counted against caps, over a run and its subagents. */
export interface GuardCounts {
  /** Calls that ran, by tool. */
  readonly toolRuns: Counts;
  /** Edits that ran, by hash of the file. */
  readonly fileEdits: Counts;
}

/** Defaults of everything but `maxIterations`, which depends on how the run completes. */
export const defaultLimits: Limits = {
  maxIterations: 10,
  maxEvents: 2_000,
  maxToolCalls: 400,
  maxSameCalls: 4,
  maxEditsPerFile: 4,
  maxActiveMs: 600_000,
  maxSubagentDepth: 3,
  maxLostWorkers: 25,
  streamRetries: 2,
  streamRetryBaseMs: 1_500,
  firstByteMs: 120_000,
  betweenBytesMs: 120_000,
  thinkingMs: 300_000,
  modelCallTimeoutMs: 1_800_000,
  heartbeatTimeoutMs: 20_000,
  maxProviderWaitMs: 86_400_000,
  probeLeadMs: 30_000,
  probeLeaseMs: 30_000,
  recoveryPlanTimeoutMs: 120_000,
  cooldownMs,
};

/** A range of whole numbers: the least and the most. */
type Range = readonly [least: number, most: number];

/** 365 days in milliseconds, at most. */
const duration: Range = [1, 365 * 86_400_000];
/** The longest delay of a Node timer, 24.8 days, at most: a longer one fires at once. */
const timer: Range = [1, 2 ** 31 - 1];
const count: Range = [1, 10_000_000];

/** Range of a route's cooldown in milliseconds. */
export const cooldownRange: Range = [0, duration[1]];

/** What each limit may be. */
export const limitRanges: { readonly [Name in Exclude<keyof Limits, 'cooldownMs'>]: Range } = {
  maxIterations: count,
  maxEvents: count,
  maxToolCalls: [0, count[1]],
  maxSameCalls: [2, 16],
  maxEditsPerFile: count,
  maxActiveMs: duration,
  maxSubagentDepth: [0, 10],
  maxLostWorkers: [1, 100],
  streamRetries: [0, 20],
  streamRetryBaseMs: duration,
  firstByteMs: timer,
  betweenBytesMs: timer,
  thinkingMs: timer,
  modelCallTimeoutMs: timer,
  heartbeatTimeoutMs: [1_000, timer[1]],
  maxProviderWaitMs: cooldownRange,
  probeLeadMs: cooldownRange,
  probeLeaseMs: duration,
  recoveryPlanTimeoutMs: timer,
};

/** Iterations of a run that ends by its tool `complete_task` (ADR 0006). */
export const defaultToolCompletionIterations = 50;

/** Characters of a preview kept in state and history (ADR 0003). */
export const previewChars = 200;

/** Bytes of JSON up to which tool input travels inline; above, by reference (R-TOOL-11). */
export const inlineInputBytes = 4_096;

/** Characters of a failure's message (R-TOOL-2). */
export const failureMessageChars = 500;

/** Characters of a goal, added message or answer that a person sends (ADR 0003). */
export const personTextChars = 64_000;

/** Bytes of JSON of a run's context: with a goal of the greatest length far from what a payload may have (ADR 0054). */
export const contextBytes = 16_384;

/** Tenant of a run that names none. */
export const defaultTenant = 'default';

/** Names of tenants: the store takes no others. */
export const tenantPattern = /^[\w.@:-]{1,100}$/;

/**
 * Bytes of JSON of the final answer, or of the input of `complete_task` with the structured output, that the result carries: 1 MB
 * of text with its escapes, and far from the 2 MB that Temporal takes as one payload, also where a codec adds a third (ADR 0044).
 */
export const answerBytes = 1_400_000;

/** Tool calls that one reply may ask for; more are refused as invalid (ADR 0003). */
export const maxCallsPerReply = 64;

/** Characters of people's texts that one model call carries; the others wait for the next one (ADR 0003). */
export const textsPerCallChars = 64_000;

/** Characters of people's texts that may wait; a text beyond is refused and reported (ADR 0003). */
export const inboxChars = 128_000;

/** Characters of JSON that arguments may have which a person wants instead of the model's (ADR 0022). */
export const editedInputChars = 128_000;

/** Levels of JSON that such arguments may have: what the payload adds stays far from what a parser's stack takes (ADR 0022). */
export const editedInputDepth = 64;

/** Images and files of one goal, message or answer (ADR 0056). */
export const attachmentsPerText = 20;

/** Bytes of one image or document: the largest that any vendor takes in one request, 50 MB as base64 (ADR 0056). */
export const attachmentBytes = 37 * 1024 * 1024;

/** Bytes of a text file: the model gets its beginning, and reads on with `read_output` (ADR 0056). */
export const textFileBytes = 4 * 1024 * 1024;

/** Characters as which an attachment counts where texts wait: about what its record in the state has. */
export const attachmentChars = 400;
