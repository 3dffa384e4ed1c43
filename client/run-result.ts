/** How a run ended, as a typed union: from the workflow's result, from its failure, or from its history. */
import type { WorkflowClient, WorkflowExecutionInfo } from '@temporalio/client';
import { WorkflowFailedError } from '@temporalio/client';
import { ApplicationFailure } from '@temporalio/common';
import { z } from 'zod';
import type { InfraError } from '../workflows/core/failure';
import { reportOf } from '../workflows/core/run/ending';
import type { RunOutcome } from '../workflows/core/run/outcome';
import type { RunState } from '../workflows/core/run/state';
import type { RunResult } from '../workflows/core/typed-agent';
import { check, optionsOf } from './check-input';
import { ClientError } from './client-error';
import { describeWorkflow } from './known-to-server';
import type { SegmentEnd } from './history/facts';
import type { FoldedSegment } from './history/fold';
import { foldToEnd } from './history/read-history';
import { abortable } from './run-access';
import { isNotFound, readingHistory } from './temporal-failure';

function isOutcome(value: unknown): value is RunOutcome {
  return typeof value === 'object' && value !== null && 'status' in value && 'report' in value;
}

/** How long to wait for a run's end. Giving up changes nothing about the run. */
export interface WaitOptions {
  /** Milliseconds, at most 24 days; 0 asks once. A run that has ended then gives its outcome all the same. Default: no limit. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal;
}

/** Longest timer of JavaScript in milliseconds. */
const longestTimerMs = 2 ** 31 - 1;

const waitOptions = optionsOf('a wait (behind a schema of zod, if there is one)', {
  timeoutMs: z
    .int({ error: 'timeoutMs must be a whole number of milliseconds' })
    .min(0, { error: 'timeoutMs must not be negative' })
    .max(longestTimerMs, { error: `timeoutMs must be at most ${longestTimerMs} (24 days)` })
    .optional(),
  signal: z.instanceof(AbortSignal, { error: 'signal must be an AbortSignal' }).optional(),
});

/**
 * Waits until the run with this workflow id has ended, over all its segments.
 *
 * Errors: `ClientError` `still-running` when the time is up or the signal aborts; the run goes on.
 */
export async function awaitOutcome(
  client: WorkflowClient,
  runId: string,
  options: WaitOptions = {},
): Promise<RunOutcome> {
  const { timeoutMs, signal } = check(waitOptions, options);
  const given = signal === undefined ? [] : [signal];
  const limits = timeoutMs === undefined ? given : [...given, AbortSignal.timeout(timeoutMs)];
  if (limits.length === 0) return endOf(client, runId);
  const limit = AbortSignal.any(limits);
  try {
    limit.throwIfAborted();
    return await abortable(client, limit, () => endOf(client, runId));
  } catch (thrown) {
    if (!limit.aborted) throw thrown;
    if (signal?.aborted !== true && (await hasEnded(client, runId))) return endOf(client, runId);
    throw new ClientError(
      'still-running',
      `Run "${runId}" had not ended when ${whyOver(options)}. It goes on: wait again with result(), look with status() and pending(), or end it with stop() or cancel().`,
      { cause: limit.reason },
    );
  }
}

function whyOver({ timeoutMs, signal }: WaitOptions): string {
  return signal?.aborted === true
    ? 'the signal aborted'
    : `${timeoutMs ?? 0} ms (timeoutMs) passed`;
}

/** Milliseconds of the last look when the time is up. */
const lastLookMs = 2_000;

/** Whether the run has ended, and only the answer took too long. Errors: for a run that does not exist. */
async function hasEnded(client: WorkflowClient, runId: string): Promise<boolean> {
  try {
    const look = (): Promise<WorkflowExecutionInfo> => describeWorkflow(client, runId);
    const { status } = await client.withDeadline(Date.now() + lastLookMs, look);
    return status.name !== 'RUNNING';
  } catch (thrown) {
    if (isNotFound(thrown)) throw thrown;
    return false;
  }
}

async function endOf(client: WorkflowClient, runId: string): Promise<RunOutcome> {
  try {
    const result: unknown = await client.getHandle(runId).result();
    if (isOutcome(result)) return result;
  } catch (thrown) {
    if (!(thrown instanceof WorkflowFailedError)) throw thrown;
    const { cause } = thrown;
    const outcome: unknown = cause instanceof ApplicationFailure ? cause.details?.[0] : undefined;
    if (isOutcome(outcome)) return outcome;
  }
  // A cancelled, terminated, or broken workflow carries no outcome.
  const folded = await foldToEnd(client, runId);
  const outcome = readingHistory(runId, () => outcomeOf(folded));
  if (outcome !== undefined) return outcome;
  throw new ClientError(
    'invalid-input',
    `Workflow "${runId}" did not return the outcome of an agent run. Check the run id.`,
  );
}

/** The outcome in a folded history; undefined while the run is in progress. */
export function outcomeOf({ state, end, atMs }: FoldedSegment): RunOutcome | undefined {
  if (state === undefined) return undefined;
  if (state.phase.type === 'ended') return state.phase.outcome;
  return end === undefined ? undefined : unforeseenEnd(state, end, atMs);
}

/** An end that the workflow did not make itself. */
function unforeseenEnd(state: RunState, end: SegmentEnd, atMs: number): RunOutcome | undefined {
  const report = reportOf(state, atMs);
  const broken = (code: InfraError['code'], message: string): RunOutcome => ({
    status: 'failed',
    reason: 'infra',
    message,
    failure: { kind: 'infra', code, message },
    report,
  });
  switch (end.type) {
    case 'rolled-over':
      return undefined;
    case 'cancelled':
      return { status: 'cancelled', reason: 'Workflow cancelled', report };
    case 'terminated':
      return {
        status: 'cancelled',
        reason: `terminated${end.reason === '' ? '' : `: ${end.reason}`}`,
        report,
      };
    case 'timed-out':
      return broken('timeout', 'The workflow ran into its own time limit in Temporal.');
    case 'completed':
    case 'failed':
      return broken(
        'unknown',
        'The workflow ended without an outcome of an agent run. Look at its history in the Web UI.',
      );
  }
}

/**
 * Gives a completed run's output the type of the schema.
 *
 * Errors: `output-mismatch` with every problem; the outcome itself is not lost, `result()` without a schema returns it.
 */
export function withOutput(
  outcome: RunOutcome,
  schema: z.ZodType = z.unknown(),
): RunResult<unknown> {
  if (outcome.status !== 'completed') return outcome;
  const parsed = schema.safeParse(outcome.output);
  if (parsed.success) return { ...outcome, output: parsed.data };
  const problems = parsed.error.issues.map(
    ({ path, message }) => `${['output', ...path].join('.')}: ${message}`,
  );
  throw new ClientError(
    'output-mismatch',
    `The run completed, but its output does not match the schema: ${problems.join('; ')}. Give the agent the same schema (output), or call result() without one.`,
  );
}
