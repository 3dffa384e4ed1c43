/** Histories as a server might give them, changed in any part: a reader says that it cannot read them, or reads on. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { Client } from '@temporalio/client';
import type { ConnectionLike } from '@temporalio/client';
import { WorkflowNotFoundError } from '@temporalio/common';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils';
import { temporal } from '@temporalio/proto';
import { AgentClient, ClientError } from '../../../client/index';
import { agentRunWorkflow } from '../../../workflows/contract';
import type { FuzzArea, OpenFuzzArea } from '../fuzz-area';
import { crashOf, hanging, settled } from '../fuzz-area';
import { changeJson, drawMutations, mutated } from '../mutations';
import { changePayload } from './payload-mutations';

/** The project's root: npm runs the fuzzer there. */
const folder = path.join(process.cwd(), 'test', 'replay', 'histories');

const { DescribeWorkflowExecutionResponse } = temporal.api.workflowservice.v1;

const runId = 'fuzzed';

type HistoryEvents = temporal.api.history.v1.IHistoryEvent[];

/** As a client receives it; undefined for JSON that is no history of the server's. */
function decoded(bytes: Buffer): HistoryEvents | undefined {
  const { History } = temporal.api.history.v1;
  try {
    const { events } = historyFromJSON(JSON.parse(bytes.toString()));
    return History.decode(History.encode({ events: events ?? [] }).finish()).events;
  } catch {
    return undefined;
  }
}

/** The one segment that the server has. */
const firstSegment = 'segment';

interface Asked {
  readonly execution?: { readonly runId?: string };
}

/** Numbers of Temporal's states of a workflow. */
const [running, completed] = [1, 2];

/** A server that has this one history, and nothing else. */
function serverWith(events: HistoryEvents): ConnectionLike {
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
          ? Promise.reject(new WorkflowNotFoundError('There is no such run.', runId, segment))
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

/** Reads it through the client, as `holdfast show`, `status` and `why` do. */
async function read(events: HistoryEvents): Promise<void> {
  const client = new AgentClient(new Client({ connection: serverWith(events) }), {
    taskQueue: 'fuzz',
  });
  const run = client.run(runId);
  const problems: unknown[] = [];
  const readers: readonly (() => Promise<unknown>)[] = [
    async () => {
      const ids: string[] = [];
      for await (const { id } of run.events()) ids.push(id);
    },
    () => run.status(),
    () => run.why(),
  ];
  for (const reader of readers)
    await reader().catch((thrown: unknown) => {
      if (!(thrown instanceof ClientError)) problems.push(thrown);
    });
  if (problems.length > 0) throw problems[0];
}

function open(): Promise<OpenFuzzArea> {
  const bases = readdirSync(folder)
    .filter((name) => name.endsWith('.json'))
    .sort()
    .map((name) => readFileSync(path.join(folder, name)));
  return Promise.resolve({
    draw: (random) => ({
      base: Math.floor(random() * bases.length),
      mutations: drawMutations([changeJson, changePayload, changePayload], random),
    }),
    attempt: async ({ base, mutations }) => {
      const events = decoded(mutated(bases[base] ?? Buffer.alloc(0), mutations));
      if (events === undefined) return undefined;
      const ended = await settled(read(events));
      if (ended === 'hang') return hanging;
      return 'thrown' in ended ? crashOf(ended.thrown) : undefined;
    },
    close: () => Promise.resolve(),
  });
}

/** The area. */
export const historiesArea: FuzzArea = {
  name: 'histories',
  about: "runs' histories, folded and explained by the client",
  open,
};
