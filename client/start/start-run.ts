/** Starts a run: checked first, described for the Web UI, found by search attributes. */
import { randomUUID } from 'node:crypto';
import { inspect } from 'node:util';
import type { WorkflowClient, WorkflowStartOptions } from '@temporalio/client';
import { WorkflowExecutionAlreadyStartedError } from '@temporalio/client';
import type { SearchAttributePair } from '@temporalio/common';
import { defineSearchAttributeKey, SearchAttributeType } from '@temporalio/common';
import type { z } from 'zod';
import type { AgentRunInput, AgentRunWorkflow } from '../../workflows/contract';
import { agentRunWorkflow, defaultTaskQueue, searchAttributes } from '../../workflows/contract';
import type { Content, MediaStore } from '../../workflows/core/attachments';
import type { RunRequest } from '../../workflows/core/run/ports';
import { defined } from '../../workflows/core/json';
import { defaultTenant } from '../../workflows/core/limits';
import { shownText } from '../../workflows/core/secrets/shown-text';
import { shortened } from '../../workflows/core/shortened';
import { codeSpan } from '../../workflows/core/view/markdown';
import { memoOf } from '../../workflows/core/view/memo';
import type { AgentType, ContextOf, GivenContext, StartOf } from '../../workflows/core/typed-agent';
import { ClientError } from '../client-error';
import { check, checkContext, startSchema } from '../check-input';
import { problemOfContent, storedContent } from './content';
import type { StartIdentity } from './same-start';
import { checkSameStart, identityOf } from './same-start';

/** What starts a run. */
export interface StartOptions<Output = unknown> extends Omit<
  RunRequest,
  'goal' | 'message' | 'attachments'
> {
  /** Images and files in it are stored, and named in the run. */
  readonly goal: Content;
  /** With `head`: the message that continues the transcript, instead of the goal; empty: nothing new. */
  readonly message?: Content;
  /** Id of the workflow. Default: the agent's name and a random part. */
  readonly runId?: string;
  /** Default: the client's. */
  readonly taskQueue?: string;
  /** What to do when the id is taken: refuse (default), or return the run that has it. */
  readonly ifExists?: 'fail' | 'use';
  /**
   * The caller's own name for this start, instead of a `runId`: however often the same start is sent with the same key and tenant,
   * there is one run, which all of them return.
   */
  readonly idempotencyKey?: string;
  /** Id of a finished run whose transcript this one continues. */
  readonly continueFrom?: string;
  /** Schema of the output, for the type of `result()`. */
  readonly output?: z.ZodType<Output>;
}

type Said = Pick<StartOptions, 'goal' | 'message'>;

/** What a client starts a run of this agent with. */
type ClientRequest<Agent extends AgentType> = Omit<StartOf<Agent>, keyof Said | 'attachments'> &
  Said &
  GivenContext<ContextOf<Agent>>;

/** Where it goes. */
type Placement = Pick<
  StartOptions,
  'runId' | 'idempotencyKey' | 'taskQueue' | 'ifExists' | 'head' | 'storeId'
>;

/** What starts a run of this agent: a run that continues another one keeps its context, unless it is given one. */
export type AgentStart<Agent extends AgentType> =
  | (ClientRequest<Agent> & Placement & { readonly continueFrom?: never })
  | (Omit<StartOf<Agent>, keyof Said | 'attachments'> &
      Said &
      Placement & {
        readonly continueFrom: string;
        readonly context?: Exclude<ContextOf<Agent>, undefined>;
      });

function shownBriefly(value: unknown): string {
  return shortened(inspect(value, { depth: 0 }), 60);
}

/** Whether a start names its agent among its options. */
export function namesAgent<Output>(
  first: AgentType | string | StartOptions<Output>,
): first is StartOptions<Output> {
  return typeof first === 'object' && (first as object | null) !== null && 'agent' in first;
}

/**
 * The options of a start that names its agent by definition or name first.
 *
 * Errors: `invalid-input` for what is no agent or no object of options, and for a context that the definition's schema refuses.
 */
export function startOptionsOf<Output>(
  agent: AgentType | string,
  given: Omit<StartOptions<Output>, 'agent' | 'output'> | undefined,
): StartOptions<Output> {
  const isName = typeof agent === 'string';
  if (!isName && typeof (agent as AgentType | null | undefined)?.name !== 'string')
    throw new ClientError(
      'invalid-input',
      `The agent is ${shownBriefly(agent)}; give what defineAgent returned, or its name. Nothing was started.`,
    );
  if (typeof given !== 'object' || (given as object | null) === null)
    throw new ClientError(
      'invalid-input',
      `The options of the start are ${shownBriefly(given)}; give an object such as { goal: 'Greet Ada.' }. Nothing was started.`,
    );
  if (isName) return { ...given, agent };
  if (given.continueFrom === undefined || given.context !== undefined)
    checkContext(agent, given.context);
  // A definition's schemas are zod's.
  const output = agent.output as z.ZodType<Output> | undefined;
  return { ...given, agent: agent.name, ...defined({ output }) };
}

