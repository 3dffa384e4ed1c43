/** The tool calls of one iteration: which run, which wait for a person, and what their results come to. */
import { callSummary } from './call-summary';
import { armWaits, rearmed, timersOfCall, waitText, withoutExpiry } from '../people/decision-wait';
import { endIfTripped, healErrors, takeAgentErrors } from '../errors/agent-errors';
import { notePendingResult } from '../context/state';
import { toToolResponse } from '../errors/error-context';
import type { AgentError, InfraError } from '../failure';
import { failureMessageChars, previewChars } from '../limits';
import type { Moment } from '../run/loop';
import { beginIteration, prepared } from '../run/loop';
import { observeSettled } from '../learning/observations';
import type { Head } from '../message';
import { countToolRuns, stopBeforeTools, uncountToolRun } from '../guard/caps';
import { endIfLooping, resultIdentity, watchReply } from '../guard/loop-guard';
import type { PendingResult, ProposedToolCall, RunToolResult, ToolPolicy } from './ports';
import { noteSaidError, rememberPrivileges } from './privileged-parameters';
import { nextStoreLook, recordInfraError } from '../failover/provider-failure';
import { endToolStep, noteCallResult } from '../recovery/trial';
import { settleRecoveryCall } from '../recovery/settled';
import type { RecoveryCall } from '../recovery/state';
import { endFailed } from '../run/end';
import type { RunCommand } from '../run/protocol';
import type { RunState, ToolCallProgress } from '../run/state';
import { activityIdAt } from './activity-id';
import { admitCall, settle, settleWithError } from './admission';
import { startSubagents, subagentPolicy } from '../subagents/start';
import { questionAboutOutcome } from './unknown-outcome';
import type { Step } from '../run/step';
import { andThen, appendLine, count, publish, step } from '../run/step';

function toolPolicy(state: RunState, name: string): ToolPolicy | undefined {
  return state.snapshot?.tools.find((tool) => tool.name === name);
}

/** Activity time limit of a tool that the snapshot does not know, in milliseconds (ADR 0007). */
const unknownToolTimeoutMs = 60_000;

function runCommand(state: RunState, call: ProposedToolCall, index: number): RunCommand {
  const { snapshot } = prepared(state);
  return {
    type: 'run-tool',
    toolCallId: call.toolCallId,
    callId: activityIdAt(state, index),
    summary: callSummary(call),
    timeoutMs: toolPolicy(state, call.name)?.timeoutMs ?? unknownToolTimeoutMs,
    heartbeatTimeoutMs: snapshot.limits.heartbeatTimeoutMs,
    input: {
      storeId: snapshot.storeId,
      definition: snapshot.definition,
      toolCallId: call.toolCallId,
      name: call.name,
      ...(call.input === undefined ? {} : { input: call.input }),
      ...(call.inputBlob === undefined ? {} : { inputBlob: call.inputBlob }),
      idempotencyKey: `${state.runKey}/${call.toolCallId}`,
      ...(call.answer === undefined ? {} : { answer: call.answer }),
    },
  };
}

/** Starts those calls of the phase that `which` names. */
function dispatch(
  state: RunState,
  which: (progress: ToolCallProgress) => boolean,
  atMs: number,
): Step {
  if (state.phase.type !== 'running-tools') return step(state);
  const started = state.phase.calls.flatMap((progress, index) =>
    progress.status.type === 'running' && which(progress) ? [{ call: progress.call, index }] : [],
  );
  const counted = countToolRuns(
    state,
    started.map(({ call }) => call),
  );
  const delegated = started.flatMap(({ call, index }) => {
    const policy = subagentPolicy(counted, call);
    const callId = activityIdAt(state, index);
    return policy === undefined ? [] : [{ call, callId, policy }];
  });
  const isDelegated = (call: ProposedToolCall): boolean =>
    delegated.some((other) => other.call === call);
  const own = started.filter(({ call }) => !isDelegated(call));
  const commands = own.flatMap(({ call, index }) => [
    publish(counted, atMs, {
      type: 'ToolCallStartedEvent',
      toolCallId: call.toolCallId,
      summary: callSummary(call),
    }),
    runCommand(counted, call, index),
  ]);
  return andThen(step(counted, ...commands), (after) => startSubagents(after, delegated, atMs));
}

