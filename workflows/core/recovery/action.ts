/** The types of recovery: what a run is stuck on, what to do about it, and with which result. Data only. */
import type { AgentErrorCode } from '../failure';
import type { JsonObject } from '../json';
import type { ContentHash } from '../message';

/** Strategies that can resolve what a run is stuck on, so that they can be learned; `escalate` asks a person (R-REC-1). */
export const remedies = ['retry', 'alternative-tool', 'parameter-adjustment', 'escalate'] as const;

/** All strategies of a recovery; `give-up` accepts the failure, with an explanation (R-REC-1). */
export const recoveryStrategies = [...remedies, 'give-up'] as const;

/** What a recovery does. */
export type RecoveryStrategy = (typeof recoveryStrategies)[number];

/** Where a path was read. */
export interface PathOrigin {
  readonly toolCallId: string;
  /** The stored result whose whole output names the path, and the line; absent if the path is an input of the call. */
  readonly result?: ContentHash;
  readonly line?: number;
}

/** A parameter whose value the runtime took from an earlier call. */
export interface ParameterOrigin extends PathOrigin {
  readonly parameter: string;
  /** The value that it replaces. */
  readonly instead: string;
}

/** One way out when a run is stuck (R-REC-1). */
export interface RecoveryAction {
  readonly strategy: RecoveryStrategy;
  /** Why this one. */
  readonly reasoning: string;
  readonly action: {
    /** Empty if the action is about no tool. */
    readonly toolName: string;
    /** With parameters the runtime calls the tool itself; without, the model gets advice. */
    readonly parameters?: JsonObject;
    /** The question to a person. */
    readonly escalationMessage?: string;
  };
  /** Where a rule took one of the parameters from; checked before the call (R-REC-15). */
  readonly origin?: ParameterOrigin;
  readonly expectedOutcome: string;
  /** 0 to 1. */
  readonly confidence: number;
}

/** Where an action comes from. */
export type RecoverySource = 'pattern' | 'model' | 'heuristic';

/** What is done with an action. */
export type RecoveryDecision =
  | 'observes'
  | 'acts'
  | 'asks'
  /** An approval is needed, and nobody would hear of it: the model reads the action, and nothing runs. */
  | 'suggests'
  | 'escalates'
  /** A person is needed, and nobody would hear of it. */
  | 'cannot escalate'
  | 'gives up';

/** How far a run is, and whether it is stuck (R-PROG-6). */
export interface ProgressEstimate {
  /** 0 to 100. */
  readonly progressPercent: number;
  readonly reasoning: string;
  readonly nextMilestone: string;
  readonly blockers: readonly string[];
  readonly isStuck: boolean;
}

/** What a run is stuck on, if no tool's error says it. */
export type StuckCode = 'no_progress' | 'loop' | 'low_progress';

/** A tool's failure that no success of it has healed. */
export interface FailedCall {
  /** Empty for a reply that named no tool. */
  readonly tool: string;
  readonly code: AgentErrorCode;
  /** Sanitized, at most 300 characters. */
  readonly message: string;
  /** From trusted code only. */
  readonly hint?: string;
  /** What the tool was called with; absent above 1,000 characters of JSON. */
  readonly input?: JsonObject;
  /** Steps in which it occurred, since the last recovery. */
  readonly times: number;
  /** Step in which it last occurred. */
  readonly lastStep: number;
}

/** The newest call, as a plan reads it. */
export interface LatestStep {
  readonly tool: string;
  readonly action: string;
  readonly outcome: string;
  readonly success: boolean;
}

/** Everything that a plan is made from. Bounded: it travels in an activity's input. */
export interface StuckContext {
  readonly goal: string;
  readonly estimate: ProgressEstimate;
  /** Steps so far. */
  readonly steps: number;
  /** The last successful calls, newest last. */
  readonly completedSteps: readonly string[];
  readonly facts: readonly string[];
  readonly latest?: LatestStep;
  /** Unhealed failures, newest last. */
  readonly failures: readonly FailedCall[];
  /** What to look a pattern up by: the newest failure's code, else what the run is stuck on. */
  readonly trouble: RecoveryTrouble;
  /** Recoveries so far that did not help, newest last. */
  readonly tried: readonly string[];
  /** Tools that may not be retried any more. */
  readonly exhaustedTools: readonly string[];
}

/** What went wrong. */
export interface RecoveryTrouble {
  /** Empty if no tool is to blame. */
  readonly tool: string;
  readonly code: AgentErrorCode | StuckCode;
  /** Sanitized. */
  readonly message: string;
  /** What the tool was called with, if it is short. */
  readonly input?: JsonObject;
}

/** What happens if nobody answers recovery in time: the run ends readably, or continues without an answer. */
export type RecoveryExpiry = 'give-up' | 'continue';

/** How a run recovers, resolved at its start. */
export interface RecoveryPolicy {
  /** `auto` runs actions, `observe` only plans and publishes, `off` does neither. Default `auto`. */
  readonly mode: 'off' | 'observe' | 'auto';
  /** Confidence from which an action runs at once. Default 0.8 (R-REC-4). */
  readonly actAt: number;
  /** Confidence from which a person is asked first; below it a person takes over. Default 0.5 (R-REC-4). */
  readonly askAt: number;
  /** Recovery's own questions wait though no notifier tells anybody. Default: they wait only where one does (ADR 0035). */
  readonly escalate?: 'wait' | undefined;
  /** Plans per run; a person's answer restarts the count. Default 5 (ADR 0026). */
  readonly maxPerRun: number;
  /** Steps after which a model estimates the progress. Default: never; the runtime's own estimate costs nothing. */
  readonly estimateEvery?: number;
  /** Milliseconds that a question or an approval of recovery waits for a person. Default 86,400,000 (ADR 0026). */
  readonly waitMs: number;
  /** What is done when nobody answers in time. Default `give-up`. */
  readonly onExpiry: RecoveryExpiry;
}
