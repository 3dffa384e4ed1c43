/** Whether a recovery helped: watches the steps after it, and publishes the result. */
import { noteProvenance, addTroubleNote } from '../model-call/next-request';
import { inputOf, normalizeText } from '../errors/fingerprint';
import { mayHaveTakenEffect } from '../errors/failure-policy';
import type { AgentError } from '../failure';
import { defined } from '../json';
import type { GuardSlice } from '../guard/state';
import type { CountersSlice } from '../run/account';
import type { SnapshotSlice } from '../run/ports';
import { toolPolicy } from '../run/ports';
import type { Move } from '../run/move';
import { andThen, publish, stay } from '../run/move';
import { inertLine } from '../secrets/inert-tags';
import type { ProposedToolCall, RunToolResult, ToolPolicy } from '../tools/ports';
import { askUserTool } from '../tools/ports';
import type { NextRequestSlice } from '../model-call/next-request';
import type { ToolCallProgress } from '../tools/state';
import { callSummary } from '../tools/state';
import type { FailedCall, RecoveryTrouble } from './action';
import { correctPath } from './memory';
import { endStep, noteFailure, noteSuccess, restartIdleCount } from './progress';
import { stuckSteps } from './stuck';
import type { RecoverySlice, RecoveryTrial } from './state';

/** Lines of what was tried. */
const maxTried = 6;

/** Starts to watch whether a remedy helps: progress must resume within 3 steps (ADR 0026). */
export function startTrial<State extends RecoverySlice>(
  state: State,
  trial: Omit<RecoveryTrial, 'id' | 'stepsLeft' | 'stuckAction'>,
): State {
  return {
    ...state,
    recovery: {
      ...state.recovery,
      trial: {
        ...trial,
        id: state.recovery.count,
        stepsLeft: stuckSteps,
        stuckAction: state.progress.latest?.action ?? '',
      },
    },
  };
}

/** Ends the trial, if there is one. */
export function closeTrial<State extends RecoverySlice & CountersSlice>(
  state: State,
  healed: boolean,
): Move<State> {
  const { trial, ...rest } = state.recovery;
  if (trial === undefined) return stay(state);
  const closed: State = {
    ...state,
    recovery: {
      ...rest,
      healed: rest.healed + (healed ? 1 : 0),
      failed: rest.failed + (healed ? 0 : 1),
      tried: healed ? rest.tried : [...rest.tried, trial.summary].slice(-maxTried),
    },
  };
  const { summary } = trial;
  return stay(closed, publish({ type: 'RecoveryOutcomeEvent', summary, healed }));
}

type StepState = RecoverySlice & NextRequestSlice & SnapshotSlice & CountersSlice;

/** A call failed for less than a full path, and an earlier result names the path: the next request says it. */
function hintPath<State extends StepState>(state: State): State {
  if (state.snapshot?.recovery?.mode !== 'auto') return state;
  const { memory, steps } = state.progress;
  const failure = memory.failures.findLast(
    ({ lastStep, code }) => lastStep === steps && code === 'tool_execution_failed',
  );
  const fitting = failure === undefined ? undefined : correctPath(memory, failure.input);
  if (failure === undefined || fitting === undefined) return state;
  if (failure.hint?.includes(fitting.path) === true) return state;
  return addTroubleNote(
    state,
    `${noteProvenance}\nHint: an earlier call names the full path ${inertLine(fitting.path)}; call ${failure.tool} with "${fitting.origin.parameter}" set to it.`,
  );
}

/** Whether a failure is the trouble that an action was for: a new error is a new trouble, even with the same tool and code. */
function isTrouble({ tool, code, message, input }: FailedCall, trouble: RecoveryTrouble): boolean {
  if (tool !== trouble.tool || code !== trouble.code) return false;
  const sameInput = input !== undefined && inputOf({ input }) === inputOf(trouble);
  return sameInput || normalizeText(message) === normalizeText(trouble.message);
}

/** Whether the step shows that the remedy on trial does not help: the same trouble, or the same call with nothing new. */
function isRefuted({ progress }: RecoverySlice, { trouble, stuckAction }: RecoveryTrial): boolean {
  const { memory, steps, latest } = progress;
  return (
    memory.failures.some((failure) => failure.lastStep === steps && isTrouble(failure, trouble)) ||
    (latest?.success === true && latest.action === stuckAction)
  );
}

/**
 * Ends a step: what was new is counted, and a remedy on trial is judged.
 *
 * Contract: called once per iteration, when all its results are there or its reply was refused.
 */
