/** The feature recovery planner: a model plans the way out when a run is stuck. */
import type { Feature } from '../definitions/activity-deps';
import { withQueueTime } from '../lifecycle/activity-lifecycle';
import { planRecovery } from '../plan-recovery';

/** Plans recoveries. Without it the core's own heuristic plans them. */
export const recoveryPlanner: Feature = {
  activities: (deps) => ({
    planRecovery: (input) => withQueueTime(deps.clock, () => planRecovery(deps, input)),
  }),
};
