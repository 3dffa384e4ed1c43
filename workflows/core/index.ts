/** Entry of `holdfast/core`: the pure core for tests, tools and the client's timeline. */
export {
  initialCircuitBreaker,
  isTripped,
  resetErrors,
  ringSize,
  trackError,
} from './circuit-breaker';
export type { CircuitBreakerState } from './circuit-breaker';
export { buildErrorRecoveryMessage, toToolResponse } from './error-context';
export type {
  AgentError,
  AgentErrorCode,
  FailoverReason,
  Failure,
  InfraError,
  SystemFailureCode,
} from './failure';
export { normaliseText } from './fingerprint';
export { defaultLimits } from './limits';
export type { Limits } from './limits';
export type { Message } from './message';
export type { RunOutcome, RunReport } from './run-outcome';
export type { RunCommand, RunEvent, RunRequest, TimelineEntry } from './run-protocol';
export type { RunState } from './run-state';
export { restoreRunState } from './restore-run-state';
export { pendingItems, statusView } from './status-view';
export type { PendingItem, RunStatusView } from './status-view';
export { initialTransition, transition } from './transition';
export type { Transition } from './transition';
