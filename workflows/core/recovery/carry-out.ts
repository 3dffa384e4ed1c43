/** Carries out a recovery plan by its confidence: acts, asks, hands over, or gives up; and takes what people answer. */
import { stopBeforeIteration } from '../budget/budget';
import type { BudgetSlice } from '../budget/state';
import { resetBreaker } from '../errors/circuit-breaker';
import { creditHelp, healErrors } from '../errors/healing';
import type { ErrorsSlice } from '../errors/state';
import type { InfraError } from '../failure';
import { forgetLoop } from '../guard/loop-guard';
import type { GuardSlice } from '../guard/state';
import { defined } from '../json';
import { takeAnswer } from '../people/messages';
import type { PeopleSlice } from '../people/state';
import { decisionKey, recordDecision, requireNewPrivileges } from '../people/state';
import type { AccountSlice } from '../run/account';
import { prepared, toolPolicy } from '../run/ports';
import type { RunEvent } from '../run/protocol';
import type { Move, UnstampedCommand } from '../run/move';
import { andThen, cancelTimers, fail, goTo, precededBy, publish, stay } from '../run/move';
import type { GoalSlice } from '../secrets/shown-text';
import type { PendingResult, ProposedToolCall } from '../tools/ports';
import type { NextRequestSlice } from '../model-call/next-request';
import type { RuntimeCall } from '../tools/state';
import { addNote, dropTroubleNote } from '../model-call/next-request';
import type { RecoveryAction, RecoveryDecision, RecoveryTrouble } from './action';
import { withinBounds } from './bounds';
import { decideByConfidence } from './confidence';
import { failureBehind, troubleKey } from './heuristics';
import type { PlanRecoveryResult } from './ports';
import { restartIdleCount, restartCount } from './progress';
import type { Plan, RecoverySlice, RecoveryStage } from './state';
import { activePolicy, currentStage, freshStep, recoveryStage } from './state';
import {
  actionSummary,
  gaveUpMessage,
  guidanceNote,
  refusedNote,
  runtimeIntroduction,
  unansweredNote,
} from './text';
import { startTrial } from './trial';
import type { RecoveringState, WaitingStage } from './waits';
import { personWaitMs, stageText, stageWait, startEscalation, startWait } from './waits';
import { shortened } from '../shortened';

/** Milliseconds of the first pause before a retry, doubled for each earlier retry of the same tool (ADR 0026). */
const firstBackoffMs = 2_000;

/** Most troubles that are remembered: more than any sensible `maxPerRun`. */
const rememberedTroubles = 32;

/** What carrying out a plan reads and changes. */
export type ActingState = RecoveringState &
  AccountSlice &
  BudgetSlice &
  ErrorsSlice &
  GoalSlice &
  GuardSlice &
  NextRequestSlice &
  PeopleSlice;

/** A plan is in flight. */
export type Planning = Extract<RecoveryStage, { type: 'planning' }>;

/** The step is handled: the iteration starts. */
function goOn<State extends ActingState>(
  state: State,
  ...commands: readonly UnstampedCommand[]
): Move<State> {
  return goTo('begin-iteration', { ...state, phase: { type: 'ready' } }, ...commands);
}

/** Takes the plan, or the estimate, in flight. */
export function onRecoveryPlanned<State extends ActingState>(
  state: State,
  { purpose, trouble }: Planning,
  result: PlanRecoveryResult,
  atMs: number,
): Move<State> {
  if (purpose !== 'estimate') return carryOut(state, result, trouble, atMs);
  const progress = { ...state.progress, ...defined({ modelEstimate: result.estimate }) };
  return goOn({ ...state, progress });
}

/** Takes the failure of the plan in flight: no reason to fail, so the heuristic decides. */
export function onRecoveryPlanFailed<State extends ActingState>(
  state: State,
  stage: Planning,
  failure: InfraError,
  atMs: number,
): Move<State> {
  if (stage.purpose === 'estimate') return goOn(state);
  const plan: Plan = {
    action: stage.fallback,
    source: 'heuristic',
    // Nothing was checked, so nothing runs and nobody can approve it: it goes to the model or to a person in words.
    digest: '',
    problem: shortened(`${failure.code}: ${failure.message}`, 300),
  };
  return carryOut(state, plan, stage.trouble, atMs);
}

/** Counts a try of the action's tool; another tool than before starts the count again (R-REC-5). */
function countTry<State extends RecoverySlice>(
  state: State,
  { strategy, action }: RecoveryAction,
): State {
  const { toolName } = action;
  if (toolName === '' || strategy === 'escalate' || strategy === 'give-up') return state;
  const before = state.recovery.retries[toolName] ?? 0;
  return { ...state, recovery: { ...state.recovery, retries: { [toolName]: before + 1 } } };
}

