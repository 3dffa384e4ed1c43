/** Entry of `holdfast/workflow`: the workflow to bundle, and what a user's own workflow calls. */
export { agentRun } from './agent-run';
export { extractPatterns } from './extract-patterns';
export { runAgent } from './run-agent';
export type { RunOutcome } from './core/run/outcome';
export type { RunRequest } from './core/run/ports';