/** A start whose images and files are stored. */
export interface StoredStart
  extends Omit<StartOptions, keyof Said>, Pick<RunRequest, 'goal' | 'message' | 'attachments'> {
  /** Of a start with an `idempotencyKey`. */
  readonly identity?: StartIdentity;
}

/** Errors: `invalid-input` if what was stored in one store is for a run that lives in another one. */
export function checkSameStore(stored: string, ofRun: string | undefined): void {
  if (ofRun === undefined || stored === ofRun) return;
  throw new ClientError(
    'invalid-input',
    `The run lives in store ${ofRun}, and this client put its images and files into store ${stored}. Connect with the run's store. Nothing was started.`,
  );
}

/**
 * The start with its images and files stored; it then needs the same store. `of` is what else decides what a start with an
 * `idempotencyKey` asks for.
 *
 * Errors: as `storedContent`.
 */
export async function storedStart(
  store: MediaStore | undefined,
  options: Partial<StartOptions>,
  of: object = {},
): Promise<Partial<StoredStart>> {
  const unsent = 'Nothing was started.';
  const { goal, message, ...rest } = options;
  const keep = async (what: string, content: Content | undefined) => {
    const problem = content && problemOfContent(what, content);
    if (problem) throw new ClientError('invalid-input', `${problem}. ${unsent}`);
    return content === undefined ? undefined : storedContent(store, content, unsent);
  };
  const first = await keep('The goal', goal);
  const second = await keep('The message', message);
  // What is said is the message, where there is one.
  const { attachments } = second ?? first ?? {};
  const storeId = attachments === undefined ? undefined : store?.id;
  if (storeId !== undefined) checkSameStore(storeId, options.storeId);
  const said = defined({ goal: first?.text, message: second?.text, attachments, storeId });
  const { idempotencyKey: key, ...asked } = rest;
  if (key === undefined) return { ...rest, ...said };
  return { ...rest, ...said, identity: identityOf(key, rest.tenant, { ...asked, ...said, of }) };
}

/** Bytes of a static summary: Temporal takes 400. */
const summaryBytes = 400;
/** Characters of the goal in the static details; the whole is the workflow's input. */
const detailGoalChars = 4_000;

const agentKey = defineSearchAttributeKey(searchAttributes.agent, SearchAttributeType.KEYWORD);
const statusKey = defineSearchAttributeKey(searchAttributes.status, SearchAttributeType.KEYWORD);
const tenantKey = defineSearchAttributeKey(searchAttributes.tenant, SearchAttributeType.KEYWORD);

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
  options: StoredStart,
  { taskQueue = defaultTaskQueue, searchAttributes: areKnown = true }: StartPlace,
): StartedWorkflow {
  const request = requestOf(options);
  const typedSearchAttributes: SearchAttributePair[] = [
    { key: agentKey, value: request.agent },
    { key: statusKey, value: 'running' },
    { key: tenantKey, value: request.tenant ?? defaultTenant },
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
 * Errors: `invalid-input` before anything is sent; `key-reused`; what Temporal says otherwise.
 */
export async function startRun(
  client: WorkflowClient,
  options: StoredStart,
  place: StartPlace,
): Promise<string> {
  const { attachments: _stored, identity, ...plain } = options;
  checkStart(plain);
  const { workflowType, ...workflow } = workflowOf(options, place);
  const runId = identity?.runId ?? options.runId ?? `${options.agent}-${randomUUID()}`;
  try {
    await client.start(workflowType, {
      workflowId: runId,
      workflowIdReusePolicy: 'REJECT_DUPLICATE',
      memo: { ...memoOf(runId, options.agent), ...identity?.memo },
      ...workflow,
    });
  } catch (thrown) {
    const taken = thrown instanceof WorkflowExecutionAlreadyStartedError;
    if (taken && identity !== undefined)
      await checkSameStart(client, options.idempotencyKey ?? '', identity);
    else if (!taken || options.ifExists !== 'use') throw thrown;
  }
  return runId;
}

/** Checks what starts a run. Errors: `invalid-input` with every problem. */
export function checkStart(options: StartOptions): void {
  check(startSchema, options, 'Nothing was started.');
}

function requestOf(options: StoredStart): RunRequest {
  const { agent, goal, workspace, limits, budget, head, message, storeId, tenant } = options;
  const { attachments, pendingResults, runtimeResults, origins, repeatEffects } = options;
  const { context, contextOf, actingAgent } = options;
  const earlier = { head, message, pendingResults, runtimeResults, origins, repeatEffects };
  const data = context === undefined ? { contextOf } : { context };
  const given = { attachments, workspace, limits, budget, ...earlier, storeId, tenant };
  return { agent, goal, ...defined({ ...given, actingAgent, ...data }) };
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
