/** Entry of `holdfast/workflow`: the workflow to bundle, and what a user's own workflow calls. */
export { agentRun } from './agent-run';
export { extractPatterns } from './extract-patterns';
export { runAgent } from './run-agent';
export type { AgentRunInput } from './contract';
export type { ExtractionReport } from './core/learning/ports';
