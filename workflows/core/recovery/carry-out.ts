/** Carries a plan out by its confidence: acts, asks, hands over or gives up; and takes what people say to it. */
import { charge, chargeFailure } from '../budget/budget';
import type { InfraError } from '../failure';
import type { Moment } from '../run/loop';
import { beginIteration, prepared } from '../run/loop';
import { resetErrors } from '../errors/circuit-breaker';
import { forgetLoop } from '../guard/loop-guard';
import { noteRecoveryAction } from '../learning/observations';
import { addNote } from '../model-call/notes';
import type { PlanRecoveryResult } from './ports';
import type { ProposedToolCall } from '../tools/ports';
import type { RecoveryAction, RecoveryDecision, RecoveryTrouble } from './action';
import { withinBounds } from './bounds';
import { activePolicy } from './gate';
import { startTrial } from './trial';
import { decisionKey, recordDecision } from '../people/decisions-made';
import type { Plan, RecoveryStage } from './state';
import {
  actionSummary,
  gaveUpMessage,
  guidanceNote,
  refusedNote,
  runtimeIntroduction,
  unansweredNote,
} from './text';
import { startAsking, startBackoff, startEscalation } from './waits';
import { noteWord, restartCount } from './progress';
import { endFailed } from '../run/end';
import type { RunEvent } from '../run/protocol';
import type { RunState } from '../run/state';
import { noSpend } from '../budget/spend';
import type { Step } from '../run/step';
import { andThen, publish, step } from '../run/step';
import { runToolCalls } from '../tools/phase';

type Planning = Extract<RecoveryStage, { type: 'planning' }>;
type Asking = Extract<RecoveryStage, { type: 'asking' }>;
type Escalated = Extract<RecoveryStage, { type: 'escalated' }>;

/** The step is dealt with: the iteration begins. */
function goOn(state: RunState, moment: Moment): Step {
  return beginIteration({ ...state, phase: { type: 'ready' } }, moment);
}

/** Charges what a plan cost, also one that failed. */
export function chargePlan(
  state: RunState,
  callId: string,
  came: { readonly result: PlanRecoveryResult } | { readonly failure: InfraError },
): RunState {
  return 'result' in came
    ? charge(state, callId, came.result.spend ?? noSpend)
    : chargeFailure(state, callId, came.failure);
}

/** Answers `recovery-planned` of the plan in flight. */
export function onRecoveryPlanned(
  state: RunState,
  stage: Planning,
  result: PlanRecoveryResult,
  moment: Moment,
): Step {
  if (stage.purpose === 'estimate') return takeEstimate(state, result, moment);
  return carryOut(state, result, stage.trouble, moment);
}

function takeEstimate(state: RunState, result: PlanRecoveryResult, moment: Moment): Step {
  const { steps } = state.progress;
  const estimated: RunState = {
    ...state,
    recovery: { ...state.recovery, estimatedStep: steps },
    progress:
      result.estimate === undefined
        ? state.progress
        : { ...state.progress, modelEstimate: { ...result.estimate, afterStep: steps } },
  };
  return goOn(estimated, moment);
}

/** Answers `recovery-plan-failed`: the planner is no reason to fail, so the heuristic decides. */
export function onRecoveryPlanFailed(
  state: RunState,
  stage: Planning,
  failure: InfraError,
  moment: Moment,
): Step {
  if (stage.purpose === 'estimate') {
    const { steps } = state.progress;
    return goOn({ ...state, recovery: { ...state.recovery, estimatedStep: steps } }, moment);
  }
  const plan: Plan = {
    action: stage.fallback,
    source: 'heuristic',
    // Nothing was checked, so nothing runs and nobody can approve it: it goes to the model or to a person in words.
    digest: '',
    problem: `${failure.code}: ${failure.message}`.slice(0, 300),
  };
  return carryOut(state, plan, stage.trouble, moment);
}

