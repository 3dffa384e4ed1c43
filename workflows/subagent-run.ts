/** Starts a subagent as a child workflow: its own history, on the same task queue, found like any run. */
import {
  executeChild,
  ChildWorkflowCancellationType,
  ParentClosePolicy,
} from '@temporalio/workflow';
import type { AgentRunWorkflow } from './contract';
import { agentRunWorkflow } from './contract';
import type { RunCommand } from './core/run/protocol';
import type { RunOutcome } from './core/run/outcome';
import { shownText } from './core/secrets/shown-text';
import { escapeMarkdown } from './core/view/markdown';
import { inheritedSearchAttributes } from './run-visibility';

/** Characters of the task that a page shows. */
const taskChars = 500;

/** Characters of a summary: Temporal takes 400 bytes, and a character has four at most. */
const summaryChars = 100;

/**
 * Runs a subagent to its end.
 *
 * Contract: a cancel is passed on and awaited, so that nothing of the subagent is lost; a subagent never outlives its parent run.
 */
export function runSubagent({
  request,
  runId,
}: Extract<RunCommand, { type: 'run-subagent' }>): Promise<RunOutcome> {
  const task = shownText(request.goal, taskChars).replace(/\s+/g, ' ').trim();
  return executeChild<AgentRunWorkflow>(agentRunWorkflow, {
    workflowId: runId,
    args: [{ request }],
    cancellationType: ChildWorkflowCancellationType.WAIT_CANCELLATION_COMPLETED,
    parentClosePolicy: ParentClosePolicy.REQUEST_CANCEL,
    staticSummary: `${request.agent}: ${task}`.slice(0, summaryChars),
    staticDetails: `### Subagent of ${escapeMarkdown(request.parent?.runId ?? '')}\n\n> ${escapeMarkdown(task)}`,
    ...inheritedSearchAttributes(request.agent),
  });
}