function carryOut<State extends ActingState>(
  state: State,
  planned: Plan,
  trouble: RecoveryTrouble,
  atMs: number,
): Move<State> {
  // A person takes the run over first: what they say comes before a plan, which would ask them or end the run.
  if (state.escalation !== undefined)
    return goOn({ ...state, recovery: { ...state.recovery, handledStep: state.progress.steps } });
  const stop = stopBeforeIteration(state);
  if (stop !== undefined) return fail(state, stop);
  const plan = withinBounds(state, planned, trouble);
  const decision = decideByConfidence(state, plan);
  const { action, source, problem } = plan;
  const { strategy, reasoning, confidence } = action;
  const noted: State = {
    ...state,
    progress: restartCount(state.progress),
    recovery: {
      ...state.recovery,
      handledStep: state.progress.steps,
      plans: state.recovery.plans + 1,
      troubles: [...(state.recovery.troubles ?? []), troubleKey(trouble)].slice(
        -rememberedTroubles,
      ),
      count: state.recovery.count + 1,
      last: { strategy, source, confidence, reasoning, toolName: action.action.toolName },
    },
  };
  const entry = publish({
    type: 'RecoveryEvent',
    strategy,
    reasoning,
    confidence,
    source,
    decision,
    summary: actionSummary(action),
    ...defined({ problem }),
  });
  return precededBy([entry], follow(noted, decision, plan, trouble, atMs));
}

function follow<State extends ActingState>(
  state: State,
  decision: RecoveryDecision,
  plan: Plan,
  trouble: RecoveryTrouble,
  atMs: number,
): Move<State> {
  const { action } = plan;
  switch (decision) {
    case 'observes':
      return goOn(state);
    case 'asks':
      return startWait(
        state,
        (timed) => ({
          type: 'asking',
          approvalId: `recovery-${state.recovery.count}`,
          plan,
          trouble,
          ...timed,
        }),
        personWaitMs(state),
        atMs,
      );
    case 'escalates':
    case 'cannot escalate':
      return startEscalation(state, action, trouble, atMs);
    case 'suggests':
      return advise(state, plan, trouble);
    case 'gives up':
      return giveUp(state, gaveUpMessage(action, trouble));
    case 'acts':
      return action.strategy === 'retry' && runnableCall(state, plan) !== undefined
        ? startWait(
            state,
            (timed) => ({ type: 'backing-off', plan, trouble, ...timed }),
            firstBackoffMs * 2 ** (state.recovery.retries[action.action.toolName] ?? 0),
            atMs,
          )
        : act(state, plan, trouble);
  }
}

function giveUp<State>(state: State, message: string): Move<State> {
  return fail(state, { reason: 'gave_up', message });
}

/**
 * The call that the runtime makes itself. The runtime only suggests an irreversible effect, and, unless a planner's model or a
 * person chose it, any other call that changes the world (R-REC-9).
 */
function runnableCall(state: ActingState, { call, source }: Plan): ProposedToolCall | undefined {
  if (call === undefined || call.error !== undefined) return undefined;
  const effect = toolPolicy(state, call.name)?.effect;
  const isAsked = source === 'model' || recoveryStage(state, 'asking') !== undefined;
  const isAllowed = effect === 'read' || (isAsked && effect !== 'irreversible');
  return effect === undefined || !isAllowed ? undefined : call;
}

/** The state in which the plan's action is tried. */
function onTrial<State extends ActingState>(
  state: State,
  { action, patternId }: Plan,
  trouble: RecoveryTrouble,
): State {
  const { toolName } = action.action;
  return startTrial(countTry(creditHelp(state, 'recovery'), action), {
    summary: actionSummary(action),
    trouble,
    action: defined({ toolName: toolName === '' ? undefined : toolName, patternId }),
  });
}

/** The hint of what failed, unless the way out is another tool. */
function hintOf(
  state: ActingState,
  { action }: Plan,
  trouble: RecoveryTrouble,
): string | undefined {
  const { toolName } = action.action;
  if (toolName !== '' && toolName !== trouble.tool) return undefined;
  return failureBehind(state.progress.memory.failures, trouble)?.hint;
}

/** Suggests the action to the model, in the next request only. */
function advise<State extends ActingState>(
  state: State,
  plan: Plan,
  trouble: RecoveryTrouble,
): Move<State> {
  const hint = hintOf(state, plan, trouble);
  const note = guidanceNote(plan.action, plan.source, trouble.message, {
    times: state.recovery.plans,
    ...defined({ hint }),
  });
  return goOn(forgetLoop(addNote(onTrial(state, plan, trouble), note)));
}