/** Tries of the tools after this action: another tool than before begins anew. */
function countTry(state: RunState, { strategy, action }: RecoveryAction): RunState {
  const { toolName } = action;
  if (toolName === '' || strategy === 'escalate' || strategy === 'give-up') return state;
  const before = state.recovery.retries[toolName];
  const retries = before === undefined ? { [toolName]: 1 } : { [toolName]: before + 1 };
  return { ...state, recovery: { ...state.recovery, retries } };
}

function decide(state: RunState, plan: Plan): RecoveryDecision {
  const policy = activePolicy(state);
  if (policy === undefined || policy.mode === 'observe') return 'observes';
  const { strategy, confidence } = plan.action;
  if (strategy === 'escalate' || confidence < policy.askAt) return 'escalates';
  if (confidence < policy.actAt) return plan.digest === '' ? 'escalates' : 'asks';
  return strategy === 'give-up' ? 'gives up' : 'acts';
}

function carryOut(state: RunState, planned: Plan, trouble: RecoveryTrouble, moment: Moment): Step {
  const plan = withinBounds(state, planned, trouble);
  const decision = decide(state, plan);
  const { action, source, problem } = plan;
  const { strategy, reasoning, confidence } = action;
  const noted: RunState = {
    ...state,
    progress: restartCount(state.progress),
    recovery: {
      ...state.recovery,
      handledStep: state.progress.steps,
      plans: state.recovery.plans + 1,
      count: state.recovery.count + 1,
      last: { strategy, source, confidence, reasoning, toolName: action.action.toolName },
    },
  };
  const told = step(
    noted,
    publish(noted, moment.atMs, {
      type: 'RecoveryEvent',
      strategy,
      reasoning,
      confidence,
      source,
      decision,
      summary: actionSummary(action),
      ...(problem === undefined ? {} : { problem }),
    }),
  );
  return andThen(told, (after) => follow(after, decision, plan, trouble, moment));
}

function follow(
  state: RunState,
  decision: RecoveryDecision,
  plan: Plan,
  trouble: RecoveryTrouble,
  moment: Moment,
): Step {
  const { action } = plan;
  switch (decision) {
    case 'observes':
      return goOn(state, moment);
    case 'asks':
      return startAsking(state, plan, trouble, moment.atMs);
    case 'escalates':
      return startEscalation(state, action, trouble, moment.atMs);
    case 'gives up':
      return endFailed(state, moment.atMs, 'gave_up', gaveUpMessage(action, trouble));
    case 'acts':
      return action.strategy === 'retry' && runnableCall(state, plan) !== undefined
        ? startBackoff(state, plan, trouble, moment.atMs)
        : act(state, plan, trouble, moment);
  }
}

/** An irreversible effect is the model's own to decide: the runtime only suggests it (ADR 0026). */
function runnableCall(state: RunState, { call }: Plan): ProposedToolCall | undefined {
  if (call === undefined || call.error !== undefined) return undefined;
  const policy = prepared(state).snapshot.tools.find((tool) => tool.name === call.name);
  return policy === undefined || policy.effect === 'irreversible' ? undefined : call;
}

/** What mends the trouble from now on is this action's doing. */
function tellLearning(
  state: RunState,
  { action, patternId }: Plan,
  { tool }: RecoveryTrouble,
): RunState {
  const { toolName } = action.action;
  return noteRecoveryAction(state, {
    ...(tool === '' ? {} : { failedTool: tool }),
    ...(toolName === '' ? {} : { toolName }),
    ...(patternId === undefined ? {} : { patternId }),
  });
}

/** Carries the action out: a concrete one as a real tool call, advice as an ephemeral note. */
function act(state: RunState, plan: Plan, trouble: RecoveryTrouble, moment: Moment): Step {
  const { action, source } = plan;
  const summary = actionSummary(action);
  const tried = tellLearning(
    startTrial(countTry(state, action), { summary, trouble }),
    plan,
    trouble,
  );
  const call = runnableCall(state, plan);
  if (call === undefined) {
    const advised = addNote(tried, guidanceNote(action, source, trouble.message));
    return goOn({ ...advised, guard: forgetLoop(advised.guard) }, moment);
  }
  const introduction = runtimeIntroduction(action, source, trouble.message);
  return runToolCalls(tried, [call], prepared(tried).head, moment, { call, introduction });
}

