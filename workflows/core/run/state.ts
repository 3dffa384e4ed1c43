/** The whole state of a run: JSON only, composed of the rooms' slices, and carried from segment to segment. */
import type { BudgetSlice } from '../budget/state';
import { initialBudget } from '../budget/state';
import type { Compacting, ContextSlice } from '../context/state';
import { initialContext } from '../context/state';
import type { ErrorsSlice } from '../errors/state';
import { initialErrors } from '../errors/state';
import type { FailoverSlice } from '../failover/state';
import { initialFailover } from '../failover/state';
import type { GuardSlice } from '../guard/state';
import { initialGuard } from '../guard/state';
import type { LearningSlice } from '../learning/state';
import { initialLearning } from '../learning/state';
import type { CheckingGuardrails, GuardrailsSlice } from '../guardrails/state';
import type { HandingOver, HandoffSlice } from '../handoff/state';
import type { CallingModel, ModelCallSlice } from '../model-call/state';
import type { NotificationsSlice } from '../notifications/state';
import { initialNotifications } from '../notifications/state';
import type { PeopleSlice } from '../people/state';
import { initialPeople } from '../people/state';
import type { Recovering, RecoverySlice } from '../recovery/state';
import { initialRecovery } from '../recovery/state';
import type { GoalSlice } from '../secrets/shown-text';
import type { SubagentsSlice } from '../subagents/state';
import { initialSubagents } from '../subagents/state';
import type { NextRequestSlice } from '../model-call/next-request';
import { nothingPending } from '../model-call/next-request';
import type { RunningTools } from '../tools/state';
import type { AccountSlice } from './account';
import { initialAccount } from './account';
import type { Ended } from './outcome';
import type { SnapshotSlice } from './ports';
import type { Ending } from './ending-phase';
import type { StoreWaitSlice, Waiting } from './phases';

/** Where a run is. Each phase owns its own data. */
type RunPhase =
  | { readonly type: 'preparing' }
  /** Between iterations: nothing is in flight. */
  | { readonly type: 'ready' }
  | CallingModel
  | CheckingGuardrails
  | HandingOver
  | Compacting
  | RunningTools
  | Recovering
  | Waiting
  | Ending
  | Ended;

/** State of a run. */
export interface RunState
  extends
    AccountSlice,
    BudgetSlice,
    ContextSlice,
    ErrorsSlice,
    FailoverSlice,
    GoalSlice,
    GuardrailsSlice,
    GuardSlice,
    HandoffSlice,
    LearningSlice,
    ModelCallSlice,
    NextRequestSlice,
    NotificationsSlice,
    PeopleSlice,
    RecoverySlice,
    SnapshotSlice,
    StoreWaitSlice,
    SubagentsSlice {
  readonly schemaVersion: 1;
  readonly startedAtMs: number;
  readonly phase: RunPhase;
}

/** The slices of a run that has done nothing yet. */
export const initialSlices: Omit<
  RunState,
  'schemaVersion' | 'runKey' | 'request' | 'startedAtMs' | 'phase'
> = {
  ...initialAccount,
  ...initialBudget,
  ...initialContext,
  ...initialErrors,
  ...initialFailover,
  ...initialGuard,
  ...initialLearning,
  ...initialNotifications,
  ...initialPeople,
  ...initialRecovery,
  next: nothingPending,
  ...initialSubagents,
};
