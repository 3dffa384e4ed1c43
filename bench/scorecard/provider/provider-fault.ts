/** One provider fault: what the vendor does at which moment, and what a run must make of it. */
import type { ChatDialect } from '../../../activities/providers/openai/chat-dialect';
import type { Step } from '../../../testing/emulator/script';
import type { ChatServerName } from '../../../testing/emulator/step';
import type { WireName } from '../../../testing/emulator/wire';
import type { FailoverReason, Limits } from '../../../workflows/core/limits';
import type { FailureReason } from '../../../workflows/core/run/outcome';

/** How a run gets over a fault. */
type Recovery =
  /** The same request again, by Temporal's retry. */
  | 'retry'
  /** The next route of the chain. */
  | 'failover'
  /** A durable wait until the route's cooldown ends. */
  | 'wait'
  /** The model is told, and goes on in the next iteration. */
  | 'next iteration'
  /** No call is lost at all. */
  | 'itself';

/** What is right. */
export type RightEnd =
  | {
      readonly type: 'recovers';
      readonly by: Recovery;
      /** The report's count of what was healed, by code. */
      readonly healed: Readonly<Record<string, number>>;
    }
  | {
      readonly type: 'stops';
      readonly reason: FailureReason;
      /** What the end says: the cause, and what a person can do about it. */
      readonly says: readonly RegExp[];
    };

/** Requests that the row declares as needed. */
export interface NeededCalls {
  readonly faulty: number;
  readonly second: number;
}

/** Where the faulty route leads. */
export type FaultyAddress = 'emulator' | 'closed-port' | 'tls-on-plain-port';

/** A row of the section. */
export interface ProviderFault {
  readonly id: string;
  readonly wire: WireName;
  readonly address: FaultyAddress;
  /** On Chat Completions: whom the faulty route's emulator plays, and in which dialect it is asked; default OpenAI. */
  readonly server?: ChatServerName;
  readonly dialect?: ChatDialect;
  /** Answers of the faulty route before the fault, each fault, and answers after it: exactly one request each. */
  readonly before: readonly Step[];
  readonly faults: readonly Step[];
  readonly after: readonly Step[];
  /** Answers of the second route; absent: the chain has only one. */
  readonly second?: readonly Step[];
  readonly limits: Partial<Limits>;
  /** Tokens of a reply that the faulty route is asked for; default the stage's. */
  readonly maxOutputTokens?: number;
  /** The faulty route's own option. */
  readonly onRefusedRequest?: 'end-run';
  readonly right: RightEnd;
  readonly needed: NeededCalls;
  /** Inputs with which the agent's tool may run, in this order, and with no others. */
  readonly toolRuns: readonly string[];
  /** Milliseconds that must lie between the first fault and the next request to its route. */
  readonly gapMs?: number;
  /** What the run's end must never hold. */
  readonly forbids?: readonly string[];
  /** Proof that a fault landed which the emulator cannot see: words in the outcome. */
  readonly landedWords?: RegExp;
}

/** Retries of one model call on one route, for every fault: the default (R-STREAM-2). */
export const streamRetries = 2;

/** The answer that every recovered run ends with. */
export const goodAnswer = 'done';

/** What a person can do about each reason, in the words of the failure message. */
export const remedies: Readonly<Record<FailoverReason, RegExp>> = {
  auth: /check the api key/i,
  rate_limit: /waiting|raise the limit/i,
  billing: /add credit|spending limit/i,
  timeout: /raise firstByteMs|heals by itself/i,
  overloaded: /waiting|second route/i,
  model_not_found: /check the model name/i,
  format: /must change/i,
  network: /check the base url/i,
  context_overflow: /must shrink/i,
  content_filter: /must change|another (?:vendor|provider)/i,
  unknown: /status page/i,
};
