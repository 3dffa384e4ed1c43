/** Walks a run's history from its first segment on, once or live, and folds it on the way. */
import type { WorkflowClient } from '@temporalio/client';
import type { AgentRunInput } from '../../workflows/contract';
import { agentRunWorkflow } from '../../workflows/contract';
import { ClientError } from '../client-error';
import { describeWorkflow } from '../known-to-server';
import { isNotFound, readingHistory } from '../temporal-failure';
import type { HistoryFact } from './facts';
import { HistoryReader } from './facts';
import type { FoldedSegment, RunEntry } from './fold';
import { SegmentFold } from './fold';
import type { ReadOptions } from './pages';
import { historyPages } from './pages';

type SegmentBegan = Extract<HistoryFact, { type: 'segment-began' }>;

/** A piece of a run's timeline, and the state that it led to. */
export interface FoldedPiece {
  readonly entries: readonly RunEntry[];
  readonly folded: FoldedSegment;
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
  let fold = new SegmentFold(workflowId);
  for await (const facts of readFacts(client, workflowId, options)) {
    if (facts[0]?.type === 'segment-began') fold = new SegmentFold(workflowId);
    const entries = facts.flatMap((fact) => fold.take(fact));
    yield { entries: [...entries, ...fold.settle()], folded: fold.folded() };
  }
}

/** The run as far as its history shows it now: its newest segment, which began with the state of those before. Errors: as `foldRun`. */
export async function foldToEnd(
  client: WorkflowClient,
  workflowId: string,
): Promise<FoldedSegment> {
  let last = new SegmentFold(workflowId).folded();
  for await (const { folded } of foldRun(client, workflowId, { fromSegment: Infinity }))
    last = folded;
  return last;
}

/** The facts of a run's history, page by page and segment after segment. Errors: as `foldRun`. */
export async function* readFacts(
  client: WorkflowClient,
  workflowId: string,
  options: ReadOptions = {},
): AsyncGenerator<readonly HistoryFact[], void> {
  let runId: string | undefined = await firstSegment(client, workflowId, options.fromSegment);
  while (runId !== undefined && options.signal?.aborted !== true) {
    const reader = new HistoryReader(client.options, workflowId);
    let nextId: string | undefined;
    for await (const events of historyPages(client, { workflowId, runId }, options)) {
      const facts: HistoryFact[] = [];
      for (const event of events) {
        const fact = await reader.read(event);
        if (fact !== undefined) facts.push(fact);
      }
      yield facts;
      const last = facts.at(-1);
      if (last?.type !== 'segment-ended') continue;
      nextId = last.end.type === 'rolled-over' ? last.end.nextRunId : undefined;
      break;
    }
    runId = nextId;
  }
}

/** The key of the run, which stays the same over its segments. Errors: as `foldRun`. */
export async function readRunKey(client: WorkflowClient, workflowId: string): Promise<string> {
  const { runId } = await describeWorkflow(client, workflowId);
  const { firstRunId } = await beginning(client, workflowId, runId);
  return `${workflowId}/${firstRunId}`;
}

/** The oldest segment that history still has, or the one with this number, from 1. */
async function firstSegment(
  client: WorkflowClient,
  workflowId: string,
  fromSegment = 1,
): Promise<string> {
  let { runId } = await describeWorkflow(client, workflowId);
  let began = await beginning(client, workflowId, runId);
  if (began.workflowType !== agentRunWorkflow)
    throw new ClientError(
      'invalid-input',
      `Workflow "${workflowId}" is not an agent run: its type is "${began.workflowType}".`,
    );
  const numberOf = (begun: SegmentBegan): number =>
    readingHistory(workflowId, () => segmentOf(begun));
  while (began.previousRunId !== undefined && numberOf(began) > fromSegment) {
    try {
      const previous = await beginning(client, workflowId, began.previousRunId);
      runId = began.previousRunId;
      began = previous;
    } catch (thrown) {
      if (isNotFound(thrown)) break;
      throw thrown;
    }
  }
  return runId;
}

/** The number of a segment, from 1: it begins with the state of the one before. */
function segmentOf({ input }: SegmentBegan): number {
  return ((input as AgentRunInput).state?.counters.segments ?? 0) + 1;
}

async function beginning(
  client: WorkflowClient,
  workflowId: string,
  runId: string,
): Promise<SegmentBegan> {
  const { history } = await client.workflowService.getWorkflowExecutionHistory({
    namespace: client.options.namespace,
    execution: { workflowId, runId },
    maximumPageSize: 1,
  });
  const [first] = history?.events ?? [];
  const fact = first && (await new HistoryReader(client.options, workflowId).read(first));
  if (fact?.type !== 'segment-began')
    throw new Error(`The history of "${workflowId}" (${runId}) does not begin with its start.`);
  return fact;
}
