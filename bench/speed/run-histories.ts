/** Reads what a run has left on the server. */
import type { Client } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import type { HistoryEvent } from '../history-sizes';
import { successorOf } from '../history-sizes';

/** A run, all segments of its chain. */
export interface RunHistories {
  /** One history for each segment, as protobuf. */
  readonly encoded: readonly Uint8Array[];
  readonly events: readonly HistoryEvent[];
  /** As the server counts them. */
  readonly bytes: number;
  /** From the start of the first segment to the end of the last, by the server's clock. */
  readonly wallMs: number;
}

/** Reads the chain that begins with the workflow's first execution. */
export async function readRunHistories(client: Client, workflowId: string): Promise<RunHistories> {
  const [encoded, events]: [Uint8Array[], HistoryEvent[]] = [[], []];
  let bytes = 0;
  let startedAtMs = 0;
  let closedAtMs = 0;
  const latest = await client.workflow.getHandle(workflowId).describe();
  const first = latest.raw.workflowExecutionInfo?.firstRunId ?? '';
  for (let runId: string | undefined = first; runId !== undefined;) {
    const handle = client.workflow.getHandle(workflowId, runId);
    const history = await handle.fetchHistory();
    const described = await handle.describe();
    startedAtMs ||= described.startTime.getTime();
    closedAtMs = described.closeTime?.getTime() ?? closedAtMs;
    bytes += described.historySize ?? 0;
    encoded.push(temporal.api.history.v1.History.encode(history).finish());
    events.push(...(history.events ?? []));
    runId = successorOf(history.events ?? []);
  }
  return { encoded, events, bytes, wallMs: closedAtMs - startedAtMs };
}
