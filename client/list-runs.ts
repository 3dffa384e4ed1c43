/** Finds runs by Temporal's visibility. */
import type { WorkflowClient, WorkflowExecutionInfo } from '@temporalio/client';
import { z } from 'zod';
import { agentRunWorkflow, searchAttributes } from '../workflows/contract';
import { defined } from '../workflows/core/json';
import type { RunStatusWord } from '../workflows/core/view/status';
import { check, optionsOf } from './check-input';
import { ClientError } from './client-error';
import { describeWorkflow, workflowPage, workflowsOf } from './known-to-server';

/** One run in a list, as visibility knows it: seconds late at worst. */
export interface RunSummary {
  readonly runId: string;
  readonly status: RunStatusWord;
  readonly agent: string;
  readonly route?: string;
  readonly reason?: string;
  readonly iteration?: number;
  /** Whose run it is; absent if the run was started without Holdfast's search attributes. */
  readonly tenant?: string;
  /** US dollars of the calls whose price is known, at the last change of status, route, or reason; absent before the first. */
  readonly usd?: number;
  /** Of a run that has rolled over: when its newest segment started. */
  readonly startedAtMs: number;
  readonly closedAtMs?: number;
}

/** Which runs; 50 where nothing is said. */
export type ListOptions = Partial<Pick<RunSummary, 'status' | 'agent' | 'tenant'>> & {
  readonly scheduleId?: string;
  readonly limit?: number;
};

const statusWords: readonly RunStatusWord[] = [
  ...(['running', 'waiting', 'completed', 'stopped', 'failed', 'cancelled'] as const),
];

const listSchema = optionsOf('list', {
  status: z
    .enum(statusWords, { error: `\`status\` must be one of ${statusWords.join(', ')}` })
    .optional(),
  agent: z.string({ error: '`agent` must be the name of an agent' }).optional(),
  tenant: z.string({ error: '`tenant` must be the name of a tenant' }).optional(),
  scheduleId: z.string({ error: '`scheduleId` must be a string' }).optional(),
  limit: z
    .int({ error: '`limit` must be a whole number' })
    .min(1, { error: '`limit` must be at least 1' })
    .optional(),
});

/** Runs of a list where the caller names no limit. */
const defaultListLimit = 50;

/** A value as visibility's query language takes it. */
function quoted(value: string): string {
  return `'${value.replace(/[\\']/g, '\\$&')}'`;
}

/** The visibility query for these runs; each run of many segments is listed once. */
export function listQuery({ status, agent, tenant, scheduleId }: ListOptions): string {
  const conditions = [
    `WorkflowType = ${quoted(agentRunWorkflow)}`,
    `ExecutionStatus != 'ContinuedAsNew'`,
  ];
  if (status !== undefined) conditions.push(statusCondition(status));
  if (agent !== undefined) conditions.push(`${searchAttributes.agent} = ${quoted(agent)}`);
  if (tenant !== undefined) conditions.push(`${searchAttributes.tenant} = ${quoted(tenant)}`);
  // Temporal's own attribute.
  if (scheduleId !== undefined) conditions.push(`TemporalScheduledById = ${quoted(scheduleId)}`);
  return conditions.join(' AND ');
}

/** A run that was ended from outside keeps its last attribute, so Temporal's own status decides first. */
function statusCondition(status: RunStatusWord): string {
  const attribute = `${searchAttributes.status} = ${quoted(status)}`;
  switch (status) {
    case 'running':
    case 'waiting':
      return `${attribute} AND ExecutionStatus = 'Running'`;
    case 'completed':
    case 'stopped':
      return attribute;
    case 'failed':
      return `ExecutionStatus IN ('Failed', 'TimedOut')`;
    case 'cancelled':
      return `ExecutionStatus IN ('Canceled', 'Terminated')`;
  }
}