/** Starts one call, which a person approved. */
export function startCall(state: RunState, toolCallId: string, atMs: number): Step {
  return dispatch(state, ({ call }) => call.toolCallId === toolCallId, atMs);
}

/** A person must know that a call waits for them. */
function announceWaits(state: RunState, atMs: number): Step {
  if (state.phase.type !== 'running-tools') return step(state);
  const waits = state.phase.calls.flatMap((progress) => {
    const { type } = progress.status;
    return type === 'awaiting-approval' || type === 'awaiting-answer' ? [waitText(progress)] : [];
  });
  const entries = waits.map((waitingFor) =>
    publish(state, atMs, { type: 'WaitStartedEvent', waitingFor }),
  );
  return step(state, ...entries);
}

function runningCalls(calls: readonly ToolCallProgress[]): readonly ProposedToolCall[] {
  return calls.flatMap(({ call, status }) => (status.type === 'running' ? [call] : []));
}

/**
 * Takes the calls of a reply, at least one of which can run or wait. `head` holds the reply.
 *
 * Contract: where the guard stops the run, no call runs and the transcript ends before the reply.
 */
export function runToolCalls(
  state: RunState,
  toolCalls: readonly ProposedToolCall[],
  head: Head,
  moment: Moment,
  recovery?: RecoveryCall,
): Step {
  const calls = toolCalls.map((call) => admitCall(call, state));
  const mayRun = calls.flatMap(({ call, status }) =>
    status.type === 'running' || status.type === 'awaiting-approval' ? [call] : [],
  );
  const stop = stopBeforeTools(state, mayRun);
  if (stop !== undefined) return endFailed(state, moment.atMs, stop.reason, stop.message);
  const entered: RunState = {
    ...rememberPrivileges(state, runningCalls(calls)),
    head,
    phase: { type: 'running-tools', calls, ...(recovery === undefined ? {} : { recovery }) },
  };
  const started = andThen(
    dispatch(entered, () => true, moment.atMs),
    (after) => andThen(announceWaits(after, moment.atMs), (told) => armWaits(told, moment.atMs)),
  );
  return andThen(started, (after) => settleIfDone(after, moment));
}

/** The state with one call of the phase replaced. */
export function replaceCall(state: RunState, toolCallId: string, next: ToolCallProgress): RunState {
  if (state.phase.type !== 'running-tools') return state;
  const calls = state.phase.calls.map((progress) =>
    progress.call.toolCallId === toolCallId ? next : progress,
  );
  return { ...state, phase: { ...state.phase, calls } };
}

/** The call of this id in the current phase, if it is in the given status. */
export function findCall(
  state: RunState,
  toolCallId: string,
  status: ToolCallProgress['status']['type'],
): ToolCallProgress | undefined {
  if (state.phase.type !== 'running-tools') return undefined;
  return state.phase.calls.find(
    (progress) => progress.call.toolCallId === toolCallId && progress.status.type === status,
  );
}

/** What a call gave, to be brought into the transcript. */
export function pendingResult(call: ProposedToolCall, result: RunToolResult): PendingResult {
  return {
    toolCallId: call.toolCallId,
    name: call.name,
    ...(result.result === undefined
      ? { text: result.text ?? result.preview }
      : { result: result.result }),
    isError: result.error !== undefined,
    ...(call.editNotice === undefined ? {} : { notice: call.editNotice }),
  };
}

/** Answers `tool-call-completed` of a running call. */
export function onToolCallCompleted(
  state: RunState,
  { call }: ToolCallProgress,
  result: RunToolResult,
  moment: Moment,
): Step {
  const question = questionAboutOutcome(state, call, callSummary(call), result);
  if (question !== undefined) return askAboutOutcome(state, call, question, moment.atMs);
  const { error } = result;
  const pending = pendingResult(call, result);
  const heard = noteSaidError(notePendingResult(state, result.bytes), result);
  const settled = replaceCall(heard, call.toolCallId, {
    call,
    status: {
      type: 'settled',
      pending,
      ran: true,
      ...(error === undefined ? {} : { error }),
      came: resultIdentity(result),
    },
  });
  const noted =
    error === undefined
      ? noteSuccess(settled, call, result.preview, moment.atMs)
      : noteFailure(settled, call, error, moment.atMs);
  return andThen(noted, (after) =>
    settleIfDone(noteCallResult(after, call, callSummary(call), result), moment),
  );
}

