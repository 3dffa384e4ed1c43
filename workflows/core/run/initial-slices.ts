/** Slices of the state that releases after 0.1.0 added: their first value, also for a state that an earlier release handed on. */
import { initialBudget } from '../budget/budget';
import { initialApprovals } from '../people/decisions-made';
import { initialContext } from '../context/state';
import { initialGuard } from '../guard/state';
import { initialLearning } from '../learning/observations';
import { initialNotifications } from '../people/notifications';
import { initialProgress } from '../recovery/progress';
import { initialRecovery } from '../recovery/state';
import type { RunState } from './state';

/** First value of each added slice. */
export const initialSlices = {
  approvals: initialApprovals,
  budget: initialBudget,
  context: initialContext,
  subagents: [],
  guard: initialGuard,
  learning: initialLearning,
  notifications: initialNotifications,
  progress: initialProgress,
  recovery: initialRecovery,
} satisfies Partial<RunState>;
