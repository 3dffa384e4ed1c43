/** Entry of `holdfast/core`: the pure core for tests, tools and the client's timeline. */
export {
  initialCircuitBreaker,
  isTripped,
  resetErrors,
  ringSize,
  trackError,
} from './errors/circuit-breaker';
export type { CircuitBreakerState } from './errors/circuit-breaker';
export { buildErrorRecoveryMessage, toToolResponse } from './errors/error-context';
export type {
  AgentError,
  AgentErrorCode,
  FailoverReason,
  Failure,
  InfraError,
  SystemFailureCode,
} from './failure';
export { normaliseText } from './errors/fingerprint';
export { defaultLimits } from './limits';
export type { Limits } from './limits';
export type { Message } from './message';
export type { RunOutcome, RunReport } from './run/outcome';
export type { RunCommand, RunEvent, RunRequest, TimelineEntry } from './run/protocol';
export type { RunState } from './run/state';
export { restoreRunState } from './run/restore';
export { pendingItems, statusView } from './view/status';
export type { PendingItem, RunStatusView } from './view/status';
export { initialTransition, transition } from './run/transition';
export type { Transition } from './run/transition';
