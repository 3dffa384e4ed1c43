/** Starts a run: checked first, described for the Web UI, found by search attributes. */
import { randomUUID } from 'node:crypto';
import type { WorkflowClient, WorkflowStartOptions } from '@temporalio/client';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import type { SearchAttributePair } from '@temporalio/common';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import type { z } from 'zod';
import type { AgentRunInput, AgentRunWorkflow } from '../workflows/contract';
import { agentRunWorkflow, defaultTaskQueue, searchAttributes } from '../workflows/contract';
import type { RunRequest } from '../workflows/core/run/ports';
import { defined } from '../workflows/core/json';
import { shownText } from '../workflows/core/secrets/shown-text';
import { codeSpan } from '../workflows/core/view/markdown';
import type { AgentRequest, AgentType, ContextOf, StartOf } from '../workflows/core/typed-agent';
import { check, checkContext, startSchema } from './check-input';

/** What starts a run. */
export interface StartOptions<Output = unknown> extends RunRequest {
  /** Id of the workflow. Default: the agent's name and a random part. */
  readonly runId?: string;
  /** Default: the client's. */
  readonly taskQueue?: string;
  /** What to do when the id is taken: refuse (default), or return the run that has it. */
  readonly ifExists?: 'fail' | 'use';
  /** Id of a finished run whose transcript this one continues. */
  readonly continueFrom?: string;
  /** Schema of the output, for the type of `result()`. */
  readonly output?: z.ZodType<Output>;
}

/** Where a run of an agent is started, and what it begins with. */
type Placement = Pick<StartOptions, 'runId' | 'taskQueue' | 'ifExists' | 'head' | 'storeId'>;

/** What starts a run of this agent: a run that continues another one keeps its context, unless it is given one. */
export type AgentStart<Agent extends AgentType> =
  | (AgentRequest<Agent> & Placement & { readonly continueFrom?: never })
  | (StartOf<Agent> &
      Placement & {
        readonly continueFrom: string;
        readonly context?: Exclude<ContextOf<Agent>, undefined>;
      });

/**
 * The options of a start that names its agent by definition or name first.
 *
 * Errors: `invalid-input` for a context that the definition's schema refuses.
 */
export function startOptionsOf<Output>(
  agent: AgentType | string,
  given: Omit<StartOptions<Output>, 'agent' | 'output'>,
): StartOptions<Output> {
  if (typeof agent === 'string') return { ...given, agent };
  if (given.continueFrom === undefined || given.context !== undefined)
    checkContext(agent, given.context);
  // A definition's schemas are zod's.
  const output = agent.output as z.ZodType<Output> | undefined;
  return { ...given, agent: agent.name, ...defined({ output }) };
}

/** Bytes of a static summary: Temporal takes 400. */
const summaryBytes = 400;
/** Characters of the goal in the static details; the whole is the workflow's input. */
const detailGoalChars = 4_000;

const agentKey = defineSearchAttributeKey(searchAttributes.agent, SearchAttributeType.KEYWORD);
const statusKey = defineSearchAttributeKey(searchAttributes.status, SearchAttributeType.KEYWORD);

/** What a client knows of where its runs start. */
export interface StartPlace {
  readonly taskQueue?: string;
  /** Whether the namespace knows Holdfast's search attributes. Default true. */
  readonly searchAttributes?: boolean;
}

/** What a start and a schedule's action have in common. */
type StartedWorkflow = { readonly workflowType: string } & Pick<
  WorkflowStartOptions<AgentRunWorkflow>,
  'taskQueue' | 'args' | 'staticSummary' | 'staticDetails' | 'typedSearchAttributes'
>;

/** The workflow of a start, without its id: for a start and for a schedule's action. */
export function workflowOf(
  options: StartOptions,
  { taskQueue = defaultTaskQueue, searchAttributes: areKnown = true }: StartPlace,
): StartedWorkflow {
  const request = requestOf(options);
  const typedSearchAttributes: SearchAttributePair[] = [
    { key: agentKey, value: request.agent },
    { key: statusKey, value: 'running' },
  ];
  return {
    workflowType: agentRunWorkflow,
    taskQueue: options.taskQueue ?? taskQueue,
    args: [{ request } satisfies AgentRunInput],
    staticSummary: summaryOf(request),
    staticDetails: detailsOf(request),
    ...(areKnown ? { typedSearchAttributes } : {}),
  };
}

/**
 * Starts the workflow and returns its id.
 *
 * Errors: `invalid-input` before anything is sent; what Temporal says otherwise.
 */
export async function startRun(
  client: WorkflowClient,
  options: StartOptions,
  place: StartPlace,
): Promise<string> {
  checkStart(options);
  const { workflowType, ...workflow } = workflowOf(options, place);
  const runId = options.runId ?? `${options.agent}-${randomUUID()}`;
  try {
    await client.start(workflowType, {
      workflowId: runId,
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      ...workflow,
    });
  } catch (thrown) {
    const taken = thrown instanceof WorkflowExecutionAlreadyStartedError;
    if (!taken || options.ifExists !== 'use') throw thrown;
  }
  return runId;
}

/** Checks what starts a run. Errors: `invalid-input` with every problem. */
export function checkStart(options: StartOptions): void {
  const { output: _schema, ...given } = options;
  check(startSchema, given, 'Nothing was started.');
}

function requestOf(options: StartOptions): RunRequest {
  const { agent, goal, workspace, limits, budget, head, message, storeId, tenant } = options;
  const { pendingResults, runtimeResults, origins, repeatEffects, context, contextOf } = options;
  const { actingAgent } = options;
  const earlier = { head, message, pendingResults, runtimeResults, origins, repeatEffects };
  const data = context === undefined ? { contextOf } : { context };
  const given = { workspace, limits, budget, ...earlier, storeId, tenant, actingAgent, ...data };
  return { agent, goal, ...defined(given) };
}

/** One line for lists of workflows. The Web UI reads it as Markdown, so nothing in it may be a link or a tag. */
export function summaryOf({ agent, goal }: RunRequest): string {
  const shown = shownText(goal.trim(), detailGoalChars);
  const line = `${agent}: ${shown.replace(/\s+/g, ' ').replace(/[<[\]]/g, '\\$&')}`;
  const bytes = Buffer.from(line, 'utf8');
  if (bytes.length <= summaryBytes) return line;
  const cut = bytes.subarray(0, summaryBytes - 3).toString('utf8');
  return `${cut.replace(/(?<!\uFFFD)\uFFFD+$/, '')}…`;
}

/** Markdown for the workflow's page; the goal is in a code block, so that nothing in it is interpreted as markup. */
export function detailsOf({ agent, goal, workspace, head }: RunRequest): string {
  const shown = shownText(goal, detailGoalChars);
  const rows = [
    `- **Agent:** ${codeSpan(agent)}`,
    ...(workspace === undefined ? [] : [`- **Workspace:** ${codeSpan(workspace)}`]),
    ...(head === undefined ? [] : [`- **Continues transcript:** ${codeSpan(head)}`]),
  ];
  const goalLines = shown.split(/\r\n|[\r\n]/).map((line) => `> ${codeSpan(line)}`);
  const more = goal.length > detailGoalChars ? ['', `(${goal.length} characters in all)`] : [];
  return ['### Goal', '', ...goalLines, ...more, '', ...rows].join('\n');
}
