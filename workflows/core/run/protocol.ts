/** The core's input (events), its output (commands), and what people read (timeline entries). */
import type { CompactionTier } from '../context/measure';
import type { AgentError, Failure, InfraError } from '../failure';
import type { JsonObject } from '../json';
import type { Limits } from '../limits';
import type { CallModelInput, CallModelResult, ModelCallHeldBack } from '../model-call/ports';
import type { CheckEditInput, CheckEditResult } from '../people/ports';
import type { NotifyInput, NotifyResult, PersonNotice } from '../notifications/ports';
import type { CompactInput, CompactResult } from '../context/ports';
import type { PlanRecoveryInput, PlanRecoveryResult } from '../recovery/ports';
import type { PrepareRunResult, RunRequest } from './ports';
import type { RunToolInput, RunToolResult } from '../tools/ports';
import type { RecoveryDecision, RecoverySource, RecoveryStrategy } from '../recovery/action';
import type { RunOutcome, SubagentRecord, SubagentEnd } from './outcome';

interface Stamped {
  /** Milliseconds since the epoch, by the workflow's clock. */
  readonly atMs: number;
  /** The server wants a new segment. */
  readonly rollOverSuggested?: boolean;
}

/** A fact. Everything that can happen to a run. */
export type RunEvent = Stamped & UnstampedEvent;

/** A fact before the shell has stamped it. */
export type UnstampedEvent =
  | { readonly type: 'run-started'; readonly runKey: string; readonly request: RunRequest }
  | { readonly type: 'segment-started' }
  | { readonly type: 'run-prepared'; readonly result: PrepareRunResult }
  | { readonly type: 'run-preparation-failed'; readonly failure: InfraError }
  | {
      readonly type: 'model-call-completed';
      readonly callId: string;
      readonly result: CallModelResult;
    }
  /** The request was too large to be sent. */
  | {
      readonly type: 'model-call-held-back';
      readonly callId: string;
      readonly result: ModelCallHeldBack;
    }
  | {
      readonly type: 'compaction-completed';
      readonly callId: string;
      readonly result: CompactResult;
    }
  | { readonly type: 'compaction-failed'; readonly callId: string; readonly failure: InfraError }
  | { readonly type: 'model-call-failed'; readonly callId: string; readonly failure: InfraError }
  | {
      readonly type: 'tool-call-completed';
      readonly toolCallId: string;
      readonly result: RunToolResult;
    }
  | {
      readonly type: 'tool-call-failed';
      readonly toolCallId: string;
      readonly failure: InfraError;
    }
  | {
      readonly type: 'notification-completed';
      readonly callId: string;
      readonly result: NotifyResult;
    }
  | {
      readonly type: 'notification-failed';
      readonly callId: string;
      readonly failure: InfraError;
    }
  | {
      readonly type: 'recovery-planned';
      readonly callId: string;
      readonly result: PlanRecoveryResult;
    }
  | {
      readonly type: 'recovery-plan-failed';
      readonly callId: string;
      readonly failure: InfraError;
    }
  | { readonly type: 'subagent-ended'; readonly toolCallId: string; readonly end: SubagentEnd }
  | { readonly type: 'timer-fired'; readonly timerId: string }
  | { readonly type: 'message-added'; readonly text: string; readonly by?: string }
  | {
      readonly type: 'approval-resolved';
      readonly approvalId: string;
      readonly decision: 'approve' | 'reject';
      /** Only with `approve`: arguments that the person wants instead of the model's. */
      readonly input?: JsonObject;
      readonly reason?: string;
      readonly by?: string;
    }
  | { readonly type: 'edit-checked'; readonly callId: string; readonly result: CheckEditResult }
  | { readonly type: 'edit-check-failed'; readonly callId: string; readonly failure: InfraError }
  | {
      readonly type: 'question-answered';
      readonly questionId: string;
      readonly answer: string;
      readonly by?: string;
    }
  /** A signal that says nothing usable. */
  | { readonly type: 'signal-dropped'; readonly signal: string; readonly problem: string }
  | { readonly type: 'escalation-requested'; readonly reason: string; readonly by?: string }
  | { readonly type: 'stop-requested'; readonly reason: string; readonly by?: string }
  | { readonly type: 'cancel-requested'; readonly reason: string };

