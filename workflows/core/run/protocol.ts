/** The core's input (events), its output (commands), and what people read (timeline entries). */
import type { Activities } from '../activities';
import type { Attachment } from '../message';
import type { CompactionTier } from '../context/measure';
import type { AgentError, Failure, HealedBy, InfraError } from '../failure';
import type { JsonObject } from '../json';
import type { Limits } from '../limits';
import type { CallModelResult, ModelCallHeldBack, SentModelCall } from '../model-call/ports';
import type { PersonNotice } from '../notifications/ports';
import type { GuardrailStage, GuardrailVerdict } from '../guardrails/ports';
import type { AgentSnapshot, PrepareRunInput, RunRequest } from './ports';
import type { SentToolCall } from '../tools/ports';
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
  | ActivityEvent
  /** The request was too large to be sent. */
  | {
      readonly type: 'model-call-held-back';
      readonly callId: string;
      readonly result: ModelCallHeldBack;
    }
  | { readonly type: 'subagent-ended'; readonly toolCallId: string; readonly end: SubagentEnd }
  | { readonly type: 'timer-fired'; readonly timerId: string }
  | {
      readonly type: 'message-added';
      readonly text: string;
      readonly attachments?: readonly Attachment[];
      readonly by?: string;
    }
  | {
      readonly type: 'approval-resolved';
      readonly approvalId: string;
      readonly decision: 'approve' | 'reject';
      /** Only with `approve`: arguments that the person wants instead of the model's. */
      readonly input?: JsonObject;
      readonly reason?: string;
      readonly by?: string;
      /** By the private key of an approver, over `decisionStatement`: base64url. */
      readonly signature?: string;
    }
  | {
      readonly type: 'question-answered';
      readonly questionId: string;
      readonly answer: string;
      readonly attachments?: readonly Attachment[];
      readonly by?: string;
    }
  /** A signal that says nothing usable. */
  | { readonly type: 'signal-dropped'; readonly signal: string; readonly problem: string }
  | { readonly type: 'escalation-requested'; readonly reason: string; readonly by?: string }
  | { readonly type: 'stop-requested'; readonly reason: string; readonly by?: string }
  | { readonly type: 'cancel-requested'; readonly reason: string };

/** Activity id of the preparation of a run. */
export const prepareCallId = 'prepare';

type LostCode = 'timeout' | 'tool_infrastructure' | 'worker_lost';

const row = <Name extends keyof Activities, Completed extends string, Failed extends string>(
  name: Name,
  completed: Completed,
  failed: Failed,
  lost: LostCode,
) => ({ name, completed, failed, lost });

/** Each activity by its command: its name, the events it comes back as, and the code of a failure that carries none. */
export const activityTable = {
  'prepare-run': row('prepareRun', 'run-prepared', 'run-preparation-failed', 'worker_lost'),
  'hand-over': row('prepareRun', 'handed-over', 'handover-failed', 'worker_lost'),
  'check-guardrails': row(
    'checkGuardrails',
    'guardrails-checked',
    'guardrails-failed',
    'tool_infrastructure',
  ),
  'call-model': row('callModel', 'model-call-completed', 'model-call-failed', 'timeout'),
  compact: row('compact', 'compaction-completed', 'compaction-failed', 'worker_lost'),
  'run-tool': row('runTool', 'tool-call-completed', 'tool-call-failed', 'tool_infrastructure'),
  'check-edit': row('checkEdit', 'edit-checked', 'edit-check-failed', 'tool_infrastructure'),
  notify: row('notify', 'notification-completed', 'notification-failed', 'tool_infrastructure'),
  'plan-recovery': row('planRecovery', 'recovery-planned', 'recovery-plan-failed', 'timeout'),
};

type ActivityType = keyof typeof activityTable;
type RowOf<Type extends ActivityType> = (typeof activityTable)[Type];
type ActivityOf<Type extends ActivityType> = Activities[RowOf<Type>['name']];
/** What the core works with: whole, as `completedEvent` makes it of what history has. */
type ResultOf<Type extends ActivityType> = Type extends 'call-model'
  ? CallModelResult
  : Awaited<ReturnType<ActivityOf<Type>>>;

