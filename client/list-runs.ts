/** Finds runs by Temporal's visibility. */
import type { WorkflowClient, WorkflowExecutionInfo } from '@temporalio/client';
import { z } from 'zod';
import { agentRunWorkflow, searchAttributes } from '../workflows/contract';
import { defined } from '../workflows/core/json';
import type { RunStatusWord } from '../workflows/core/view/status';
import { check, optionsOf } from './check-input';

/** One run in a list, as visibility knows it: seconds late at worst. */
export interface RunSummary {
  readonly runId: string;
  readonly status: RunStatusWord;
  readonly agent: string;
  readonly route?: string;
  readonly reason?: string;
  readonly iteration?: number;
  readonly startedAtMs: number;
  readonly closedAtMs?: number;
}

/** Which runs; 50 where nothing is said. */
export type ListOptions = Partial<Pick<RunSummary, 'status' | 'agent'>> & {
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
  scheduleId: z.string({ error: '`scheduleId` must be a text' }).optional(),
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
export function listQuery({ status, agent, scheduleId }: ListOptions): string {
  const conditions = [
    `WorkflowType = ${quoted(agentRunWorkflow)}`,
    `ExecutionStatus != 'ContinuedAsNew'`,
  ];
  if (status !== undefined) conditions.push(statusCondition(status));
  if (agent !== undefined) conditions.push(`${searchAttributes.agent} = ${quoted(agent)}`);
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
  const found = client.list({ query: listQuery(options), pageSize: Math.min(limit, 1_000) });
  for await (const info of found) {
    runs.push(summaryOf(info));
    if (runs.length >= limit) break;
  }
  return runs;
}

function summaryOf(info: WorkflowExecutionInfo): RunSummary {
  const attributes = new Map<string, unknown>(
    info.typedSearchAttributes.getAll().map(({ key, value }) => [key.name, value]),
  );
  const text = (name: string): string | undefined => {
    const value = attributes.get(name);
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  const iteration = attributes.get(searchAttributes.iteration);
  return {
    runId: info.workflowId,
    status: statusWord(info, text(searchAttributes.status)),
    agent: text(searchAttributes.agent) ?? '',
    startedAtMs: info.startTime.getTime(),
    ...defined({
      route: text(searchAttributes.provider),
      reason: text(searchAttributes.reason),
      iteration: typeof iteration === 'number' ? iteration : undefined,
      closedAtMs: info.closeTime?.getTime(),
    }),
  };
}

function statusWord({ status }: WorkflowExecutionInfo, attribute?: string): RunStatusWord {
  if (status.name === 'COMPLETED') return attribute === 'stopped' ? 'stopped' : 'completed';
  return closedWords[status.name] ?? (attribute === 'waiting' ? 'waiting' : 'running');
}

const closedWords: Partial<Record<WorkflowExecutionInfo['status']['name'], RunStatusWord>> = {
  CANCELLED: 'cancelled',
  TERMINATED: 'cancelled',
  FAILED: 'failed',
  TIMED_OUT: 'failed',
};