/** The event of a model call's result. */
export function modelCallEvent(
  callId: string,
  result: CallModelResult | ModelCallHeldBack,
): UnstampedEvent {
  return 'heldBack' in result
    ? { type: 'model-call-held-back', callId, result }
    : { type: 'model-call-completed', callId, result };
}

/** Activity id of the preparation of a run. */
export const prepareCallId = 'prepare';

/** What the shell must do; each activity, timer, and subagent returns as an event. */
export type RunCommand =
  | { readonly type: 'prepare-run'; readonly input: RunRequest }
  | {
      readonly type: 'call-model';
      readonly callId: string;
      readonly summary: string;
      readonly input: CallModelInput;
      readonly limits: Limits;
    }
  | {
      readonly type: 'compact';
      readonly callId: string;
      readonly summary: string;
      readonly input: CompactInput;
      readonly limits: Limits;
    }
  | {
      readonly type: 'run-tool';
      readonly toolCallId: string;
      /** Short activity id, such as `t3.0`. */
      readonly callId: string;
      readonly summary: string;
      readonly timeoutMs: number;
      readonly heartbeatTimeoutMs: number;
      readonly input: RunToolInput;
    }
  /** Starts a run of another agent and waits for its end. */
  | {
      readonly type: 'run-subagent';
      readonly toolCallId: string;
      /** As the activity id of a tool call. */
      readonly callId: string;
      readonly runId: string;
      readonly request: RunRequest;
    }
  | {
      readonly type: 'check-edit';
      /** Short activity id, such as `e3.0`. */
      readonly callId: string;
      readonly summary: string;
      readonly input: CheckEditInput;
    }
  | {
      readonly type: 'notify';
      /** Short activity id, such as `n1`. */
      readonly callId: string;
      readonly summary: string;
      readonly heartbeatTimeoutMs: number;
      readonly input: NotifyInput;
    }
  | {
      readonly type: 'plan-recovery';
      readonly callId: string;
      readonly summary: string;
      readonly input: PlanRecoveryInput;
      readonly limits: Limits;
    }
  | {
      readonly type: 'start-timer';
      readonly timerId: string;
      readonly delayMs: number;
      readonly summary: string;
    }
  | { readonly type: 'cancel-timer'; readonly timerId: string }
  /** Asks running activities to stop; each still comes back as an event. */
  | { readonly type: 'cancel-activities'; readonly callIds: readonly string[] }
  /** For people only: the shell does nothing, the client's fold collects it. */
  | { readonly type: 'publish'; readonly entry: TimelineEntry }
  /** Ends this segment and begins the next one with the same state. */
  | { readonly type: 'roll-over' }
  | { readonly type: 'end-run'; readonly outcome: RunOutcome };

/** The result of each activity, by its command. */
export interface ActivityResults {
  readonly 'prepare-run': PrepareRunResult;
  readonly 'call-model': CallModelResult | ModelCallHeldBack;
  readonly compact: CompactResult;
  readonly 'run-tool': RunToolResult;
  readonly 'check-edit': CheckEditResult;
  readonly notify: NotifyResult;
  readonly 'plan-recovery': PlanRecoveryResult;
}

/** A command that an activity carries out. */
export type ActivityCommand = Extract<RunCommand, { type: keyof ActivityResults }>;

/** One event of a run's timeline. */
export type TimelineEntry = UnstampedEntry & { readonly atMs: number; readonly iteration: number };

