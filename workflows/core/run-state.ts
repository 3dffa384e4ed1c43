/** The whole state of a run: JSON only, carried from segment to segment, owned slice by slice. */
import type { CircuitBreakerState } from './circuit-breaker';
import type { InfraError } from './failure';
import type { Head } from './message';
import type { AgentSnapshot, PendingResult, ProposedToolCall } from './ports';
import type { ProviderHealthState } from './provider-health';
import type { RunOutcome } from './run-outcome';
import type { RunRequest } from './run-protocol';
import type { Usage } from './usage';

/** A tool call of the current iteration and how far it is. */
export interface ToolCallProgress {
  readonly call: ProposedToolCall;
  readonly status:
    | { readonly type: 'awaiting-approval' }
    | { readonly type: 'awaiting-answer'; readonly question: string }
    | { readonly type: 'running' }
    | { readonly type: 'settled'; readonly pending: PendingResult; readonly ran: boolean };
}

/** Where a run is. Each phase owns only its own data. */
export type RunPhase =
  | { readonly type: 'preparing' }
  | { readonly type: 'calling-model'; readonly callId: string; readonly routeIndex: number }
  | {
      readonly type: 'running-tools';
      readonly calls: readonly ToolCallProgress[];
      readonly failure?: InfraError;
    }
  | {
      readonly type: 'waiting';
      readonly on: 'provider' | 'store' | 'person';
      readonly reason: string;
      /** Absent for a wait that only a person ends. */
      readonly timerId?: string;
      readonly untilMs?: number;
      readonly sinceMs: number;
    }
  | { readonly type: 'rolling-over' }
  | { readonly type: 'ended'; readonly outcome: RunOutcome };

/** What the run has done so far. */
export interface RunCounters {
  readonly iterations: number;
  readonly modelCalls: number;
  readonly events: number;
  readonly toolCalls: number;
  readonly toolCallsSucceeded: number;
  readonly toolCallsFailed: number;
  readonly failovers: number;
  readonly segments: number;
  readonly timers: number;
}

/** What the next model call sends besides the transcript. */
export interface NextRequest {
  readonly pendingResults: readonly PendingResult[];
  readonly userTexts: readonly string[];
  /** Ephemeral error context; dropped after the call that carries it. */
  readonly note?: string;
  readonly maxOutputTokens?: number;
}

/** State of a run. */
export interface RunState {
  readonly schemaVersion: 1;
  /** Stable over segments: prefix of idempotency keys and tool call ids. */
  readonly runKey: string;
  readonly request: RunRequest;
  readonly startedAtMs: number;
  readonly phase: RunPhase;
  readonly snapshot?: AgentSnapshot;
  readonly head?: Head;
  readonly next: NextRequest;
  readonly counters: RunCounters;
  readonly usage: Usage;
  readonly contextTokens: number;
  readonly breaker: CircuitBreakerState;
  readonly health: ProviderHealthState;
  /** Milliseconds at work, up to `activeSinceMs`. */
  readonly activeMs: number;
  readonly activeSinceMs?: number;
  readonly providerWaitMs: number;
  readonly worked: readonly string[];
  readonly didNotWork: readonly string[];
  /** Agent error codes of the last iteration, to count as healed when the next one succeeds. */
  readonly unhealed: readonly string[];
  readonly healed: { readonly [code: string]: number };
  readonly lastText: string;
  readonly lastError?: string;
  /** A person asked for this run to be handed over; honoured at the next iteration boundary. */
  readonly escalation?: string;
}
