/** The slices that recovery owns: progress, what was planned and tried, and what is on trial. */
import type { SnapshotSlice } from '../run/ports';
import type { PhaseSlice } from '../run/phases';
import type {
  FailedCall,
  LatestStep,
  PathOrigin,
  ProgressEstimate,
  RecoveryAction,
  RecoveryPolicy,
  RecoverySource,
  RecoveryTrouble,
} from './action';
import type { PlanRecoveryResult } from './ports';

/** A whole path, and the newest call that named it. */
export interface KnownPath extends PathOrigin {
  readonly path: string;
}

/** Newest last, each list bounded (ADR 0026). */
export interface ExecutionMemory {
  /** Whole lines of whole results (ADR 0033). */
  readonly facts: readonly string[];
  /** Paths that results named or that tools changed. */
  readonly files: readonly KnownPath[];
  /** Identities of results seen. */
  readonly seen: readonly string[];
  /** Identities of calls with an effect. */
  readonly effects: readonly string[];
  readonly completedSteps: readonly string[];
  /** One per tool and error. */
  readonly failures: readonly FailedCall[];
}

/** What happened in the step that is under way. */
interface StepUnderWay {
  readonly gains: readonly string[];
  readonly last?: LatestStep;
}

/** Progress of a run. */
export interface ProgressState {
  readonly memory: ExecutionMemory;
  /** Iterations that came to their end. */
  readonly steps: number;
  /** Of them with something new. */
  readonly gainingSteps: number;
  /** Steps since something new, or since the last recovery. */
  readonly idleSteps: number;
  /** Steps, and of them gaining ones, since the last recovery: what low progress is judged by. */
  readonly recentSteps: number;
  readonly recentGains: number;
  readonly underWay: StepUnderWay;
  readonly latest?: LatestStep;
  /** The newest estimate of a model; `isHandled` once recovery or a person dealt with it. */
  readonly modelEstimate?: ProgressEstimate & { readonly isHandled?: true };
}

/** A step that has just started. */
export const freshStep: StepUnderWay = { gains: [] };

/** A run that has done nothing yet. */
export const initialProgress: ProgressState = {
  memory: { facts: [], files: [], seen: [], effects: [], completedSteps: [], failures: [] },
  steps: 0,
  gainingSteps: 0,
  idleSteps: 0,
  recentSteps: 0,
  recentGains: 0,
  underWay: freshStep,
};

/** A remedy whose effect is not yet known. */
export interface RecoveryTrial {
  /** Distinguishes the trials of a run. */
  readonly id: number;
  readonly summary: string;
  readonly trouble: RecoveryTrouble;
  /** Steps in which progress may still resume. */
  readonly stepsLeft: number;
  /** The newest call when the trial began: the same again, with nothing new, shows that the remedy does not help. */
  readonly stuckAction: string;
  /** The recovery action; absent for a person's answer. */
  readonly action?: {
    /** Tool that it runs or suggests, if any. */
    readonly toolName?: string;
    readonly patternId?: string;
  };
}

/** Recovery of a run. */
export interface RecoveryState {
  /** Step after which the last stuck state was dealt with; a step is dealt with once. */
  readonly handledStep: number;
  /** Step after which a remedy had proved useless. */
  readonly refutedStep: number;
  /** What that action was for: people and planners must read that the trouble persists. */
  readonly refutedTrouble?: string;
  /** Step after which a model was last asked for an estimate. */
  readonly estimatedStep: number;
  /** Plans since the start, or since a person's last answer. */
  readonly plans: number;
  /** Identities of the troubles of these plans: a trouble that is not among them is new. */
  readonly troubles?: readonly string[];
  /** All plans and waits, for ids. */
  readonly count: number;
  /** Tries by recovery of each tool, since another tool was last suggested. */
  readonly retries: { readonly [tool: string]: number };
  /** Tools whose newest call failed but may have taken effect. */
  readonly uncertain?: readonly string[];
  /** What did not help, newest last. */
  readonly tried: readonly string[];
  readonly healed: number;
  readonly failed: number;
  readonly trial?: RecoveryTrial;
  /** The newest plan, for people. */
  readonly last?: Pick<RecoveryAction, 'strategy' | 'confidence' | 'reasoning'> & {
    readonly source: RecoverySource;
    readonly toolName: string;
  };
}

/** The slice. */
export interface RecoverySlice {
  readonly progress: ProgressState;
  readonly recovery: RecoveryState;
}

/** Nothing went wrong yet. */
export const initialRecovery: RecoverySlice = {
  progress: initialProgress,
  recovery: {
    handledStep: -1,
    refutedStep: -1,
    estimatedStep: 0,
    plans: 0,
    count: 0,
    retries: {},
    tried: [],
    healed: 0,
    failed: 0,
  },
};

/** A plan that is being carried out. */
export type Plan = Pick<
  PlanRecoveryResult,
  'action' | 'source' | 'patternId' | 'call' | 'digest' | 'problem'
>;

/** A stage that a timer ends. */
export interface TimedWait {
  readonly timerId: string;
  readonly untilMs: number;
  readonly sinceMs: number;
}

/** A stage of recovery: part of the state, so that it survives a worker's death. */
export type RecoveryStage = { readonly trouble: RecoveryTrouble } & (
  | {
      readonly type: 'planning';
      readonly callId: string;
      readonly purpose: 'plan' | 'estimate';
      readonly fallback: RecoveryAction;
    }
  /** A retry waits a little first. */
  | ({ readonly type: 'backing-off'; readonly plan: Plan } & TimedWait)
  /** A person decides whether the action is carried out. */
  | ({ readonly type: 'asking'; readonly approvalId: string; readonly plan: Plan } & TimedWait)
  /** A person answers a question. */
  | ({
      readonly type: 'escalated';
      readonly questionId: string;
      readonly question: string;
      /** What was planned, with too little confidence to be carried out. */
      readonly planned?: RecoveryAction;
    } & TimedWait)
);

/** The phase in which a stuck run recovers. */
export interface Recovering {
  readonly type: 'recovering';
  readonly stage: RecoveryStage;
}

function isRecovering(phase: PhaseSlice['phase']): phase is Recovering {
  return phase.type === 'recovering';
}

/** The stage of recovery that the run is in; undefined if it is in none. */
export function currentStage({ phase }: PhaseSlice): RecoveryStage | undefined {
  return isRecovering(phase) ? phase.stage : undefined;
}

/** The stage, if it is of this type. */
export function recoveryStage<Type extends RecoveryStage['type']>(
  state: PhaseSlice,
  type: Type,
): Extract<RecoveryStage, { type: Type }> | undefined {
  const stage = currentStage(state);
  return stage?.type === type ? (stage as Extract<RecoveryStage, { type: Type }>) : undefined;
}

/** Whether anybody hears what recovery asks: a notifier tells people, or the policy says that it waits (ADR 0035). */
export function isHeard(
  { snapshot }: SnapshotSlice,
  kind: 'escalation' | 'approval' = 'escalation',
): boolean {
  const reported = snapshot?.notifiers?.on ?? [];
  return snapshot?.recovery?.escalate === 'wait' || reported.includes(kind);
}

/** How the run recovers; undefined if it does not. */
export function activePolicy({ snapshot }: SnapshotSlice): RecoveryPolicy | undefined {
  const policy = snapshot?.recovery;
  return policy === undefined || policy.mode === 'off' ? undefined : policy;
}
