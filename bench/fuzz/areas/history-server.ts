/** A Temporal server that has one history, or none, as far as a client can tell. */
import type { ConnectionLike } from '@temporalio/client';
import { temporal } from '@temporalio/proto';
import { agentRunWorkflow } from '../../../workflows/contract';

/** Events as a client receives them. */
export type HistoryEvents = temporal.api.history.v1.IHistoryEvent[];

const { DescribeWorkflowExecutionResponse } = temporal.api.workflowservice.v1;

/** The run that the server has. */
export const runId = 'fuzzed';

/** The one segment that the server has. */
const firstSegment = 'segment';

interface Asked {
  readonly execution?: { readonly runId?: string };
}

/** gRPC's code of what is not there. */
const notFound = 5;

/** The same of a server that does not answer. */
export const unavailable = 14;

function grpcError(code: number): Error {
  const details = 'The server says no.';
  return Object.assign(new Error(details), { code, details, metadata: { get: () => [] } });
}

/** Numbers of Temporal's states of a workflow. */
const [running, completed] = [1, 2];

/** A server that has this one history, and answers everything else with this error. */
export function serverWith(events: HistoryEvents, code = notFound): ConnectionLike {
  const began = events[0]?.workflowExecutionStartedEventAttributes;
  const isOver = events.at(-1)?.workflowExecutionStartedEventAttributes === undefined;
  const answers: Readonly<Record<string, object>> = {
    describeWorkflowExecution: DescribeWorkflowExecutionResponse.fromObject({
      workflowExecutionInfo: {
        execution: { workflowId: runId, runId: firstSegment },
        type: { name: agentRunWorkflow },
        status: isOver ? completed : running,
        startTime: { seconds: 1_700_000_000, nanos: 0 },
        executionTime: { seconds: 1_700_000_000, nanos: 0 },
        historyLength: events.length,
        memo: {},
        searchAttributes: {},
      },
      executionConfig: { taskQueue: { name: 'fuzz' } },
      pendingActivities: [],
    }),
    getWorkflowExecutionHistory: { history: { events }, nextPageToken: new Uint8Array() },
    getWorkflowExecutionHistoryReverse: {
      history: { events: [...events].reverse() },
      nextPageToken: new Uint8Array(),
    },
    describeTaskQueue: { pollers: [] },
  };
  const workflowService = new Proxy(
    {},
    {
      get: (_target, name) => (request: Asked) => {
        const { runId: segment = firstSegment } = request.execution ?? {};
        return began === undefined || segment !== firstSegment || typeof name !== 'string'
          ? Promise.reject(grpcError(code))
          : Promise.resolve(answers[name] ?? {});
      },
    },
  );
  const same = <Result>(_limit: unknown, work: () => Promise<Result>): Promise<Result> => work();
  return {
    workflowService,
    ensureConnected: () => Promise.resolve(),
    close: () => Promise.resolve(),
    withDeadline: same,
    withMetadata: same,
    withAbortSignal: same,
  } as unknown as ConnectionLike;
}
