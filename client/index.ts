/** Entry of `holdfast/client`: start runs, await typed results, watch, approve, answer, stop. */
export { AgentClient } from './agent-client';
export type { AgentClientOptions } from './agent-client';
export type { ForkOptions } from './fork-run';
export type { TranscriptPoint } from './history/transcript-point';
export { ClientError } from './client-error';
export type { ClientErrorCode } from './client-error';
export { connect } from './connect';
export type { ConnectOptions } from './connect';
export type { ListOptions, RunSummary } from './list-runs';
export type { Actor, Approver, Decider } from './person-requests';
export { RunHandle } from './run-handle';
export type { RunMoment } from './run-handle';
export type { ReadOptions } from './history/read-history';
export type { RunResult } from './run-result';
export type { StartOptions } from './start-run';
export type { RunOutcome, RunReport } from '../workflows/core/run/outcome';
export type { RunRequest, TimelineEntry } from '../workflows/core/run/protocol';
export type { PendingItem, RunStatusView } from '../workflows/core/view/status';
