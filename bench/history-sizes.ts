/** How much history a run writes, by iteration: read off the histories of its chain. */
import type { Client } from '@temporalio/client';
import { temporal } from '@temporalio/proto';

/** One event of a Temporal history. */
export type HistoryEvent = temporal.api.history.v1.IHistoryEvent;

const firstWindowEnd = 10;
const windowSize = 90;

/** What one iteration wrote. */
export interface IterationSize {
  bytes: number;
  events: number;
}

/** Adds each event to the iteration that was open when it was written. */
function measureIterations(
  events: readonly HistoryEvent[],
  sizes: Map<number, IterationSize>,
): void {
  let iteration = 0;
  for (const event of events) {
    const id = event.activityTaskScheduledEventAttributes?.activityId ?? '';
    const begun = /^m(\d+)$/.exec(id);
    if (begun !== null) iteration = Number(begun[1]);
    const size = sizes.get(iteration) ?? { bytes: 0, events: 0 };
    size.bytes += temporal.api.history.v1.HistoryEvent.encode(event).finish().length;
    size.events += 1;
    sizes.set(iteration, size);
  }
}

/** The run that a history was continued in. */
export function successorOf(events: readonly HistoryEvent[]): string | undefined {
  const ended = events.at(-1)?.workflowExecutionContinuedAsNewEventAttributes;
  return ended?.newExecutionRunId ?? undefined;
}

/** What the histories of a chain tell. */
export interface ChainHistory {
  /** Every event, in order. */
  readonly events: readonly HistoryEvent[];
  readonly sizes: Map<number, IterationSize>;
  readonly runs: number;
  readonly largestRunBytes: number;
}

/** Reads all segments of a run. */
export async function readChain(
  client: Client,
  workflowId: string,
  firstRunId: string,
): Promise<ChainHistory> {
  const sizes = new Map<number, IterationSize>();
  const all: HistoryEvent[] = [];
  let runs = 0;
  let largestRunBytes = 0;
  let runId: string | undefined = firstRunId;
  for (; runId !== undefined; runs += 1) {
    const handle = client.workflow.getHandle(workflowId, runId);
    const { events } = await handle.fetchHistory();
    const described = await handle.describe();
    largestRunBytes = Math.max(largestRunBytes, described.historySize ?? 0);
    measureIterations(events ?? [], sizes);
    all.push(...(events ?? []));
    runId = successorOf(events ?? []);
  }
  return { events: all, sizes, runs, largestRunBytes };
}

/** History by windows of iterations; the first one holds the start. */
export interface HistoryWindows {
  /** Last iteration of each window. */
  readonly n: number[];
  readonly bytesPerIteration: number[];
  readonly eventsPerIteration: number[];
}

/** Adds the sizes up by windows. */
export function windowsOf(sizes: Map<number, IterationSize>, iterations: number): HistoryWindows {
  const windows: HistoryWindows = { n: [], bytesPerIteration: [], eventsPerIteration: [] };
  let from = 1;
  for (let to = firstWindowEnd; to <= iterations; from = to + 1, to += windowSize) {
    let bytes = 0;
    let events = 0;
    for (let iteration = from; iteration <= to; iteration += 1) {
      bytes += sizes.get(iteration)?.bytes ?? 0;
      events += sizes.get(iteration)?.events ?? 0;
    }
    windows.n.push(to);
    windows.bytesPerIteration.push(Math.round(bytes / (to - from + 1)));
    windows.eventsPerIteration.push(Math.round((events / (to - from + 1)) * 100) / 100);
  }
  return windows;
}
