/** Reads how a child workflow that is an agent run ended. */
import {
  ApplicationFailure,
  CancelledFailure,
  ChildWorkflowFailure,
  TerminatedFailure,
  TimeoutFailure,
} from '@temporalio/common';
import type { RunOutcome, SubagentEnd } from './core/run/outcome';
import { endOfSubagent } from './core/subagents/outcome';

function isOutcome(value: unknown): value is RunOutcome {
  return typeof value === 'object' && value !== null && 'status' in value && 'report' in value;
}

/** The outcome that a failed child workflow carries; undefined if it carries none. */
export function outcomeOfFailure(thrown: unknown): RunOutcome | undefined {
  if (!(thrown instanceof ChildWorkflowFailure) || !(thrown.cause instanceof ApplicationFailure))
    return undefined;
  const [outcome] = thrown.cause.details ?? [];
  return isOutcome(outcome) ? outcome : undefined;
}

/** How a subagent's workflow ended, from its result. */
export function endOfResult(result: unknown): SubagentEnd {
  return isOutcome(result)
    ? endOfSubagent(result)
    : { type: 'lost', message: 'its workflow did not return a Holdfast outcome' };
}

function lostMessage(cause: unknown): string {
  if (cause instanceof TerminatedFailure) return 'its workflow was terminated';
  if (cause instanceof TimeoutFailure) return 'its workflow ran into its own time limit';
  if (cause instanceof CancelledFailure) return 'its workflow was cancelled';
  return 'its workflow failed without an outcome';
}

/** How a subagent's workflow ended, from its failure; also if it never began. */
export function endOfFailure(thrown: unknown): SubagentEnd {
  const outcome = outcomeOfFailure(thrown);
  if (outcome !== undefined) return endOfSubagent(outcome);
  if (thrown instanceof ChildWorkflowFailure)
    return { type: 'lost', message: lostMessage(thrown.cause) };
  return {
    type: 'not-started',
    message:
      thrown instanceof CancelledFailure
        ? 'it was stopped before it began'
        : 'a workflow with its id runs already',
  };
}
