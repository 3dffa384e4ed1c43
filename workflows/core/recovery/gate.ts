/** Before each iteration: a run that is stuck starts to recover. */
import { reserve } from '../budget/budget';
import type { BudgetSlice } from '../budget/state';
import { shortHash } from '../errors/fingerprint';
import type { ErrorsSlice } from '../errors/state';
import { decideRoute, isRecovering, routeName } from '../failover/provider-health';
import { isUnstructured } from '../failover/refused-dialect';
import type { FailoverSlice } from '../failover/state';
import { findLoop } from '../guard/loop-detector';
import type { GuardSlice } from '../guard/state';
import { defined } from '../json';
import { prepared } from '../run/ports';
import type { Move } from '../run/move';
import { andThen, precededBy, publish, stay } from '../run/move';
import type { GoalSlice } from '../secrets/shown-text';
import { shortened } from '../shortened';
import type { NextRequestSlice } from '../model-call/next-request';
import type { FailedCall, RecoveryPolicy, RecoveryTrouble, StuckContext } from './action';
import { exhaustedTools } from './bounds';
import { escalateAction, heuristicAction } from './heuristics';
import type { PlanRecoveryInput } from './ports';
import { estimateProgress } from './progress';
import type { LoopSeen, StuckReason } from './stuck';
import { stuckReason, stuckSteps } from './stuck';
import type { Recovering, RecoverySlice } from './state';
import { activePolicy } from './state';
import { closeTrial } from './trial';
import type { RecoveringState } from './waits';
import { startEscalation } from './waits';

/** Characters of the goal in a plan's context. */
const goalChars = 1_000;

/** An estimate is asked for while nothing is known to be wrong. */
const noTrouble: StuckReason = { code: 'no_progress', reason: 'The progress is estimated.' };

/** What the gate reads, and what it reserves for a plan. */
export type GateState = RecoveringState &
  BudgetSlice &
  ErrorsSlice &
  FailoverSlice &
  GoalSlice &
  GuardSlice &
  NextRequestSlice;

/** Whether the last remedy just proved useless. */
function isRefuted({ recovery, progress }: RecoverySlice): boolean {
  return recovery.refutedStep === progress.steps;
}

/** The failure that came most often in the steps in which the run got stuck: an older one is not what stops it now. */
function failureOf(
  { progress: { memory, steps } }: RecoverySlice,
  stuck: StuckReason,
  loop: LoopSeen | undefined,
): FailedCall | undefined {
  const span = stuck.code === 'loop' ? (loop?.period ?? 1) : stuckSteps;
  const recent = memory.failures.filter(({ lastStep }) => lastStep > steps - span);
  const most = Math.max(...recent.map(({ times }) => times));
  return recent.findLast(({ times }) => times === most);
}

function troubleOf(
  state: GateState,
  stuck: StuckReason,
  loop: LoopSeen | undefined,
): RecoveryTrouble {
  const { progress, recovery } = state;
  const failure = failureOf(state, stuck, loop);
  if (failure !== undefined) {
    const { tool, code, message, input } = failure;
    return { tool, code, message, ...defined({ input }) };
  }
  return {
    tool: progress.latest?.tool ?? '',
    code: stuck.code,
    // A remedy that just proved useless was for some trouble, which persists.
    message: (isRefuted(state) ? recovery.refutedTrouble : undefined) ?? stuck.reason,
  };
}

function contextOf(
  state: GateState,
  loop: LoopSeen | undefined,
  trouble: RecoveryTrouble,
): StuckContext {
  const { progress, recovery, request } = state;
  const { memory, latest } = progress;
  return {
    goal: shortened(request.goal, goalChars),
    estimate: estimateProgress(progress, loop),
    steps: progress.steps,
    completedSteps: memory.completedSteps,
    facts: memory.facts,
    ...defined({ latest }),
    failures: memory.failures,
    trouble,
    tried: recovery.tried,
    exhaustedTools: exhaustedTools(state),
  };
}

