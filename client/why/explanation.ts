/** What `why` says of a run, and the facts that it is said from. */
import type { Failure } from '../../workflows/core/failure';
import type { FailureReason, RunOutcome } from '../../workflows/core/run/outcome';
import type { RunState } from '../../workflows/core/run/state';
import type { RunStatusWord } from '../../workflows/core/view/status';
import type { Counted, RunStory } from './story';

/** Why a run is where it is, in one word: a reason or a code of a failure, or what only `why` names. */
export type WhyCause =
  | FailureReason
  | Failure['code']
  | 'no_worker'
  | 'workflow_task_failed'
  | 'retrying'
  | 'approval'
  | 'question'
  | 'unknown_outcome'
  | 'escalated'
  | 'recovering'
  | 'mcp_server'
  | 'stopped'
  | 'cancelled'
  | 'terminated'
  | 'at_work'
  | 'completed';

/** What to do now. */
export interface NextStep {
  readonly text: string;
  /** A command of `holdfast` that does it, quoted for a shell. Words in capitals are for the reader to replace. */
  readonly command?: string;
}

/** The answer to `why`: one paragraph and a table. Its texts are sanitized as history is, but not made safe for a terminal. */
export interface RunExplanation {
  readonly runId: string;
  readonly status: RunStatusWord;
  readonly cause: WhyCause;
  readonly paragraph: string;
  /** Newest last, at most `shownRows` of each. */
  readonly failed: readonly Counted[];
  readonly tried: readonly Counted[];
  readonly worked: readonly Counted[];
  readonly cost: string;
  /** At least one. */
  readonly next: readonly NextStep[];
}

/** An activity that has not ended, as the server sees it. */
export interface OpenActivity {
  readonly id: string;
  readonly type: string;
  readonly attempt: number;
  /** A worker has it. */
  readonly isStarted: boolean;
  /** When the server gave it to the task queue, or will; absent while a worker has it. */
  readonly dueAtMs?: number;
  /** Of the attempt before: its code, or `timeout` for a worker that was lost. */
  readonly lastFailure?: { readonly type: string; readonly message: string };
}

/** What the server says of a run beside its history. */
export interface Surroundings {
  readonly taskQueue: string;
  /** When a worker last asked the task queue for work; absent if none did in minutes, or nobody may say. */
  readonly lastPollAtMs?: number;
  /** False where the caller may not look at task queues. */
  readonly knowsPollers: boolean;
  /** A workflow task that has not been completed. */
  readonly openTask?: {
    readonly attempt: number;
    readonly isStarted: boolean;
    readonly scheduledAtMs: number;
    /** Why the attempts before failed. */
    readonly failure?: string;
  };
  readonly activities: readonly OpenActivity[];
}

/** All that `why` knows of a run. */
export interface WhyFacts {
  readonly runId: string;
  readonly nowMs: number;
  /** As history folds to it. */
  readonly state: RunState;
  readonly story: RunStory;
  /** Of a run that has ended. */
  readonly outcome?: RunOutcome;
  /** The workflow was ended from outside. */
  readonly isTerminated: boolean;
  /** Who asked for the stop. */
  readonly stoppedBy?: string;
  readonly surroundings: Surroundings;
  /** The task queue that the reader's commands start runs on. */
  readonly ownTaskQueue: string;
}

/** The cause of one situation. */
export interface Diagnosis {
  readonly cause: WhyCause;
  /** Whole sentences. */
  readonly says: string;
  readonly next: readonly NextStep[];
}