/** The same before the loop has stamped it. */
export type UnstampedEntry =
  | { readonly type: 'ErrorEvent'; readonly failure: Failure }
  | { readonly type: 'NoToolCallEvent'; readonly error: AgentError }
  | {
      readonly type: 'ToolResultErrorEvent';
      readonly toolCallId: string;
      readonly error: AgentError;
    }
  | { readonly type: 'RunStartedEvent'; readonly agent: string; readonly goal: string }
  | {
      readonly type: 'IterationStartedEvent';
      readonly route: string;
      readonly isFallback: boolean;
      readonly note?: string;
    }
  | {
      readonly type: 'ModelRepliedEvent';
      readonly text: string;
      readonly toolCalls: readonly string[];
      readonly tokens: number;
      /** Share of the request's tokens that came from the vendor's prompt cache. */
      readonly cachedShare?: number;
      /** US dollars of the call, its failed attempts included; absent if nobody knows the price. */
      readonly usd?: number;
    }
  | { readonly type: 'ToolCallStartedEvent'; readonly toolCallId: string; readonly summary: string }
  | {
      readonly type: 'ToolCallSucceededEvent';
      readonly toolCallId: string;
      readonly summary: string;
      readonly preview: string;
    }
  | {
      readonly type: 'SubagentStartedEvent';
      readonly toolCallId: string;
      readonly runId: string;
      readonly agent: string;
      readonly task: string;
    }
  | {
      readonly type: 'SubagentEndedEvent';
      readonly toolCallId: string;
      readonly runId: string;
      readonly status: SubagentRecord['status'];
      readonly message: string;
      /** US dollars, as far as prices are known. */
      readonly usd?: number;
    }
  | { readonly type: 'HealedEvent'; readonly code: string; readonly how: string }
  | {
      readonly type: 'FailoverEvent';
      readonly from: string;
      readonly to: string;
      readonly reason: string;
    }
  | {
      readonly type: 'ContextWarningEvent';
      readonly tokens: number;
      readonly windowTokens: number;
    }
  | {
      readonly type: 'CompactionEvent';
      readonly tier: CompactionTier;
      readonly tokensBefore: number;
      readonly tokensAfter: number;
      readonly messagesBefore: number;
      readonly messagesAfter: number;
      readonly why: string;
    }
  | {
      readonly type: 'StuckEvent';
      readonly reason: string;
      readonly progressPercent: number;
      readonly blockers: readonly string[];
    }
  | {
      readonly type: 'RecoveryEvent';
      readonly strategy: RecoveryStrategy;
      readonly reasoning: string;
      readonly confidence: number;
      readonly source: RecoverySource;
      readonly decision: RecoveryDecision;
      readonly summary: string;
      /** Why the planner's own answer was not used. */
      readonly problem?: string;
    }
  | {
      readonly type: 'RecoveryOutcomeEvent';
      readonly summary: string;
      readonly healed: boolean;
    }
  | { readonly type: 'WaitStartedEvent'; readonly waitingFor: string }
  | { readonly type: 'WaitEndedEvent'; readonly waitedFor: string }
  /** The model was warned of a limit; `message` says which. */
  | { readonly type: 'GuardWarnedEvent'; readonly message: string }
  | { readonly type: 'MessageAddedEvent'; readonly text: string }
  | { readonly type: 'EscalatedEvent'; readonly reason: string; readonly approvalId?: string }
  | {
      readonly type: 'ReminderEvent';
      readonly waitingFor: string;
      readonly waitedMs: number;
    }
  | {
      readonly type: 'EditRefusedEvent';
      readonly approvalId: string;
      readonly summary: string;
      readonly problems: string;
    }
  | { readonly type: 'SignalDroppedEvent'; readonly signal: string; readonly problem: string }
  | {
      readonly type: 'NotifiedEvent';
      readonly about: PersonNotice['kind'];
      readonly notifiers: readonly string[];
    }
  | {
      readonly type: 'NotificationFailedEvent';
      readonly about: PersonNotice['kind'];
      readonly notifiers: readonly string[];
      readonly message: string;
    }
  | { readonly type: 'SegmentStartedEvent'; readonly segment: number }
  | {
      readonly type: 'RunEndedEvent';
      readonly status: RunOutcome['status'];
      readonly message: string;
    };
