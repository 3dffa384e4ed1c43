/** Finds the outcome of a call whose effect may have happened: an interrupted attempt, a time limit, a lost connection. */
import { setTimeout } from 'node:timers/promises';
import { interruption } from '../lifecycle/activity-lifecycle';
import { InfraException } from '../lifecycle/infra-exception';
import type { OwnedTool } from '../stores/store';
import { givenOutput } from '../tool-output/tool-output';
import type { Execution, ExecutionPlace, FinishedExecution } from './tool-execution';
import { executeTool, toolFailure, withToolContext } from './tool-execution';
import { describeThrown } from './error-text';
import { saysServiceFailed } from './outage';
import type { ProbeAnswer, Tool } from '../tools/tool';
import { defined } from '../../workflows/core/json';

/** Milliseconds that a probe may take: less than an activity's grace period, so that its answer is still stored (ADR 0023). */
const probeLimitMs = 20_000;

/** Milliseconds between tries while a service cannot be reached: 31 s in all, longer than most restarts (ADR 0086). */
const pausesMs = [1_000, 2_000, 4_000, 8_000, 16_000];

/** Milliseconds that a repeat gets at least, if the first execution has used up its time. */
const minRepeatMs = 1_000;

type Failed = Extract<Execution, { type: 'error' }>;

/** The error `outcome_unknown`, for the model or the person who is asked. */
export function askAboutOutcome(tool: Tool, message: string, hint: string): Failed {
  const error = toolFailure(tool, 'outcome_unknown', message, { hint });
  return { type: 'error', isOutcomeUnknown: true, error };
}

/** The error for an unknown outcome, with the evidence. */
export function unknownOutcome(tool: Tool, what: string, evidence: string): Failed {
  return askAboutOutcome(
    tool,
    `${what}; whether it took effect is not known (${evidence}). It is not run again.`,
    'Find out by other means whether it took effect before you decide what to do. Do not simply repeat it.',
  );
}

/** Waits before another try; a call that must stop does not wait on. */
async function pause(ms: number, { stopped }: ExecutionPlace): Promise<void> {
  try {
    await setTimeout(ms, undefined, { signal: stopped });
  } catch {
    throw interruption() ?? stopped.reason;
  }
}

/** Does it, and again after each pause that ends in time while its result says that the service could not be reached. */
async function untilReached<Result>(
  place: ExecutionPlace,
  endsAt: number,
  work: () => Promise<Result>,
  isUnreached: (result: Result) => boolean,
): Promise<Result> {
  let result = await work();
  for (const ms of pausesMs) {
    if (!isUnreached(result) || performance.now() + ms > endsAt) break;
    await pause(ms, place);
    result = await work();
  }
  return result;
}

/** When the time of a call that begins now is over, by `performance.now`. */
function endOfTime({ timeoutMs }: Tool): number {
  return performance.now() + timeoutMs;
}

/** Asks a probe once. A text is why it failed. */
async function probeOnce(
  tool: Tool,
  place: ExecutionPlace,
  value: unknown,
  probe: NonNullable<Tool['probe']>,
): Promise<ProbeAnswer | string> {
  try {
    const answer = await withToolContext(Math.min(tool.timeoutMs, probeLimitMs), place, (context) =>
      probe(place.input.idempotencyKey, value, context),
    );
    // A probe that is written without types may return anything.
    if (['applied', 'not-applied', 'unknown'].includes(answer.type)) return answer;
    return { type: 'unknown', evidence: "its probe's answer has no type that is known" };
  } catch (thrown) {
    if (place.stopped.aborted) throw interruption() ?? place.stopped.reason;
    if (thrown instanceof InfraException) throw thrown;
    return describeThrown(thrown);
  }
}

/** Asks a probe, again while its service cannot be reached, up to `endsAt`. If it fails, the answer is `unknown`. */
export async function askProbe(
  tool: Tool,
  place: ExecutionPlace,
  value: unknown,
  probe: NonNullable<Tool['probe']>,
  endsAt = endOfTime(tool),
): Promise<ProbeAnswer> {
  const answer = await untilReached(
    place,
    endsAt,
    () => probeOnce(tool, place, value, probe),
    (each) => typeof each === 'string' && saysServiceFailed(each),
  );
  return typeof answer === 'string'
    ? { type: 'unknown', evidence: `its probe failed: ${answer}` }
    : answer;
}

/** Whether a repeat that failed says nothing about the call before it: its service could not be reached, or was cut off. */
function isUnreached(again: Execution): again is Failed {
  return (
    again.type === 'error' &&
    (again.isOutcomeUnknown === true || saysServiceFailed(again.error.message))
  );
}

/**
 * Repeats a keyed call with its key, again while its service cannot be reached and the tool's time lasts; if that fails too, the
 * outcome is unknown.
 */
async function repeatKeyed(
  tool: Tool,
  value: unknown,
  place: ExecutionPlace,
  failed: Failed,
  endsAt: number,
): Promise<Execution> {
  // A tool that says so itself has done what can be done.
  if (['tool_timeout', 'outcome_unknown'].includes(failed.error.code)) return failed;
  let tries = 1;
  const repeat = (): Promise<Execution> => {
    tries += 1;
    return executeTool(tool, value, place, Math.max(endsAt - performance.now(), minRepeatMs));
  };
  const again = await untilReached(place, endsAt, repeat, isUnreached);
  return isUnreached(again)
    ? unknownOutcome(tool, `The call failed ${tries} times midway`, again.error.message)
    : again;
}