function routeOf(
  state: GateState,
  atMs: number,
): Pick<PlanRecoveryInput, 'routeIndex' | 'probe' | 'unstructured'> {
  const chain = state.snapshot?.chain ?? [];
  const decision = decideRoute(state.health, chain, atMs);
  const route = decision.type === 'use' ? chain[decision.routeIndex] : undefined;
  if (decision.type !== 'use' || route === undefined) return {};
  return {
    routeIndex: decision.routeIndex,
    ...(isRecovering(state.health, routeName(route)) ? { probe: true } : {}),
    ...(isUnstructured(state, routeName(route)) ? { unstructured: true } : {}),
  };
}

function startPlanning<State extends GateState>(
  state: State,
  purpose: PlanRecoveryInput['purpose'],
  { actAt, askAt }: RecoveryPolicy,
  context: StuckContext,
  atMs: number,
): Move<State> {
  const { next, recovery, counters } = state;
  const { snapshot, head } = prepared(state);
  const idPrefix = shortHash(state.runKey);
  // A plan may follow an estimate in the same iteration.
  const callId = `r${counters.iterations}${purpose === 'plan' ? '' : '.1'}`;
  const fallback = heuristicAction(state, context.trouble, context.exhaustedTools);
  const { state: paid, allowance } = reserve(state, callId);
  const phase: Recovering = {
    type: 'recovering',
    stage: { type: 'planning', callId, purpose, fallback, trouble: context.trouble },
  };
  return stay(
    { ...paid, phase },
    {
      type: 'plan-recovery',
      callId,
      summary: purpose === 'plan' ? 'plan a recovery' : 'estimate the progress',
      input: {
        storeId: snapshot.storeId,
        definition: snapshot.definition,
        head,
        purpose,
        context,
        thresholds: { actAt, askAt },
        ...routeOf(state, atMs),
        iteration: counters.iterations,
        idPrefix,
        ...(next.pendingResults.length === 0 ? {} : { pendingResults: next.pendingResults }),
        callIdPrefix: `${idPrefix}_r${recovery.count}`,
        fallback,
        ...defined({ allowance }),
      },
      limits: snapshot.limits,
    },
  );
}

/** The last remedy proved useless: the next one is tried at once, before a hard limit ends the run. */
function refuted(state: RecoverySlice): StuckReason | undefined {
  if (!isRefuted(state)) return undefined;
  const tried = state.recovery.tried.at(-1) ?? '';
  return { code: 'no_progress', reason: `The last recovery did not help: ${tried}` };
}

/** Asks a model how far the run is, every few steps; undefined if it is not yet time. */
function startEstimate<State extends GateState>(
  state: State,
  policy: RecoveryPolicy,
  atMs: number,
): Move<State> | undefined {
  const { recovery, progress } = state;
  const { steps } = progress;
  const isDue = steps - recovery.estimatedStep >= (policy.estimateEvery ?? Infinity);
  if (!isDue) return undefined;
  const trouble = troubleOf(state, noTrouble, undefined);
  const asked: State = { ...state, recovery: { ...recovery, estimatedStep: steps } };
  return startPlanning(asked, 'estimate', policy, contextOf(asked, undefined, trouble), atMs);
}

/**
 * What is done before the next iteration of a run that is stuck; undefined if the iteration starts as usual.
 *
 * Contract: once per step, so that the iteration starts afterwards.
 */
export function recoveryGate<State extends GateState>(
  state: State,
  atMs: number,
): Move<State> | undefined {
  const policy = activePolicy(state);
  if (policy === undefined || state.recovery.handledStep === state.progress.steps) return undefined;
  const loop = findLoop(state.guard.evidence);
  const stuck = refuted(state) ?? stuckReason(state.progress, loop);
  const isSpent = state.recovery.plans >= policy.maxPerRun;
  if (stuck === undefined || (isSpent && policy.mode === 'observe'))
    return startEstimate(state, policy, atMs);
  return andThen(closeTrial(state, false), (closed) => {
    const context = contextOf(closed, loop, troubleOf(closed, stuck, loop));
    const { trouble, estimate } = context;
    const announced = publish({
      type: 'StuckEvent',
      reason: stuck.reason,
      progressPercent: estimate.progressPercent,
      blockers: estimate.blockers,
    });
    const why = `${policy.maxPerRun} recoveries are spent (recovery.maxPerRun).`;
    return precededBy(
      [announced],
      isSpent
        ? startEscalation(closed, escalateAction(closed, trouble, why), trouble, atMs)
        : startPlanning(closed, 'plan', policy, context, atMs),
    );
  });
}