function waitEnded(state: RunState, waitedFor: string, atMs: number): Step {
  return step(state, publish(state, atMs, { type: 'WaitEndedEvent', waitedFor }));
}

function cancelTimer(decided: Step, timerId: string): Step {
  return {
    state: decided.state,
    commands: [{ type: 'cancel-timer', timerId }, ...decided.commands],
  };
}

/** Takes a person's decision on an action. */
export function onRecoveryApproval(
  state: RunState,
  stage: Asking,
  decision: Pick<Extract<RunEvent, { type: 'approval-resolved' }>, 'decision' | 'reason' | 'by'>,
  moment: Moment,
): Step {
  const { plan, trouble } = stage;
  const what = actionSummary(plan.action);
  const ended = waitEnded(state, `approval of ${what}: ${decision.decision}`, moment.atMs);
  const made = {
    id: stage.approvalId,
    digest: plan.digest,
    decision: decisionKey(decision.decision),
    by: decision.by,
    atMs: moment.atMs,
  };
  const approvals = recordDecision(state.approvals, made);
  const heard = { ...ended, state: { ...state, approvals, progress: noteWord(state.progress) } };
  const followed = andThen(heard, (after) => {
    if (decision.decision === 'approve')
      return plan.action.strategy === 'give-up'
        ? endFailed(after, moment.atMs, 'gave_up', gaveUpMessage(plan.action, trouble))
        : act(after, plan, trouble, moment);
    return goOn(addNote(after, refusedNote(plan.action, decision.reason)), moment);
  });
  return cancelTimer(followed, stage.timerId);
}

/** A person's answer goes on with the run, and recovery begins anew. `heard` holds the answer in the inbox. */
export function onRecoveryAnswer(heard: Step, stage: Escalated, moment: Moment): Step {
  const { trouble, question } = stage;
  const followed = andThen(heard, (after) => {
    const renewed: RunState = {
      ...after,
      progress: noteWord(after.progress),
      guard: forgetLoop(after.guard),
      breaker: resetErrors(),
      recovery: { ...after.recovery, plans: 0, retries: {}, tried: [] },
    };
    const tried = startTrial(renewed, { summary: "a person's answer", trouble });
    return andThen(waitEnded(tried, `person: ${question}`, moment.atMs), (told) =>
      goOn(told, moment),
    );
  });
  return cancelTimer(followed, stage.timerId);
}

/** Nobody answered in time. */
function onExpired(state: RunState, trouble: RecoveryTrouble, moment: Moment): Step {
  const policy = state.snapshot?.recovery;
  if (policy?.onExpiry === 'continue') return goOn(addNote(state, unansweredNote), moment);
  const message = `Gave up: a person was asked and did not answer within ${Math.round((policy?.waitMs ?? 0) / 1_000)} s (recovery.waitMs). What stood in the way: ${trouble.message} Please review the work completed so far.`;
  return endFailed(state, moment.atMs, 'gave_up', message);
}

/** Answers `timer-fired` of a wait of recovery; undefined where the timer is another's. */
export function onRecoveryTimer(
  state: RunState,
  timerId: string,
  moment: Moment,
): Step | undefined {
  const { phase } = state;
  if (phase.type !== 'recovering') return undefined;
  const { stage } = phase;
  if (stage.type === 'planning' || stage.timerId !== timerId) return undefined;
  const { trouble } = stage;
  if (stage.type === 'backing-off') {
    const { plan } = stage;
    return andThen(waitEnded(state, 'a pause before a retry', moment.atMs), (after) =>
      act(after, plan, trouble, moment),
    );
  }
  return andThen(waitEnded(state, 'person: nobody answered in time', moment.atMs), (after) =>
    onExpired(after, trouble, moment),
  );
}
