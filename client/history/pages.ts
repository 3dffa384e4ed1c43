/** Reads a history page by page, once or live, even if its events are too large for one page. */
import type { WorkflowClient } from '@temporalio/client';
import { abortable } from '../run-access';
import { isDeadlineExceeded, isTooLarge } from '../temporal-failure';
import type { HistoryEvent } from './facts';

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
/** How long one question for new events may hang, in milliseconds: longer than the server's own 20 s. */
const longPollMs = 70_000;

/** How far to read. */
export interface ReadOptions {
  /** Follows the run until it ends. Default false: reads what exists now. */
  readonly follow?: boolean;
  /** The segment to begin with, where history has it; Infinity for the newest one. Default: the oldest one. */
  readonly fromSegment?: number;
  /** Ends a reading that waits. */
  readonly signal?: AbortSignal;
}

/**
 * The events of one segment.
 *
 * Contract: after a page that was too large for one message all pages are smaller, down to one event, which is always below
 * that limit; so a history costs four refusals at most.
 * Errors: gRPC errors of the server, as they are.
 */
export async function* historyPages(
  client: WorkflowClient,
  execution: { readonly workflowId: string; readonly runId?: string },
  { follow: waitNewEvent = false, signal = new AbortController().signal }: ReadOptions = {},
): AsyncGenerator<readonly HistoryEvent[], void> {
  const { namespace } = client.options;
  let maximumPageSize = usualPageSize;
  let nextPageToken: Uint8Array = new Uint8Array();
  while (!signal.aborted) {
    const request = { namespace, execution, waitNewEvent, maximumPageSize, nextPageToken };
    try {
      const page = await abortable(client, signal, () =>
        client.withDeadline(Date.now() + longPollMs, () =>
          client.workflowService.getWorkflowExecutionHistory(request),
        ),
      );
      yield page.history?.events ?? [];
      if (page.nextPageToken.length === 0) return;
      nextPageToken = page.nextPageToken;
    } catch (thrown) {
      if (isTooLarge(thrown) && maximumPageSize > 1)
        maximumPageSize = Math.max(1, Math.floor(maximumPageSize / smaller));
      else if (!isExpected(thrown, signal, waitNewEvent)) throw thrown;
    }
  }
}

function isExpected(thrown: unknown, { aborted }: AbortSignal, follow: boolean): boolean {
  return aborted || (follow && isDeadlineExceeded(thrown));
}
