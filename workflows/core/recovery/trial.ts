/** Whether a recovery helped: watches the steps after it, and tells people. */
import { correctPath } from './memory';
import type { AgentError } from '../failure';
import type { ProposedToolCall, RunToolResult, ToolPolicy } from '../tools/ports';
import { askUserTool } from '../tools/ports';
import { noteProvenance } from '../errors/error-context';
import { addNote } from '../model-call/notes';
import { endStep, noteFailure, noteSuccess, noteWord, stuckSteps } from './progress';
import type { RecoveryTrial } from './state';
import { hasRules } from '../rules';
import type { RunState, ToolCallProgress } from '../run/state';
import type { Step } from '../run/step';
import { andThen, publish, step } from '../run/step';
import { mayHaveTakenEffect } from '../tools/unknown-outcome';

/** Lines of what was tried. */
const maxTried = 6;

/** Begins to watch whether a remedy helps: progress must resume within 3 steps (ADR 0026). */
export function startTrial(
  state: RunState,
  trial: Omit<RecoveryTrial, 'stepsLeft' | 'stuckAction'>,
): RunState {
  return {
    ...state,
    recovery: {
      ...state.recovery,
      trial: {
        ...trial,
        stepsLeft: stuckSteps,
        stuckAction: state.progress.latest?.action ?? '',
      },
    },
  };
}

/** Ends the trial, if there is one. */
export function closeTrial(state: RunState, healed: boolean, atMs: number): Step {
  const { trial, ...rest } = state.recovery;
  if (trial === undefined) return step(state);
  const closed: RunState = {
    ...state,
    recovery: {
      ...rest,
      healed: rest.healed + (healed ? 1 : 0),
      failed: rest.failed + (healed ? 0 : 1),
      tried: healed ? rest.tried : [...rest.tried, trial.summary].slice(-maxTried),
    },
  };
  const { summary } = trial;
  return step(closed, publish(closed, atMs, { type: 'RecoveryOutcomeEvent', summary, healed }));
}

/** A failure for less than a full path, right after a result named the path: the next request says it. */
function hintPath(state: RunState): RunState {
  if (state.snapshot?.recovery?.mode !== 'auto') return state;
  const { memory, steps } = state.progress;
  const failure = memory.failures.findLast(
    ({ lastStep, code }) => lastStep === steps && code === 'tool_execution_failed',
  );
  const fitting = failure === undefined ? undefined : correctPath(memory, failure.input);
  if (failure === undefined || fitting === undefined) return state;
  if (failure.hint?.includes(fitting.path) === true) return state;
  return addNote(
    state,
    `${noteProvenance}\nHint: an earlier result names the full path ${fitting.path}; call ${failure.tool} with "${fitting.parameter}" set to it.`,
  );
}

/** Whether the step shows that the remedy on trial does not help: the same trouble, or the same call with nothing new. */
function isRefuted({ progress }: RunState, { trouble, stuckAction }: RecoveryTrial): boolean {
  const failure = progress.memory.failures.at(-1);
  const sameTrouble =
    failure?.lastStep === progress.steps &&
    failure.tool === trouble.tool &&
    failure.code === trouble.code;
  return sameTrouble || progress.latest?.action === stuckAction;
}

/**
 * Ends a step: what was new is counted, and a remedy on trial is judged.
 *
 * Contract: called once per iteration, when all its results are there or its reply was refused.
 */
function endProgressStep(state: RunState, atMs: number, isNeutral = false): Step {
  const progress = endStep(state.progress, isNeutral);
  const ended = hintPath({ ...state, progress });
  const { trial } = ended.recovery;
  if (trial === undefined) return step(ended);
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
      atMs,
    );
  if (isNeutral) return step(ended);
  if (gained) return closeTrial(ended, true, atMs);
  if (trial.stepsLeft <= 1) return closeTrial(ended, false, atMs);
  return step({
    ...ended,
    recovery: { ...ended.recovery, trial: { ...trial, stepsLeft: trial.stepsLeft - 1 } },
  });
}