function askAboutOutcome(
  state: RunState,
  call: ProposedToolCall,
  question: string,
  atMs: number,
): Step {
  const asking = replaceCall(state, call.toolCallId, {
    call,
    status: { type: 'awaiting-answer', question },
  });
  const waitingFor = `an answer: ${question}`;
  return step(asking, publish(asking, atMs, { type: 'WaitStartedEvent', waitingFor }));
}

/** A call's success, counted and told. */
export function noteSuccess(
  state: RunState,
  call: ProposedToolCall,
  preview: string,
  atMs: number,
): Step {
  const summary = callSummary(call);
  const noted = count(
    { ...state, worked: appendLine(state.worked, summary) },
    { toolCallsSucceeded: state.counters.toolCallsSucceeded + 1 },
  );
  return step(
    noted,
    publish(noted, atMs, {
      type: 'ToolCallSucceededEvent',
      toolCallId: call.toolCallId,
      summary,
      preview: preview.slice(0, previewChars),
    }),
  );
}

/** A call's failure, counted and told. */
export function noteFailure(
  state: RunState,
  call: ProposedToolCall,
  error: AgentError,
  atMs: number,
): Step {
  const noted = count(state, { toolCallsFailed: state.counters.toolCallsFailed + 1 });
  return step(
    noted,
    publish(noted, atMs, { type: 'ToolResultErrorEvent', toolCallId: call.toolCallId, error }),
  );
}

/** Answers `tool-call-failed`: a failure that only people can mend. Siblings still land; then the run ends with the cause. */
export function onToolCallFailed(
  state: RunState,
  { call }: ToolCallProgress,
  failure: InfraError,
  moment: Moment,
): Step {
  const { atMs } = moment;
  const isDoomed = state.phase.type === 'running-tools' && state.phase.failure !== undefined;
  if (failure.code === 'store_unavailable' && !isDoomed)
    return pauseCall(state, call, failure, atMs);
  const error: AgentError = {
    kind: 'agent',
    code: 'tool_execution_failed',
    message: failure.message.slice(0, failureMessageChars),
    recoverable: false,
    toolName: call.name,
  };
  const settled = replaceCall(
    state,
    call.toolCallId,
    settle(call, toToolResponse(error), error, true),
  );
  const noted = andThen(recordInfraError(settled, failure, atMs), (after) =>
    noteFailure(after, call, error, atMs),
  );
  const failed = andThen(noted, (after) => abandonWaits(after, failure));
  return andThen(failed, (after) => settleIfDone(after, moment));
}

/** A call that never runs, because the run fails. */
export function abandoned(call: ProposedToolCall): ToolCallProgress {
  return settleWithError(call, {
    kind: 'agent',
    code: 'tool_denied',
    message: 'The call was not run, because the run ended with a system error.',
    recoverable: false,
    toolName: call.name,
  });
}

/** Brings the answer of a subagent in, as the result of the call that started it. */
export function collectAnswer(state: RunState, call: ProposedToolCall, index: number): Step {
  const collecting = replaceCall(state, call.toolCallId, { call, status: { type: 'running' } });
  return step(collecting, runCommand(collecting, call, index));
}

/** Settles the call of a subagent that gave no answer. */
export function failSubagentCall(
  state: RunState,
  call: ProposedToolCall,
  error: AgentError,
  moment: Moment,
): Step {
  const failed = replaceCall(
    state,
    call.toolCallId,
    settle(call, toToolResponse(error), error, true),
  );
  return andThen(noteFailure(failed, call, error, moment.atMs), (after) =>
    settleIfDone(after, moment),
  );
}

/** The run will fail: calls that have not started never do, and nobody is asked for anything any more. */
function abandonWaits(state: RunState, failure: InfraError): Step {
  const { phase } = state;
  if (phase.type !== 'running-tools') return step(state);
  const timers = phase.calls
    .flatMap(timersOfCall)
    .map((timerId): RunCommand => ({ type: 'cancel-timer', timerId }));
  const calls = phase.calls.map((progress) => {
    const { call, status } = progress;
    const lands = status.type === 'running' || status.type === 'delegated';
    if (lands || status.type === 'settled') return progress;
    if (status.type === 'checking-edit') return withoutExpiry(progress);
    return abandoned(call);
  });
  const failed: RunState = {
    ...state,
    phase: { ...phase, calls, failure: phase.failure ?? failure },
  };
  return step(failed, ...timers, ...stopSubagents(state, phase.calls));
}

