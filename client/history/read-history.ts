/** Walks a run's history from its first segment on, once or live, and folds it on the way. */
import type { WorkflowClient } from '@temporalio/client';
import { agentRunWorkflow } from '../../workflows/contract';
import { defined } from '../../workflows/core/json';
import type { TimelineEntry } from '../../workflows/core/run/protocol';
import { ClientError } from '../client-error';
import type { HistoryEvent, HistoryFact, HistorySource } from './facts';
import { HistoryPages } from './pages';
import { createHistoryReader } from './facts';
import type { FoldedSegment } from './fold';
import { SegmentFold } from './fold';
import { isDeadlineExceeded, isNotFound } from '../temporal-failure';

/** How long one question for new events may hang, in milliseconds: longer than the server's own 20 s. */
const longPollMs = 70_000;

/** A piece of a run's timeline, and the state that it led to. */
export interface FoldedPiece {
  /** Temporal run id of the segment. */
  readonly segmentId: string;
  readonly entries: readonly TimelineEntry[];
  readonly folded: FoldedSegment;
}

/** Which run to read, and how far. */
export interface ReadOptions {
  /** Follows the run until it ends. Default false: reads what exists now. */
  readonly follow?: boolean;
  /** Ends a reading that waits. */
  readonly signal?: AbortSignal;
}

/**
 * Reads and folds the history of the run with this workflow id, segment after segment.
 *
 * Contract: yields at least one piece per segment; the last piece has the state of the run as far as history shows it. A
 * segment whose history is past its retention is skipped: the next one carries the state on.
 * Errors: `ClientError` for a workflow that is not an agent run; what the server says otherwise.
 */
export async function* foldRun(
  client: WorkflowClient,
  workflowId: string,
  options: ReadOptions = {},
): AsyncGenerator<FoldedPiece, void> {
  let segmentId: string | undefined = await firstSegment(client, workflowId);
  while (segmentId !== undefined && options.signal?.aborted !== true) {
    segmentId = yield* foldSegment(client, workflowId, segmentId, options);
  }
}

/** The facts of a run's history, segment after segment, as far as they are there now. */
export async function* readFacts(
  client: WorkflowClient,
  workflowId: string,
): AsyncGenerator<HistoryFact, void> {
  let segmentId: string | undefined = await firstSegment(client, workflowId);
  while (segmentId !== undefined) {
    const reader = createHistoryReader(sourceOf(client, workflowId));
    let nextId: string | undefined;
    for await (const events of pages(client, { workflowId, runId: segmentId }, {}))
      for (const event of events) {
        const fact = await reader.read(event);
        if (fact === undefined) continue;
        if (fact.type === 'segment-ended' && fact.end.type === 'rolled-over')
          nextId = fact.end.nextRunId;
        yield fact;
      }
    segmentId = nextId;
  }
}

/** The oldest segment that history still has. */
async function firstSegment(client: WorkflowClient, workflowId: string): Promise<string> {
  const { runId: currentId } = await client.getHandle(workflowId).describe();
  let oldest = currentId;
  for (;;) {
    const began = await beginning(client, workflowId, oldest);
    if (began.workflowType !== agentRunWorkflow)
      throw new ClientError(
        'invalid-input',
        `Workflow "${workflowId}" is not an agent run: its type is "${began.workflowType}".`,
      );
    if (began.previousRunId === undefined) return oldest;
    try {
      await beginning(client, workflowId, began.previousRunId);
    } catch (thrown) {
      if (isNotFound(thrown)) return oldest;
      throw thrown;
    }
    oldest = began.previousRunId;
  }
}

async function beginning(
  client: WorkflowClient,
  workflowId: string,
  runId: string,
): Promise<Extract<HistoryFact, { type: 'segment-began' }>> {
  const { history } = await client.workflowService.getWorkflowExecutionHistory({
    namespace: client.options.namespace,
    execution: { workflowId, runId },
    maximumPageSize: 1,
  });
  const [first] = history?.events ?? [];
  const fact = first && (await createHistoryReader(sourceOf(client, workflowId)).read(first));
  if (fact?.type !== 'segment-began')
    throw new Error(`The history of "${workflowId}" (${runId}) does not begin with its start.`);
  return fact;
}

function sourceOf(client: WorkflowClient, workflowId: string): HistorySource {
  const { loadedDataConverter, namespace } = client.options;
  return { converter: loadedDataConverter, namespace, workflowId };
}

async function* foldSegment(
  client: WorkflowClient,
  workflowId: string,
  segmentId: string,
  options: ReadOptions,
): AsyncGenerator<FoldedPiece, string | undefined> {
  const fold = new SegmentFold(workflowId);
  const reader = createHistoryReader(sourceOf(client, workflowId));
  for await (const events of pages(client, { workflowId, runId: segmentId }, options)) {
    const entries: TimelineEntry[] = [];
    for (const event of events) {
      const fact = await reader.read(event);
      if (fact !== undefined) entries.push(...fold.take(fact));
    }
    entries.push(...fold.settle());
    const folded = fold.folded();
    yield { segmentId, entries, folded };
    if (folded.end !== undefined)
      return folded.end.type === 'rolled-over' ? folded.end.nextRunId : undefined;
  }
  return undefined;
}

async function* pages(
  client: WorkflowClient,
  execution: { workflowId: string; runId: string },
  { follow = false, signal }: ReadOptions,
): AsyncGenerator<readonly HistoryEvent[], void> {
  const history = new HistoryPages(client);
  let nextPageToken: Uint8Array | undefined;
  while (signal?.aborted !== true) {
    const ask = (): Promise<{ events: readonly HistoryEvent[]; token: Uint8Array }> =>
      client.withDeadline(Date.now() + longPollMs, async () => {
        const { history: part, nextPageToken: token } = await history.page({
          namespace: client.options.namespace,
          execution,
          waitNewEvent: follow,
          ...defined({ nextPageToken }),
        });
        return { events: part?.events ?? [], token };
      });
    const page = await answered(
      // Its own signal each time, since the SDK leaves its listeners behind.
      signal === undefined ? ask() : client.withAbortSignal(AbortSignal.any([signal]), ask),
      signal,
    );
    if (page === 'aborted') return;
    if (page === 'nothing-new') continue;
    if (page.events.length > 0) yield page.events;
    if (page.token.length === 0) return;
    nextPageToken = page.token;
  }
}

async function answered<Page>(
  asked: Promise<Page>,
  signal: AbortSignal | undefined,
): Promise<Page | 'aborted' | 'nothing-new'> {
  try {
    return await asked;
  } catch (thrown) {
    if (signal?.aborted === true) return 'aborted';
    if (isDeadlineExceeded(thrown)) return 'nothing-new';
    throw thrown;
  }
}