/** Ends the step of a reply of which nothing ran. */
export function endRefusedStep(state: RunState, errors: readonly AgentError[], atMs: number): Step {
  const progress = errors.reduce((before, error) => noteFailure(before, error), state.progress);
  return endProgressStep({ ...state, progress }, atMs);
}

function fileOf(call: ProposedToolCall, policy: ToolPolicy | undefined): { file?: string } {
  const file = policy?.editsFile === undefined ? undefined : call.input?.[policy.editsFile];
  return typeof file === 'string' ? { file: file.slice(0, 200) } : {};
}

/** Remembers of which tools nobody knows whether the newest call took effect. */
function withUncertain(state: RunState, tool: string, isUncertain: boolean): RunState {
  const { uncertain = [], ...rest } = state.recovery;
  if (uncertain.includes(tool) === isUncertain) return state;
  const others = uncertain.filter((other) => other !== tool);
  const tools = isUncertain ? [...others, tool] : others;
  return {
    ...state,
    recovery: tools.length === 0 ? rest : { ...rest, uncertain: tools },
  };
}

/** Notes what a tool call brought. */
export function noteCallResult(
  before: RunState,
  call: ProposedToolCall,
  summary: string,
  result: Pick<RunToolResult, 'preview' | 'fingerprint' | 'error'>,
): RunState {
  const { error, preview, fingerprint } = result;
  const policy = before.snapshot?.tools.find((tool) => tool.name === call.name);
  const changes = policy !== undefined && policy.effect !== 'read';
  const isUncertain = changes && error !== undefined && mayHaveTakenEffect(error.code);
  const state = withUncertain(before, call.name, isUncertain);
  if (error !== undefined)
    return {
      ...state,
      progress: noteFailure(state.progress, { ...error, toolName: call.name }, call.input),
    };
  const progress = noteSuccess(state.progress, {
    tool: call.name,
    summary,
    preview,
    fingerprint,
    ...(changes ? { effect: call.fingerprint } : {}),
    ...fileOf(call, policy),
  });
  return { ...state, progress };
}

/** What a person answered, or decided about a call, is a new start. */
function hearsPerson({ call, status }: ToolCallProgress): boolean {
  if (status.type !== 'settled') return false;
  return status.ran ? call.name === askUserTool : status.error?.code === 'tool_denied';
}

/** A wait on purpose, a thought, or an outage of the tool's own service: neither progress nor a rut. */
function isNeutral(state: RunState, { call, status }: ToolCallProgress): boolean {
  const idle = call.alike?.idle;
  if (idle === 'waits' || (idle !== undefined && hasRules(state, 3))) return true;
  return status.type === 'settled' && status.came?.outage === true;
}

/** The model waited on purpose before it looked again: how long that may go on is the loop detector's to say. */
function cameAfterWait(state: RunState): boolean {
  const newest = state.guard.evidence.at(-1);
  return (
    hasRules(state, 3) && newest?.waited === true && newest.reply === state.counters.iterations
  );
}

/** Ends the step of a reply with tool calls. Calls that ran were noted when they came back. */
export function endToolStep(
  state: RunState,
  calls: readonly ToolCallProgress[],
  atMs: number,
): Step {
  const refused = calls.reduce(
    (before, { call, status }) =>
      status.type === 'settled' && !status.ran && status.error !== undefined
        ? noteFailure(before, { ...status.error, toolName: call.name }, call.input)
        : before,
    state.progress,
  );
  const isIdle = cameAfterWait(state) || calls.every((call) => isNeutral(state, call));
  return andThen(endProgressStep({ ...state, progress: refused }, atMs, isIdle), (ended) =>
    step(calls.some(hearsPerson) ? { ...ended, progress: noteWord(ended.progress) } : ended),
  );
}