async function reconcile(
  tool: Tool,
  value: unknown,
  place: ExecutionPlace,
  failed: Failed,
  endsAt?: number,
): Promise<FinishedExecution> {
  if (tool.probe === undefined) return failed;
  const answer = await askProbe(tool, place, value, tool.probe, endsAt);
  const { error, output } = failed;
  switch (answer.type) {
    case 'applied':
      return givenOutput(answer.output);
    case 'not-applied':
      return {
        type: 'error',
        error: toolFailure(tool, error.code, `${error.message}; it did not take effect`, error),
        ...defined({ output }),
      };
    case 'unknown':
      return unknownOutcome(tool, 'The call failed midway', `${error.message}; ${answer.evidence}`);
  }
}

/** Executes a call for the first time, and resolves a failure that leaves its outcome unknown. */
async function executeFirst(tool: Tool, value: unknown, place: ExecutionPlace): Promise<Execution> {
  const endsAt = endOfTime(tool);
  const execution = await executeTool(tool, value, place);
  if (execution.type !== 'error' || execution.isOutcomeUnknown !== true) return execution;
  return tool.effect === 'keyed'
    ? repeatKeyed(tool, value, place, execution, endsAt)
    : settleUnknown(tool, value, place, execution, endsAt);
}

/** What becomes of a failure by which a call may have taken effect, and that nothing here repeats. */
export async function settleUnknown<Given extends Execution>(
  tool: Tool,
  value: unknown,
  place: ExecutionPlace,
  execution: Given | Failed,
  endsAt?: number,
): Promise<Given | FinishedExecution> {
  if (execution.type !== 'error' || execution.isOutcomeUnknown !== true || tool.effect === 'read')
    return execution;
  if (tool.effect === 'reconcilable') return reconcile(tool, value, place, execution, endsAt);
  return execution.error.code === 'tool_timeout'
    ? execution
    : unknownOutcome(tool, 'The call failed midway', execution.error.message);
}

/** What is known from earlier attempts of a call. */
export interface Earlier {
  /** As the attempt found it; undefined for `read`. */
  readonly record: OwnedTool | undefined;
  /** Workers that this call lost, and how many it may lose (`limits.maxLostWorkers`). */
  readonly lost: { readonly count: number; readonly max: number };
}

function lostText(count: number): string {
  return `${count} ${count === 1 ? 'worker was' : 'workers were'} lost while they ran this call (killed, out of memory, or stuck)`;
}

/** The error for a call that cost too many workers and changed nothing. */
function notRunAgain(tool: Tool, count: number, why: string): Execution {
  return {
    type: 'error',
    error: toolFailure(
      tool,
      'tool_execution_failed',
      `${lostText(count)}, so it is not run again; ${why}`,
      {
        hint: 'Do not repeat the call as it is: ask for less at once, or use another approach.',
      },
    ),
  };
}

/** Resolves a call that an earlier attempt started, so that its effect may have happened. */
async function resume(
  tool: Tool,
  value: unknown,
  { record, lost }: Earlier & { readonly record: OwnedTool },
  place: ExecutionPlace,
): Promise<Execution> {
  const begun = new Date(record.intent.startedAtMs).toISOString();
  const what = `An earlier attempt of this call began at ${begun} and was interrupted`;
  const { probe } = tool;
  if (tool.effect !== 'reconcilable' || probe === undefined)
    return unknownOutcome(tool, what, 'the tool is irreversible and cannot be probed');
  if (lost.count > lost.max)
    return unknownOutcome(tool, lostText(lost.count), 'it is not probed again either');
  const answer = await askProbe(tool, place, value, probe);
  switch (answer.type) {
    case 'applied':
      return givenOutput(answer.output);
    case 'not-applied':
      return lost.count >= lost.max
        ? notRunAgain(tool, lost.count, 'its probe says that it did not take effect')
        : executeFirst(tool, value, place);
    case 'unknown':
      return unknownOutcome(tool, what, answer.evidence);
  }
}

/**
 * Runs, repeats or resolves a call, depending on earlier attempts.
 *
 * Contract: an effect that may have happened is repeated only with its key (`keyed`) or after a probe that says it has not
 * (`reconcilable`), and then under the same key. What stays unknown is marked so, with the evidence. A call that has lost its
 * workers does not run again; one that was never started has lost none, if a record shows it, and runs whatever its effect.
 * Errors: as `executeTool`.
 */
export async function decideExecution(
  tool: Tool,
  value: unknown,
  earlier: Earlier,
  place: ExecutionPlace,
): Promise<Execution> {
  const { record, lost } = earlier;
  const isLeft = lost.count >= lost.max;
  // Temporal work begins after this attempt has returned: whatever became of earlier ones, they started nothing.
  if (tool.effect === 'read' || tool.readEnd !== undefined)
    return isLeft
      ? notRunAgain(tool, lost.count, 'nothing was changed')
      : executeFirst(tool, value, place);
  if (record?.type !== 'executing') return executeFirst(tool, value, place);
  if (tool.effect !== 'keyed') return resume(tool, value, { record, lost }, place);
  return isLeft
    ? unknownOutcome(tool, lostText(lost.count), 'none of them reported its end')
    : executeFirst(tool, value, place);
}