/** Asks the subagents among the calls to stop; each still comes back. */
function stopSubagents(state: RunState, calls: readonly ToolCallProgress[]): readonly RunCommand[] {
  const callIds = calls.flatMap(({ status }, index) =>
    status.type === 'delegated' ? [activityIdAt(state, index)] : [],
  );
  return callIds.length === 0 ? [] : [{ type: 'cancel-activities', callIds }];
}

/** The timer of a call: after which a paused one runs again, or a person's time to decide is over. */
export function callTimer(progress: ToolCallProgress, atMs: number): readonly RunCommand[] {
  const { call, status } = progress;
  if (status.type !== 'paused') return rearmed(progress, atMs);
  const { timerId, untilMs } = status;
  const delayMs = Math.max(untilMs - atMs, 1);
  const summary = `wait for store, then ${callSummary(call)}`.slice(0, 200);
  return [{ type: 'start-timer', timerId, delayMs, summary }];
}

/** The store is down: the call runs again, under the same key, when it may be back. */
function pauseCall(
  state: RunState,
  call: ProposedToolCall,
  failure: InfraError,
  atMs: number,
): Step {
  const timers = state.counters.timers + 1;
  const timerId = `store-${timers}`;
  const { untilMs, storeWaitMs } = nextStoreLook(state, atMs);
  const waiting: ToolCallProgress = { call, status: { type: 'paused', timerId, untilMs } };
  const paused = count(
    { ...replaceCall(state, call.toolCallId, waiting), storeWaitMs },
    { timers },
  );
  return andThen(recordInfraError(paused, failure, atMs), (noted) =>
    step(
      noted,
      publish(noted, atMs, { type: 'WaitStartedEvent', waitingFor: `store: ${failure.message}` }),
      ...callTimer(waiting, atMs),
    ),
  );
}

/** Answers `timer-fired` of a paused call. */
export function resumePausedCall(state: RunState, timerId: string, moment: Moment): Step {
  if (state.phase.type !== 'running-tools') return step(state);
  const paused = state.phase.calls.find(
    ({ status }) => status.type === 'paused' && status.timerId === timerId,
  );
  if (paused === undefined) return step(state);
  const { toolCallId } = paused.call;
  const resumed = replaceCall(state, toolCallId, {
    call: paused.call,
    status: { type: 'running' },
  });
  // The call was counted when it first started.
  return andThen(
    dispatch(resumed, (progress) => progress.call.toolCallId === toolCallId, moment.atMs),
    (after) => step(uncountToolRun(after, paused.call)),
  );
}

/** When every call of the phase has its result: errors to the model, then the next iteration. */
export function settleIfDone(state: RunState, moment: Moment): Step {
  const { phase } = state;
  if (phase.type !== 'running-tools') return step(state);
  const settled = phase.calls.flatMap(({ status }) => (status.type === 'settled' ? [status] : []));
  if (settled.length < phase.calls.length) return step(state);
  const { storeWaitMs: _recovered, ...rest } = state;
  const gathered: RunState = {
    ...observeSettled(rest, phase.calls, phase.recovery !== undefined, moment.atMs),
    phase: { type: 'ready' },
    next: { ...state.next, pendingResults: settled.map((status) => status.pending) },
  };
  if (phase.failure !== undefined)
    return endFailed(
      gathered,
      moment.atMs,
      'infra',
      `System error: ${phase.failure.message}`,
      phase.failure,
    );
  if (phase.recovery !== undefined) {
    const [own] = settled;
    const before = { ...gathered, next: state.next };
    if (own !== undefined) return settleRecoveryCall(before, own.pending, phase.recovery, moment);
  }
  const errors = settled.flatMap((status) => (status.error === undefined ? [] : [status.error]));
  const succeeded = settled.some((status) => status.ran && status.error === undefined);
  const healed = succeeded ? healErrors(gathered, moment.atMs) : step(gathered);
  const noted = andThen(healed, (after) => takeAgentErrors(after, errors, succeeded, moment.atMs));
  const taken = andThen(noted, (after) => watchReply(after, phase.calls, moment.atMs));
  const ended = andThen(taken, (after) => endToolStep(after, phase.calls, moment.atMs));
  return andThen(
    ended,
    (after) =>
      endIfTripped(after, moment.atMs) ??
      endIfLooping(after, moment.atMs) ??
      beginIteration(after, moment),
  );
}
