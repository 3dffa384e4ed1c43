/** Runs an agent from inside a user's own workflow, as a child with its own history. */
import { ApplicationFailure, ChildWorkflowFailure } from '@temporalio/common';
import type { ChildWorkflowOptions } from '@temporalio/workflow';
import { executeChild } from '@temporalio/workflow';
import type { agentRun } from './agent-run';
import { agentRunWorkflow } from './contract';
import type { RunOutcome } from './core/run-outcome';
import type { RunRequest } from './core/run-protocol';

function isOutcome(value: unknown): value is RunOutcome {
  return typeof value === 'object' && value !== null && 'status' in value && 'report' in value;
}

/**
 * Starts an agent run as a child workflow and waits for its outcome.
 *
 * Contract: the bundle or another worker on the task queue has the workflow `agentRun` and Holdfast's activities.
 * Errors: a failed run is returned as outcome `failed`, not thrown; a failure that carries no outcome is thrown as it is.
 */
export async function runAgent(
  request: RunRequest,
  options: ChildWorkflowOptions = {},
): Promise<RunOutcome> {
  try {
    return await executeChild<typeof agentRun>(agentRunWorkflow, {
      ...options,
      args: [{ request }],
    });
  } catch (thrown) {
    if (thrown instanceof ChildWorkflowFailure && thrown.cause instanceof ApplicationFailure) {
      const [outcome] = thrown.cause.details ?? [];
      if (isOutcome(outcome)) return outcome;
    }
    throw thrown;
  }
}
