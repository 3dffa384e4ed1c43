/** Before each iteration: a run that is stuck starts to recover. */
import { reserve } from '../budget/budget';
import type { BudgetSlice } from '../budget/state';
import { shortHash } from '../errors/fingerprint';
import { decideRoute, isRecovering, routeName } from '../failover/provider-health';
import type { FailoverSlice } from '../failover/state';
import { findLoop } from '../guard/loop-detector';
import type { GuardSlice } from '../guard/state';
import { defined } from '../json';
import type { Move } from '../run/move';
import { andThen, publish, stay } from '../run/move';
import type { GoalSlice } from '../secrets/shown-text';
import type { NextRequestSlice } from '../model-call/next-request';
import type { FailedCall, RecoveryPolicy, RecoveryTrouble, StuckContext } from './action';
import { exhaustedTools } from './bounds';
import { escalateAction, heuristicAction } from './heuristics';
import type { PlanRecoveryInput } from './ports';
import type { LoopSeen, StuckReason } from './progress';
import { estimateProgress, stuckReason, stuckSteps } from './progress';
import type { Recovering, RecoverySlice } from './state';
import { activePolicy } from './state';
import { closeTrial } from './trial';
import type { RecoveringState } from './waits';
import { startEscalation } from './waits';

/** Characters of the goal in a plan's context. */
const goalChars = 1_000;

/** What the gate reads, and what it reserves for a plan. */
export type GateState = RecoveringState &
  BudgetSlice &
  FailoverSlice &
  GoalSlice &
  GuardSlice &
  NextRequestSlice;

/** What the remedy that just proved useless was for; undefined where none did. */
function refutedTrouble({ recovery, progress }: RecoverySlice): string | undefined {
  return recovery.refutedStep === progress.steps ? recovery.refutedTrouble : undefined;
}

/** The newest failure, if it belongs to the steps in which the run got stuck: an older one is not what stops it now. */
function failureOf(
  state: RecoverySlice,
  stuck: StuckReason | undefined,
  loop: LoopSeen | undefined,
): FailedCall | undefined {
  const { memory, steps } = state.progress;
  const newest = memory.failures.at(-1);
  if (newest === undefined) return undefined;
  const span = stuck?.code === 'loop' ? (loop?.period ?? 1) : stuckSteps;
  return newest.lastStep > steps - span ? newest : undefined;
}

function troubleOf(
  state: GateState,
  stuck: StuckReason | undefined,
  loop: LoopSeen | undefined,
): RecoveryTrouble {
  const failure = failureOf(state, stuck, loop);
  if (failure !== undefined) {
    const { tool, code, message, input } = failure;
    return { tool, code, message, ...(input === undefined ? {} : { input }) };
  }
  return {
    tool: state.progress.latest?.tool ?? '',
    code: stuck?.code ?? 'no_progress',
    message: refutedTrouble(state) ?? stuck?.reason ?? 'The progress is estimated.',
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
    goal: request.goal.slice(0, goalChars),
    estimate: estimateProgress(progress, loop),
    steps: progress.steps,
    completedSteps: memory.completedSteps,
    facts: memory.facts,
    ...(latest === undefined ? {} : { latest }),
    failures: memory.failures,
    trouble,
    tried: recovery.tried,
    exhaustedTools: exhaustedTools(state),
  };
}

function routeOf(state: GateState, atMs: number): Pick<PlanRecoveryInput, 'routeIndex' | 'probe'> {
  const chain = state.snapshot?.chain ?? [];
  const decision = decideRoute(state.health, chain, atMs);
  const route = decision.type === 'use' ? chain[decision.routeIndex] : undefined;
  if (decision.type !== 'use' || route === undefined) return {};
  return {
    routeIndex: decision.routeIndex,
    ...(isRecovering(state.health, routeName(route)) ? { probe: true } : {}),
  };
}

function planInput(
  state: GateState,
  purpose: 'plan' | 'estimate',
  context: StuckContext,
  atMs: number,
): PlanRecoveryInput | undefined {
  const { snapshot, head, next, recovery, counters } = state;
  if (snapshot === undefined || head === undefined) return undefined;
  const idPrefix = shortHash(state.runKey);
  return {
    storeId: snapshot.storeId,
    definition: snapshot.definition,
    head,
    purpose,
    context,
    ...routeOf(state, atMs),
    iteration: counters.iterations,
    idPrefix,
    ...(next.pendingResults.length === 0 ? {} : { pendingResults: next.pendingResults }),
    callIdPrefix: `${idPrefix}_r${recovery.count}`,
    fallback: heuristicAction(state, context.trouble, context.exhaustedTools),
  };
}

function startPlanning<State extends GateState>(
  state: State,
  purpose: 'plan' | 'estimate',
  context: StuckContext,
  atMs: number,
): Move<State> | undefined {
  const input = planInput(state, purpose, context, atMs);
  const { snapshot, counters } = state;
  if (input === undefined || snapshot === undefined) return undefined;
  const callId = purpose === 'plan' ? `r${counters.iterations}` : `r${counters.iterations}.1`;
  const { state: paid, allowance } = reserve(state, callId);
  const { fallback } = input;
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
      input: { ...input, ...defined({ allowance }) },
      limits: snapshot.limits,
    },
  );
}

/** The last remedy proved useless: the next one is tried at once, before a hard limit ends the run. */
function refuted({ recovery, progress }: RecoverySlice): StuckReason | undefined {
  if (recovery.refutedStep !== progress.steps) return undefined;
  const tried = recovery.tried.at(-1) ?? '';
  return { code: 'no_progress', reason: `The last recovery did not help: ${tried}` };
}

function estimateIsDue(state: GateState, { estimateEvery }: RecoveryPolicy): boolean {
  const { steps } = state.progress;
  return estimateEvery !== undefined && steps - state.recovery.estimatedStep >= estimateEvery;
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
  if (stuck === undefined)
    return estimateIsDue(state, policy)
      ? startPlanning(
          state,
          'estimate',
          contextOf(state, loop, troubleOf(state, stuck, loop)),
          atMs,
        )
      : undefined;
  const isSpent = state.recovery.plans >= policy.maxPerRun;
  if (isSpent && policy.mode === 'observe') return undefined;
  const context = contextOf(state, loop, troubleOf(state, stuck, loop));
  const announced = andThen(closeTrial(state, false), (closed) =>
    stay(
      closed,
      publish({
        type: 'StuckEvent',
        reason: stuck.reason,
        progressPercent: context.estimate.progressPercent,
        blockers: context.estimate.blockers,
      }),
    ),
  );
  return andThen(announced, (stuckState) => {
    if (isSpent) {
      const why = `${policy.maxPerRun} recoveries are spent (recovery.maxPerRun).`;
      const action = escalateAction(stuckState, context.trouble, why);
      return startEscalation(stuckState, action, context.trouble, atMs);
    }
    const tried = contextOf(stuckState, loop, context.trouble);
    return startPlanning(stuckState, 'plan', tried, atMs) ?? stay(stuckState);
  });
}
