/** The identity of a run over its segments. */
import { workflowInfo } from '@temporalio/workflow';

/** `<workflow id>/<first run id>`: the same in every segment, and after a reset of the workflow. */
export function runKey(): string {
  const { workflowId, firstExecutionRunId } = workflowInfo();
  return `${workflowId}/${firstExecutionRunId}`;
}