/** What names an activity in its events: the model's id of a tool call, else the activity's own. */
interface Identities extends Record<Exclude<ActivityType, 'prepare-run' | 'run-tool'>, CallId> {
  readonly 'prepare-run': object;
  readonly 'run-tool': { readonly toolCallId: string };
}

interface CallId {
  /** Short activity id, such as `t3.0`. */
  readonly callId: string;
}

/** What each activity comes back as. */
type ActivityEvent = {
  readonly [Type in ActivityType]: Identities[Type] &
    (
      | { readonly type: RowOf<Type>['completed']; readonly result: ResultOf<Type> }
      | { readonly type: RowOf<Type>['failed']; readonly failure: InfraError }
    );
}[ActivityType];

/** Asks for an activity; `More` is what its time limits depend on. */
type ActivityRequest<Type extends ActivityType, More = object> = CallId &
  More & {
    readonly type: Type;
    readonly summary: string;
    readonly input: Exclude<Parameters<ActivityOf<Type>>[0], SentModelCall | SentToolCall>;
  };

/** What the shell must do; each activity, timer, and subagent returns as an event. */
export type RunCommand =
  | { readonly type: 'prepare-run'; readonly input: RunRequest }
  | (CallId & {
      readonly type: 'hand-over';
      readonly summary: string;
      readonly input: Omit<PrepareRunInput, 'flags' | 'runKey'>;
    })
  | ActivityRequest<
      'check-guardrails',
      { readonly timeoutMs: number; readonly heartbeatTimeoutMs: number }
    >
  | ActivityRequest<'call-model', Pick<AgentSnapshot, 'limits'>>
  | ActivityRequest<'compact', Pick<AgentSnapshot, 'limits'>>
  | ActivityRequest<'plan-recovery', Pick<AgentSnapshot, 'limits'>>
  | ActivityRequest<
      'run-tool',
      {
        readonly toolCallId: string;
        readonly timeoutMs: number;
        readonly heartbeatTimeoutMs: number;
        /** It runs as a local activity first, and as an ordinary one if that gives no result. */
        readonly isLocal?: true;
      }
    >
  | ActivityRequest<'check-edit'>
  | ActivityRequest<'notify', Pick<Limits, 'heartbeatTimeoutMs'>>
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

/** A command that an activity carries out. */
export type ActivityCommand = Extract<RunCommand, { type: ActivityType }>;

/** What a run waits for, as a program names it. */
export type RunWait =
  /** `id` and `digest` are what `approve` and `reject` take: the digest binds a decision to exactly this action. */
  | { readonly kind: 'approval'; readonly id: string; readonly digest: string }
  /** `id` is what `answer` takes. */
  | { readonly kind: 'question'; readonly id: string }
  /** A timer ends it. */
  | { readonly kind: 'provider' | 'store' | 'pause' };

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
  /** Another agent acts from here on. */
  | {
      readonly type: 'HandoffEvent';
      readonly from: string;
      readonly to: string;
      readonly reason: string;
    }
  | ({ readonly type: 'GuardrailEvent'; readonly stage: GuardrailStage } & GuardrailVerdict)
  | {
      readonly type: 'HealedEvent';
      readonly code: string;
      readonly how: string;
      readonly by: HealedBy;
    }
  | {
      readonly type: 'FailoverEvent';
      readonly from: string;
      readonly to: string;
      readonly reason: string;
    }
  | {
      readonly type: 'MediaLeftOutEvent';
      readonly route: string;
      /** Each image or document that the model did not get, with why. */
      readonly media: readonly string[];
    }
  | {
      readonly type: 'ContextWarningEvent';
      readonly tokens: number;
      readonly windowTokens: number;
    }
  | {
      readonly type: 'PromptCutEvent';
      readonly route: string;
      /** What the vendor counted, and what the request was measured as. */
      readonly countedTokens: number;
      readonly measuredTokens: number;
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
  | { readonly type: 'WaitStartedEvent'; readonly waitingFor: string; readonly wait: RunWait }
  | { readonly type: 'WaitEndedEvent'; readonly waitedFor: string; readonly wait: RunWait }
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
