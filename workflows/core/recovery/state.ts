/** The slice of a run's state that recovery owns: what was planned and tried, what is on trial, what learning has yet to hear of. */
import type { RecoveryAction, RecoverySource, RecoveryTrouble } from './action';
import type { PlanRecoveryResult } from './ports';
import type { ProposedToolCall } from '../tools/ports';
import type { RunState } from '../run/state';

/** A remedy whose effect is not known yet. */
export interface RecoveryTrial {
  readonly summary: string;
  readonly trouble: RecoveryTrouble;
  /** Steps in which progress may still resume. */
  readonly stepsLeft: number;
  /** The newest call when it began: the same once more, with nothing new, says that the remedy does not help. */
  readonly stuckAction: string;
}

/** Recovery of a run. */
export interface RecoveryState {
  /** Step after which the last stuck state was dealt with; a step is dealt with once. */
  readonly handledStep: number;
  /** Step after which a remedy had proved useless. */
  readonly refutedStep: number;
  /** What that remedy was for: the trouble goes on, and people and planners must read of it. */
  readonly refutedTrouble?: string;
  /** Step after which a model last estimated the progress. */
  readonly estimatedStep: number;
  /** Plans since the start, or since a person's last answer. */
  readonly plans: number;
  /** All plans and waits, for ids. */
  readonly count: number;
  /** Tries by recovery of each tool, since another tool was last suggested. */
  readonly retries: { readonly [tool: string]: number };
  /** Tools with an effect whose newest call may have taken it, though it failed. */
  readonly uncertain?: readonly string[];
  /** What did not help, newest last. */
  readonly tried: readonly string[];
  readonly healed: number;
  readonly failed: number;
  readonly trial?: RecoveryTrial;
  /** The newest plan, for people. */
  readonly last?: {
    readonly strategy: RecoveryAction['strategy'];
    readonly source: RecoverySource;
    readonly confidence: number;
    readonly reasoning: string;
    readonly toolName: string;
  };
}

/** Nothing went wrong yet. */
export const initialRecovery: RecoveryState = {
  handledStep: -1,
  refutedStep: -1,
  estimatedStep: 0,
  plans: 0,
  count: 0,
  retries: {},
  tried: [],
  healed: 0,
  failed: 0,
};

/** What a plan came to, without what is of no use any more. */
export type Plan = Pick<
  PlanRecoveryResult,
  'action' | 'source' | 'patternId' | 'call' | 'digest' | 'problem'
>;

interface TimedWait {
  readonly timerId: string;
  readonly untilMs: number;
  readonly sinceMs: number;
}

/** Where on the ladder a run stands: each rung is a state, so that it survives a worker's death. */
export type RecoveryStage =
  | {
      readonly type: 'planning';
      readonly callId: string;
      readonly purpose: 'plan' | 'estimate';
      readonly fallback: RecoveryAction;
      readonly trouble: RecoveryTrouble;
    }
  /** A retry waits a little first. */
  | ({
      readonly type: 'backing-off';
      readonly plan: Plan;
      readonly trouble: RecoveryTrouble;
    } & TimedWait)
  /** A person decides whether the action is carried out. */
  | ({
      readonly type: 'asking';
      readonly approvalId: string;
      readonly plan: Plan;
      readonly trouble: RecoveryTrouble;
    } & TimedWait)
  /** A person answers a question. */
  | ({
      readonly type: 'escalated';
      readonly questionId: string;
      readonly question: string;
      readonly trouble: RecoveryTrouble;
    } & TimedWait);

/** A tool call that the runtime makes on its own. */
export interface RecoveryCall {
  readonly call: ProposedToolCall;
  readonly introduction: string;
}

/** The stage of this type that the run is in. */
export function recoveryStage<Type extends RecoveryStage['type']>(
  state: RunState,
  type: Type,
): Extract<RecoveryStage, { type: Type }> | undefined {
  const { phase } = state;
  if (phase.type !== 'recovering' || phase.stage.type !== type) return undefined;
  return phase.stage as Extract<RecoveryStage, { type: Type }>;
}
