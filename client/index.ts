/** The client's part of the entry `holdfast`: start runs, wait for typed results, watch, approve, answer, stop. */
export { AgentClient } from './agent-client';
export type { ConnectOptions } from './agent-client';
export { ClientError } from './client-error';
export { connect } from './connect';
export type { RunSummary } from './list-runs';
export type { Content } from '../workflows/core/attachments';
export type { Actor } from './person-requests';
export { RunHandle } from './run-handle';
export type { WaitOptions } from './run-result';
export type { AgentStart, StartOptions } from './start-run';
export { Thread } from './thread';
export type { RunOutcome } from '../workflows/core/run/outcome';
export type { RunRequest } from '../workflows/core/run/ports';
export type { TimelineEntry } from '../workflows/core/run/protocol';
export type { PendingItem } from '../workflows/core/view/pending';
export type { RunStatusView } from '../workflows/core/view/status';
export type { AgentRequest, AgentType, OutputOf, RunResult } from '../workflows/core/typed-agent';
