/** What an incident is: something that goes wrong for real, and what an operator must read about it. */
import type { AgentDefinition } from '../../../activities/definitions/agent';
import type { AgentClient } from '../../../client/agent-client';
import type { RunHandle } from '../../../client/run-handle';
import type { ScriptRule } from '../../../testing/emulator/script-queue';
import { defineTool } from '../../../activities/tools/define-tool';
import type { Tool } from '../../../activities/tools/tool';
import type { WorkflowHandle } from '@temporalio/client';
import { reply } from '../../../testing/emulator/script';
import { z } from 'zod';

/** Task queue of the worker that serves most incidents. */
export const sharedQueue = 'why';

/** Goal of every run. */
export const incidentGoal = 'Look up the order.';

/** A worker process. */
interface IncidentWorker {
  /** SIGKILL; resolves when it is gone. */
  kill(): Promise<void>;
}

/** A deploy whose workflow code does not replay older runs, or whose agents lack their tools. */
export type IncidentCode = 'changed' | 'lacking';

/** Where incidents happen. */
export interface IncidentWorld {
  readonly client: AgentClient;
  /** Temporal's own handle, for what only an operator does. */
  readonly temporal: (runId: string) => WorkflowHandle;
  readonly startWorker: (taskQueue: string, code?: IncidentCode) => Promise<IncidentWorker>;
  /** Nobody else can use the store of these workers until the returned function is called. */
  readonly lockStore: (taskQueue: string) => Promise<() => void>;
  /** Ends the MCP server whose tools workers have. */
  readonly stopMcpServer: () => Promise<void>;
  /** Resolves once what is asked has this answer. */
  readonly eventually: <Value>(
    ask: () => Promise<Value>,
    isMet: (value: Value) => boolean,
  ) => Promise<Value>;
}

/** An incident. Its id names its run, its agent, and where the emulated vendor is mounted. */
export interface Incident {
  readonly id: string;
  /** What differs from an agent with the tool `look_up` and one route. */
  readonly agent?: Partial<AgentDefinition>;
  /** Further agents. */
  readonly others?: readonly AgentDefinition[];
  /** What the vendor does. Default: never asked. */
  readonly model?: ScriptRule;
  /** Default: the shared one. */
  readonly taskQueue?: string;
  /** Its agent has the tools of an MCP server, too. */
  readonly usesMcp?: true;
  /** Produces it; the run has been started. Default: waits for the run's end. Returns what ends it for good. */
  readonly happen?: (
    world: IncidentWorld,
    run: RunHandle,
  ) => Promise<(() => void | Promise<void>) | undefined>;
  /** Before the run starts. */
  readonly prepare?: (world: IncidentWorld) => Promise<void>;
  readonly expected: IncidentExpectation;
}

/** Incidents by their id. */
export type IncidentsById = Readonly<Record<string, Omit<Incident, 'id'>>>;

/** What `holdfast why` must say. */
interface IncidentExpectation {
  /** The code of the cause. */
  readonly cause: string;
  /** Words of the paragraph, each of which must be there. */
  readonly says: readonly string[];
  /** Words of one next step; `RUN` is the run's id. */
  readonly next: string;
}

/** A route of this incident alone, since runs share the health of routes. */
export function routeOf(id: string): AgentDefinition['chain'][0] {
  return { provider: id, model: 'claude-sonnet-5' };
}

/** Calls the tool `look_up`. */
export function lookUp(query: unknown): ReturnType<typeof reply.toolCalls> {
  return reply.toolCalls([{ name: 'look_up', input: { query: query as string } }]);
}

/** The tool of most agents. */
export const lookUpTool: Tool = defineTool({
  name: 'look_up',
  description: 'Looks up an order.',
  input: z.object({ query: z.string() }),
  effect: 'read',
  execute: ({ query }) => {
    if (query.includes('broken')) throw new Error('the order service answers 503');
    return query.includes('long') ? `${query} `.repeat(2_000) : `order ${query} is on its way`;
  },
});

/** Resolves when the run waits, for a person or by a timer. */
export async function waits({ eventually }: IncidentWorld, run: RunHandle): Promise<undefined> {
  await eventually(
    () => run.status(),
    ({ status }) => status === 'waiting',
  );
  return undefined;
}