function endProgressStep<State extends StepState>(state: State, isNeutral = false): Move<State> {
  const progress = endStep(state.progress, isNeutral);
  const ended = hintPath({ ...state, progress });
  const { trial } = ended.recovery;
  if (trial === undefined) return stay(ended);
  const gained = !isNeutral && progress.idleSteps === 0;
  if (!gained && isRefuted(ended, trial))
    return closeTrial(
      {
        ...ended,
        recovery: {
          ...ended.recovery,
          refutedStep: progress.steps,
          refutedTrouble: trial.trouble.message,
        },
      },
      false,
    );
  if (isNeutral) return stay(ended);
  if (gained) return closeTrial(ended, true);
  if (trial.stepsLeft <= 1) return closeTrial(ended, false);
  return stay({
    ...ended,
    recovery: { ...ended.recovery, trial: { ...trial, stepsLeft: trial.stepsLeft - 1 } },
  });
}

/** Ends the step of a reply of which nothing ran. */
export function endRefusedStep<State extends StepState>(
  state: State,
  errors: readonly AgentError[],
): Move<State> {
  const progress = errors.reduce((before, error) => noteFailure(before, error), state.progress);
  return endProgressStep({ ...state, progress });
}

/** Longest path that is remembered, in characters: a part of a path would name another file. */
const fileChars = 200;

function fileOf(call: ProposedToolCall, policy: ToolPolicy | undefined): { file?: string } {
  const file = policy?.editsFile === undefined ? undefined : call.input?.[policy.editsFile];
  return typeof file === 'string' && file.length <= fileChars ? { file } : {};
}

/** Remembers of which tools nobody knows whether the newest call took effect. */
function withUncertain<State extends RecoverySlice>(
  state: State,
  tool: string,
  isUncertain: boolean,
): State {
  const { uncertain = [], ...rest } = state.recovery;
  if (uncertain.includes(tool) === isUncertain) return state;
  const others = uncertain.filter((other) => other !== tool);
  const tools = isUncertain ? [...others, tool] : others;
  return {
    ...state,
    recovery: tools.length === 0 ? rest : { ...rest, uncertain: tools },
  };
}

/** Records what a tool call brought. */
export function noteCallResult<State extends RecoverySlice & SnapshotSlice>(
  before: State,
  call: ProposedToolCall,
  output: RunToolResult,
): State {
  const { error, preview, fingerprint, result, findings } = output;
  const policy = toolPolicy(before, call.name);
  const changes = policy !== undefined && policy.effect !== 'read';
  const isUncertain = changes && error !== undefined && mayHaveTakenEffect(error.code);
  const state = withUncertain(before, call.name, isUncertain);
  const progress =
    error === undefined
      ? noteSuccess(state.progress, {
          tool: call.name,
          summary: callSummary(call),
          preview,
          fingerprint,
          toolCallId: call.toolCallId,
          ...defined({ result, findings }),
          ...(changes ? { effect: call.fingerprint } : {}),
          ...fileOf(call, policy),
        })
      : noteFailure(state.progress, { ...error, toolName: call.name }, call.input);
  return { ...state, progress };
}

/** What a person answered, or decided about a call, is a new start. */
function hearsPerson({ call, status }: ToolCallProgress): boolean {
  if (status.type !== 'settled') return false;
  return status.ran ? call.name === askUserTool : status.error?.code === 'tool_denied';
}

/** A wait on purpose, a thought, or an outage of the tool's own service: neither progress nor the lack of it. */
function isNeutral({ call, status }: ToolCallProgress): boolean {
  if (call.alike?.idle !== undefined) return true;
  return status.type === 'settled' && status.identity?.outage === true;
}

/** The model waited on purpose before it looked again: the loop detector decides how often it may. */
function followedWait({ guard, counters }: GuardSlice & CountersSlice): boolean {
  const newest = guard.evidence.at(-1);
  return newest?.waited === true && newest.reply === counters.iterations;
}

/** Ends the step of a reply with tool calls. Calls that ran were recorded when they returned. */
export function endToolStep<State extends StepState & GuardSlice>(
  state: State,
  calls: readonly ToolCallProgress[],
): Move<State> {
  const refused = calls.reduce(
    (before, { call, status }) =>
      status.type === 'settled' && !status.ran && status.error !== undefined
        ? noteFailure(before, { ...status.error, toolName: call.name }, call.input)
        : before,
    state.progress,
  );
  const isIdle = followedWait(state) || calls.every(isNeutral);
  return andThen(endProgressStep({ ...state, progress: refused }, isIdle), (ended) =>
    stay(
      calls.some(hearsPerson) ? { ...ended, progress: restartIdleCount(ended.progress) } : ended,
    ),
  );
}
