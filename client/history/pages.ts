/** Reads the pages of a history, even if its events are too large for one page. */
import type { WorkflowClient } from '@temporalio/client';
import { isTooLarge } from '../temporal-failure';

type HistoryService = WorkflowClient['workflowService'];
type PageRequest = Omit<
  Parameters<HistoryService['getWorkflowExecutionHistory']>[0],
  'maximumPageSize'
>;
type HistoryPage = Awaited<ReturnType<HistoryService['getWorkflowExecutionHistory']>>;

/**
 * Channel arguments of a connection that reads histories: an answer may have 128 MB.
 *
 * The SDK means to set the same, but names the argument without its prefix, so gRPC's 4 MB stay; and it asks ten times, for half
 * a minute, for what is too large.
 */
export const largeAnswers = { 'grpc.max_receive_message_length': 128 * 1024 * 1024 } as const;

/** Events of a page where the server is not asked for fewer (Temporal: `frontend.historyMaxPageSize`). */
const usualPageSize = 256;

/** By how much smaller a page is asked for after one that was too large. */
const smaller = 4;

/** The pages of one history, read one after the other. */
export class HistoryPages {
  private pageSize = usualPageSize;

  constructor(private readonly client: Pick<WorkflowClient, 'workflowService'>) {}

  /**
   * The page that is asked for.
   *
   * Contract: after a page that was too large for one message all pages are smaller, down to one event, which is always below
   * that limit; so a history costs four refusals at most.
   * Errors: gRPC errors of the server, as they are.
   */
  async page(request: PageRequest): Promise<HistoryPage> {
    for (;;) {
      const maximumPageSize = this.pageSize;
      try {
        return await this.client.workflowService.getWorkflowExecutionHistory({
          ...request,
          maximumPageSize,
        });
      } catch (thrown) {
        if (!isTooLarge(thrown) || maximumPageSize === 1) throw thrown;
        this.pageSize = Math.max(1, Math.floor(maximumPageSize / smaller));
      }
    }
  }
}
