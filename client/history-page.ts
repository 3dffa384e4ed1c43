/** Reads one page of a history, also where its events are too large to come together. */
import type { WorkflowClient } from '@temporalio/client';
import { isTooLarge } from './temporal-failure';

type HistoryService = WorkflowClient['workflowService'];
type PageRequest = Parameters<HistoryService['getWorkflowExecutionHistory']>[0];
type HistoryPage = Awaited<ReturnType<HistoryService['getWorkflowExecutionHistory']>>;

/**
 * One page of a history.
 *
 * Contract: a page that is too large for one message comes as one event instead, which is always below that limit.
 * Errors: gRPC errors of the server, as they are.
 */
export async function historyPage(
  client: WorkflowClient,
  request: PageRequest,
): Promise<HistoryPage> {
  const { workflowService } = client;
  try {
    return await workflowService.getWorkflowExecutionHistory(request);
  } catch (thrown) {
    if (!isTooLarge(thrown)) throw thrown;
    return workflowService.getWorkflowExecutionHistory({ ...request, maximumPageSize: 1 });
  }
}