/** Runs in progress, newest first, then those that ended last: the only order that Temporal's visibility offers. */
export async function listRuns(
  client: WorkflowClient,
  options: ListOptions,
): Promise<readonly RunSummary[]> {
  check(listSchema, options);
  const limit = options.limit ?? defaultListLimit;
  const runs: RunSummary[] = [];
  const found = workflowsOf(client, listQuery(options), Math.min(limit, 1_000));
  for await (const info of found) {
    runs.push(summaryOf(info));
    if (runs.length >= limit) break;
  }
  return runs;
}

/** One page of such a list. */
export interface RunPage {
  readonly runs: readonly RunSummary[];
  /** Where the next page begins; absent after the last one. */
  readonly next?: string;
}

/** Longest cursor that the server gives, in characters, and more. */
const cursorChars = 2_000;

const cursorSchema = z
  .string({ error: 'The cursor must be a string' })
  .max(cursorChars, { error: `The cursor has more than ${cursorChars} characters` })
  .regex(/^[\w-]+$/, { error: 'The cursor is none that a page gave; take its `next`' })
  .optional();

/**
 * A page of a list, in the order of `listRuns`, from a cursor on.
 *
 * Contract: the cursor says only where the page begins, never which runs it may hold.
 * Errors: `invalid-input` for a cursor that is none.
 */
export async function listPage(
  client: WorkflowClient,
  { cursor, ...options }: ListOptions & { readonly cursor?: string },
): Promise<RunPage> {
  const { infos, nextPageToken } = await workflowPage(
    client,
    listQuery(options),
    options.limit ?? defaultListLimit,
    Buffer.from(check(cursorSchema, cursor) ?? '', 'base64url'),
  );
  const runs = infos.map(summaryOf);
  if (nextPageToken.length === 0) return { runs };
  return { runs, next: Buffer.from(nextPageToken).toString('base64url') };
}

/**
 * The run with this workflow id, as the server knows it now.
 *
 * Errors: of the server; `invalid-input` for a workflow that is not an agent run.
 */
export async function describeRun(client: WorkflowClient, workflowId: string): Promise<RunSummary> {
  const info = await describeWorkflow(client, workflowId);
  if (info.type !== agentRunWorkflow)
    throw new ClientError(
      'invalid-input',
      `Workflow "${workflowId}" is not an agent run: its type is "${info.type}".`,
    );
  return summaryOf(info);
}

function summaryOf(info: Omit<WorkflowExecutionInfo, 'raw'>): RunSummary {
  const attributes = new Map<string, unknown>(
    info.typedSearchAttributes.getAll().map(({ key, value }) => [key.name, value]),
  );
  const text = (name: string): string | undefined => {
    const value = attributes.get(name);
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const number = (name: string): number | undefined => {
    const value = attributes.get(name);
    return typeof value === 'number' ? value : undefined;
  };
  return {
    runId: info.workflowId,
    status: statusWord(info, text(searchAttributes.status)),
    agent: text(searchAttributes.agent) ?? '',
    startedAtMs: info.startTime.getTime(),
    ...defined({
      route: text(searchAttributes.provider),
      reason: text(searchAttributes.reason),
      iteration: number(searchAttributes.iteration),
      tenant: text(searchAttributes.tenant),
      usd: number(searchAttributes.usd),
      closedAtMs: info.closeTime?.getTime(),
    }),
  };
}

function statusWord(
  { status }: Pick<WorkflowExecutionInfo, 'status'>,
  attribute?: string,
): RunStatusWord {
  if (status.name === 'COMPLETED') return attribute === 'stopped' ? 'stopped' : 'completed';
  return closedWords[status.name] ?? (attribute === 'waiting' ? 'waiting' : 'running');
}

const closedWords: Partial<Record<WorkflowExecutionInfo['status']['name'], RunStatusWord>> = {
  CANCELLED: 'cancelled',
  TERMINATED: 'cancelled',
  FAILED: 'failed',
  TIMED_OUT: 'failed',
};
