/** Runs an agent from inside a user's own workflow, as a child with its own history. */
import type { ChildWorkflowOptions } from '@temporalio/workflow';
import { CancellationScope, executeChild } from '@temporalio/workflow';
import { outcomeOfFailure } from './child-outcome';
import type { AgentRunWorkflow } from './contract';
import { agentRunWorkflow } from './contract';
import type { RunOutcome } from './core/run/outcome';
import type { RunRequest } from './core/run/ports';
import type { AgentRequest, AgentType, OutputOf, RunResult } from './core/typed-agent';
import { firstAttributes, inheritedSearchAttributes } from './run-visibility';

/** How `runAgent` starts its child. */
type ChildOptions = ChildWorkflowOptions & { readonly findable?: boolean };

/**
 * Starts an agent run as a child workflow and waits for its outcome. `runAgent<typeof supportAgent>('support', { … })` types
 * context and output by the definition, of which workflow code imports the type alone.
 *
 * `findable`: true if the namespace knows Holdfast's search attributes (`holdfast setup` registers them; Temporal refuses to start
 * a child with others). Default: as the calling workflow, which has them or not.
 *
 * Contract: the bundle or another worker on the task queue has the workflow `agentRun` and Holdfast's activities.
 * Errors: a failed run is returned as outcome `failed`, and a run that somebody cancelled as `cancelled`, not thrown. The
 * cancellation of the caller's own scope is thrown; so is a failure without an outcome, unchanged.
 */
export function runAgent<Agent extends AgentType = AgentType>(
  agent: Agent['name'],
  request: AgentRequest<Agent>,
  options?: ChildWorkflowOptions & { readonly findable?: boolean },
): Promise<RunResult<OutputOf<Agent, 'input'>>>;
export function runAgent(
  request: RunRequest,
  options?: ChildWorkflowOptions & { readonly findable?: boolean },
): Promise<RunOutcome>;
export function runAgent(
  first: string | RunRequest,
  second: Omit<RunRequest, 'agent'> | ChildOptions = {},
  third: ChildOptions = {},
): Promise<unknown> {
  return typeof first === 'string'
    ? runAsChild({ goal: '', ...second, agent: first }, third)
    : runAsChild(first, second as ChildOptions);
}

async function runAsChild(
  request: RunRequest,
  { findable, ...options }: ChildOptions,
): Promise<RunOutcome> {
  const attributes =
    findable === true
      ? { typedSearchAttributes: firstAttributes(request) }
      : inheritedSearchAttributes(request);
  try {
    const outcome = await executeChild<AgentRunWorkflow>(agentRunWorkflow, {
      ...(findable === false ? {} : attributes),
      ...options,
      args: [{ request }],
    });
    const scope = CancellationScope.current();
    if (outcome.status === 'cancelled' && scope.consideredCancelled) await scope.cancelRequested;
    return outcome;
  } catch (thrown) {
    const outcome = outcomeOfFailure(thrown);
    if (outcome !== undefined) return outcome;
    throw thrown;
  }
}