/** Carries the action out: a concrete one as a real tool call, advice as an ephemeral note. */
function act<State extends ActingState>(
  state: State,
  plan: Plan,
  trouble: RecoveryTrouble,
): Move<State> {
  const call = runnableCall(state, plan);
  if (call === undefined) return advise(state, plan, trouble);
  const { action, source } = plan;
  const tried = onTrial(state, plan, trouble);
  const introduction = runtimeIntroduction(action, source, trouble.message);
  const { head } = prepared(tried);
  const recovery: RuntimeCall = { call, introduction };
  return {
    state: tried,
    commands: [],
    next: { type: 'admit-calls', calls: [call], head, recovery },
  };
}

/** Drops the note once a recovery call worked: if only one tool was in trouble, the note asks for what is already done. */
function withoutStaleNote<State extends ActingState>(state: State): State {
  const { iterations } = state.counters;
  const newest = state.unhealed.filter(({ iteration }) => iteration === iterations);
  return new Set(newest.map(({ tool }) => tool)).size > 1 ? state : dropTroubleNote(state);
}

/**
 * Takes the result of the runtime's own call, which the model reads in the next request. Its failure is not the model's, so it
 * does not enter the ring.
 */
export function settleRuntimeCall<State extends ActingState>(
  state: State,
  pending: PendingResult,
  call: ProposedToolCall,
): Move<State> {
  const settled: State = {
    ...forgetLoop(state),
    progress: { ...state.progress, underWay: freshStep },
  };
  // The text of a failed call may ask for more rights, also after a call of the runtime.
  const taken = pending.isError
    ? stay(requireNewPrivileges(settled))
    : healErrors(withoutStaleNote(settled), [call]);
  return andThen(taken, (after) => goOn(after));
}

function waitEnded(stage: WaitingStage, how = ''): UnstampedCommand {
  return publish({
    type: 'WaitEndedEvent',
    waitedFor: `${stageText(stage)}${how}`,
    wait: stageWait(stage),
  });
}

/** Takes a person's decision on an action; undefined if the approval is another's. */
export function onRecoveryApproval<State extends ActingState>(
  state: State,
  event: Extract<RunEvent, { type: 'approval-resolved' }>,
): Move<State> | undefined {
  const asking = recoveryStage(state, 'asking');
  if (asking?.approvalId !== event.approvalId) return undefined;
  const { plan, trouble, timerId } = asking;
  const { action, digest } = plan;
  const { decision, by, atMs, reason, signature } = event;
  const key = decisionKey({ decision, ...defined({ signature }) });
  const made = { id: asking.approvalId, digest, decision: key, by, atMs };
  const recorded = recordDecision(state, made);
  const answered: State = { ...recorded, progress: restartIdleCount(state.progress) };
  const ended = waitEnded(asking, `: ${decision}`);
  const commands = [...cancelTimers([timerId]), ended];
  if (decision === 'reject')
    return goOn(addNote(answered, refusedNote(action, reason)), ...commands);
  return precededBy(
    commands,
    action.strategy === 'give-up'
      ? giveUp(answered, gaveUpMessage(action, trouble))
      : act(answered, plan, trouble),
  );
}

/** Takes a person's answer to a question of recovery, which starts recovery again; undefined if it is to another question. */
export function onRecoveryAnswer<State extends ActingState>(
  state: State,
  event: Extract<RunEvent, { type: 'question-answered' }>,
): Move<State> | undefined {
  const escalated = recoveryStage(state, 'escalated');
  if (escalated?.questionId !== event.questionId) return undefined;
  const { trouble, timerId } = escalated;
  const answered = takeAnswer(state, event);
  const renewed: State = {
    ...forgetLoop(resetBreaker(answered.state)),
    progress: restartIdleCount(state.progress),
    recovery: { ...state.recovery, plans: 0, troubles: [], retries: {}, tried: [] },
  };
  const tried = startTrial(renewed, { summary: "a person's answer", trouble });
  const ended = waitEnded(escalated);
  return goOn(tried, ...cancelTimers([timerId]), ...answered.commands, ended);
}

/** Nobody answered in time. */
function onExpired<State extends ActingState>(
  state: State,
  { message }: RecoveryTrouble,
): Move<State> {
  const policy = activePolicy(state);
  if (policy?.onExpiry === 'continue') return goOn(addNote(state, unansweredNote));
  const seconds = Math.round((policy?.waitMs ?? 0) / 1_000);
  return giveUp(
    state,
    `Gave up: a person was asked and did not answer within ${seconds} s (recovery.waitMs). What stood in the way: ${message} Please review the work completed so far.`,
  );
}

/** Takes the fired timer of a wait of recovery; undefined for any other timer. */
export function onRecoveryTimer<State extends ActingState>(
  state: State,
  timerId: string,
): Move<State> | undefined {
  const stage = currentStage(state);
  if (stage === undefined || stage.type === 'planning' || stage.timerId !== timerId)
    return undefined;
  return stage.type === 'backing-off'
    ? precededBy([waitEnded(stage)], act(state, stage.plan, stage.trouble))
    : precededBy([waitEnded(stage, ': nobody answered in time')], onExpired(state, stage.trouble));
}
