/** The activity `planRecovery` as the core sees it. */
import type { ActivityTimes } from '../activity-times';
import type { Allowance, CallSpend } from '../budget/spend';
import type { ContentHash, Head } from '../message';
import type { PendingResult, ProposedToolCall } from '../tools/ports';
import type {
  ProgressEstimate,
  RecoveryAction,
  RecoveryPolicy,
  RecoverySource,
  StuckContext,
} from './action';

/** Input of a recovery plan, or of a progress estimate by a model. */
export interface PlanRecoveryInput {
  readonly storeId: string;
  readonly definition: ContentHash;
  readonly head: Head;
  readonly purpose: 'plan' | 'estimate';
  readonly context: StuckContext;
  /** The run's thresholds, which the planner is told. */
  readonly thresholds: Pick<RecoveryPolicy, 'actAt' | 'askAt'>;
  /** Place of the route in the run's chain; absent where every route is cooling: then no model is asked. */
  readonly routeIndex?: number;
  readonly probe?: true;
  /** The route has refused to enforce the form of a reply. */
  readonly unstructured?: true;
  readonly iteration: number;
  readonly idPrefix: string;
  /** Results that are not in the transcript yet. */
  readonly pendingResults?: readonly PendingResult[];
  /** Prefix of the id that the planned tool call gets. */
  readonly callIdPrefix: string;
  /** Taken where neither a pattern nor the model has a usable answer. */
  readonly fallback: RecoveryAction;
  /** What this plan, all its attempts together, may spend. */
  readonly allowance?: Allowance;
}

/** A plan that can be carried out. */
export interface PlanRecoveryResult extends ActivityTimes {
  readonly action: RecoveryAction;
  readonly source: RecoverySource;
  readonly patternId?: string;
  /** The action's tool call, checked as a model's own; absent if the action has no parameters or cannot run. */
  readonly call?: ProposedToolCall;
  /** Binds a person's decision to this action. */
  readonly digest: ContentHash;
  /** Only for the purpose `estimate`, where the model gave one. */
  readonly estimate?: ProgressEstimate;
  /** Why the model's plan was not used. */
  readonly problem?: string;
  /** What the planner's model consumed; absent where none was asked. */
  readonly spend?: CallSpend;
}
