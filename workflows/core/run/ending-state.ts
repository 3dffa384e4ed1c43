/** The phase in which a run ends: what is in flight returns first, so that nothing is lost. */
import type { ProposedToolCall } from '../tools/ports';
import type { FailureReason } from './outcome';

/** How the run ends once nothing is in flight. */
export interface EndingPlan {
  readonly status: 'stopped' | 'cancelled' | 'failed';
  /** In words; for `failed` the message of the outcome. */
  readonly reason: string;
  /** Only with `failed`. */
  readonly failureReason?: FailureReason;
}

/** A tool call in flight when the end was requested. */
export interface LandingCall {
  readonly call: ProposedToolCall;
  readonly callId: string;
  /** Of a subagent. */
  readonly runId?: string;
}

/** The phase. */
export interface Ending extends EndingPlan {
  readonly type: 'ending';
  /** Ids of what is in flight. */
  readonly outstanding: readonly string[];
  readonly landing: readonly LandingCall[];
}
