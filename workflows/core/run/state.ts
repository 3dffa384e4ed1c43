/** The whole state of a run: JSON only, carried from segment to segment, owned slice by slice. */
import type { BudgetState } from '../budget/budget';
import type { CircuitBreakerState } from '../errors/circuit-breaker';
import type { ApprovalsState } from '../people/decisions-made';
import type { CompactionTier } from '../context/compaction-policy';
import type { ContextState } from '../context/state';
import type { AgentError, InfraError } from '../failure';
import type { GuardState } from '../guard/state';
import type { LearningState } from '../learning/observations';
import type { Head } from '../message';
import type { NotificationState } from '../people/notifications';
import type { AgentSnapshot } from './ports';
import type {
  PendingResult,
  ProposedToolCall,
  ResultIdentity,
  RuntimeResult,
} from '../tools/ports';
import type { ProgressState } from '../recovery/progress';
import type { ProviderHealthState } from '../failover/provider-health';
import type { RecoveryCall, RecoveryStage, RecoveryState } from '../recovery/state';
import type { FailureReason, RunOutcome } from './outcome';
import type { RunRequest } from './protocol';
import type { HandedLimits, SubagentRecord } from '../subagents/subagent';
import type { Usage } from '../budget/usage';

/** A wait for a person's decision on one call. */
export interface DecisionWait {
  /** When the wait expires, where it does. */
  readonly expiry?: { readonly timerId: string; readonly atMs: number };
  /** Nobody decided in time, and the policy hands it to other people. */
  readonly escalated?: true;
  /** Times that people were reminded. */
  readonly reminders?: number;
  /** Edits of this call that were checked so far, for activity ids. */
  readonly checks?: number;
}

/** A tool call of the current iteration and how far it is. */
export interface ToolCallProgress {
  readonly call: ProposedToolCall;
  readonly status:
    | ({ readonly type: 'awaiting-approval' } & DecisionWait)
    /** A person approved with other arguments, which are being checked. */
    | ({
        readonly type: 'checking-edit';
        readonly callId: string;
        /** Identity of the decision: `edit:<hash>`. */
        readonly decision: string;
        readonly by?: string;
      } & DecisionWait)
    | ({ readonly type: 'awaiting-answer'; readonly question: string } & DecisionWait)
    | { readonly type: 'running' }
    /** A subagent is at work. */
    | { readonly type: 'delegated'; readonly runId: string; readonly limits: HandedLimits }
    /** The store is down; tried again when the timer fires. */
    | { readonly type: 'paused'; readonly timerId: string; readonly untilMs: number }
    | {
        readonly type: 'settled';
        readonly pending: PendingResult;
        /** Whether the tool really ran, or a person answered: whatever else leaves no trace on its own. */
        readonly ran: boolean;
        readonly error?: AgentError;
        /** What the loop detector must know of the result; absent where no tool ran. */
        readonly came?: ResultIdentity;
      };
}

/** Where a run is. Each phase owns only its own data. */
export type RunPhase =
  | { readonly type: 'preparing' }
  /** Between iterations: nothing is in flight. */
  | { readonly type: 'ready' }
  | {
      readonly type: 'calling-model';
      readonly callId: string;
      readonly routeIndex: number;
      /** How many texts of the inbox this call carries. */
      readonly sentTexts: number;
    }
  /** The conversation is made smaller before the next model call. */
  | {
      readonly type: 'compacting';
      readonly callId: string;
      readonly tier: CompactionTier;
      readonly why: string;
      /** Route whose model writes the summary. */
      readonly summaryRouteIndex?: number;
    }
  | {
      readonly type: 'running-tools';
      readonly calls: readonly ToolCallProgress[];
      readonly failure?: InfraError;
      /** The call is the runtime's own, made to get the run out of a rut. */
      readonly recovery?: RecoveryCall;
      /** Active time of the longest subagent so far. */
      readonly subagentMs?: number;
    }
  /** Stuck, and on the way out of it. */
  | { readonly type: 'recovering'; readonly stage: RecoveryStage }
  | {
      readonly type: 'waiting';
      readonly on: 'provider' | 'store' | 'person';
      readonly reason: string;
      /** Absent for a wait that only a person ends. */
      readonly timerId?: string;
      readonly untilMs?: number;
      readonly sinceMs: number;
      /** What is done when the wait ends. */
      readonly then: 'prepare' | 'call-model' | 'begin-iteration';
      /** Milliseconds of this wait's timer, doubled when it did not help. */
      readonly delayMs?: number;
    }
  /** A person or the guard ended the run; what is in flight comes back first. */
  | {
      readonly type: 'ending';
      readonly status: 'stopped' | 'cancelled' | 'failed';
      /** In words; for `failed` the message of the outcome. */
      readonly reason: string;
      /** Only with `failed`. */
      readonly failureReason?: FailureReason;
      readonly outstanding: readonly string[];
      /** Tool calls in flight when the end was asked for. */
      readonly landing: readonly {
        readonly call: ProposedToolCall;
        readonly callId: string;
        /** Of a subagent. */
        readonly runId?: string;
      }[];
    }
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
  /** Model calls of this iteration, for activity ids. */
  readonly callsThisIteration: number;
}

/** What the next model call sends besides the transcript. */
export interface NextRequest {
  readonly pendingResults: readonly PendingResult[];
  /** What the runtime ran on its own. */
  readonly runtimeResults?: readonly RuntimeResult[];
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
  /** Head of the goal as people may read it; absent where the goal itself may be shown. */
  readonly shownGoal?: string;
  readonly startedAtMs: number;
  readonly phase: RunPhase;
  readonly snapshot?: AgentSnapshot;
  readonly head?: Head;
  readonly next: NextRequest;
  /** Texts of people that wait for the next model call. */
  readonly inbox: readonly string[];
  /** The larger output limit after a cut reply is given once. */
  readonly outputRaised: boolean;
  readonly counters: RunCounters;
  readonly usage: Usage;
  readonly budget: BudgetState;
  /** Subagents that came back, newest last. */
  readonly subagents: readonly SubagentRecord[];
  readonly contextTokens: number;
  /** Size of the conversation, and its compactions. */
  readonly context: ContextState;
  readonly breaker: CircuitBreakerState;
  readonly health: ProviderHealthState;
  /** Milliseconds at work, up to `activeSinceMs`. */
  readonly activeMs: number;
  readonly activeSinceMs?: number;
  readonly providerWaitMs: number;
  /** Last wait for the store; absent while the store answers. */
  readonly storeWaitMs?: number;
  readonly worked: readonly string[];
  readonly didNotWork: readonly string[];
  /** Agent error codes of the last iteration, to count as healed when the next one succeeds. */
  readonly unhealed: readonly string[];
  readonly healed: { readonly [code: string]: number };
  readonly lastText: string;
  readonly lastRouteIndex?: number;
  /** Provider reasons of this iteration that failover is getting over. */
  readonly failedOver: readonly string[];
  readonly lastError?: string;
  /** Decisions of people, and what they must be asked for. */
  readonly approvals: ApprovalsState;
  readonly progress: ProgressState;
  readonly recovery: RecoveryState;
  /** A person asked for this run to be handed over; honoured at the next iteration boundary. */
  readonly escalation?: string;
  /** What the guard has counted and seen. */
  readonly guard: GuardState;
  /** Errors that are followed for the corpus. */
  readonly learning: LearningState;
  /** Who is being told of what waits. */
  readonly notifications: NotificationState;
}
