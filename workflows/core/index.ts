/** Entry of `holdfast/core`: the pure core for tests, tools and the client's timeline. */
export {
  initialCircuitBreaker,
  isTripped,
  resetErrors,
  ringSize,
  trackError,
} from './errors/circuit-breaker';
export type { CircuitBreakerState } from './errors/circuit-breaker';
export { buildErrorRecoveryMessage } from './errors/recovery-message';
export { toToolResponse } from './errors/tool-response';
export type { AgentError, AgentErrorCode, Failure, InfraError, SystemFailureCode } from './failure';
export type { FailoverReason } from './limits';
export { normalizeText } from './errors/fingerprint';
export { defaultLimits } from './limits';
export type { Limits } from './limits';
export type { Message } from './message';
export type { RunOutcome, RunReport } from './run/outcome';
export type { RunCommand, RunEvent, TimelineEntry } from './run/protocol';
export type { RunRequest } from './run/ports';
export type { RunState } from './run/state';
export { restoreRunState } from './run/restore';
export { pendingItems } from './view/pending';
export { statusView } from './view/status';
export type { PendingItem } from './view/pending';
export type { RunStatusView } from './view/status';
export { initialTransition, transition } from './run/transition';
export type { Transition } from './run/transition';
