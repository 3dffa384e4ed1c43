/** Before each iteration: a run that is stuck enters the ladder. */
import { reserve } from '../budget/budget';
import type { StuckReason } from './progress';
import { estimateProgress, stuckReason, stuckSteps } from './progress';
import type { LoopSeen } from './progress';
import { findLoop } from '../guard/loop-detector';
import { decideRoute, isRecovering, routeName } from '../failover/provider-health';
import type { PlanRecoveryInput } from './ports';
import type { FailedCall, RecoveryPolicy, RecoveryTrouble, StuckContext } from './action';
import { escalateAction, heuristicAction } from './heuristics';
import { closeTrial } from './trial';
import { startEscalation } from './waits';
import { shortHash } from '../errors/fingerprint';
import { hasRules } from '../rules';
import type { RunState } from '../run/state';
import type { Step } from '../run/step';
import { andThen, publish, step } from '../run/step';

/** Tries of one tool by recovery (seed 003). */
const maxRetriesPerTool = 2;

/** Characters of the goal in a plan's context. */
const goalChars = 1_000;

/** The loop that the run is in, as the guard's evidence shows it. */
export function loopOf(state: RunState): LoopSeen | undefined {
  return findLoop(state.guard.evidence);
}

/** How the run recovers; undefined where it does not. */
export function activePolicy(state: RunState): RecoveryPolicy | undefined {
  const policy = state.snapshot?.recovery;
  return policy === undefined || policy.mode === 'off' ? undefined : policy;
}

/** Tools that recovery may not try any more. */
export function exhaustedTools({ recovery }: RunState): readonly string[] {
  return Object.entries(recovery.retries).flatMap(([tool, tries]) =>
    tries >= maxRetriesPerTool ? [tool] : [],
  );
}

/** What the remedy that just proved useless was for; undefined where none did. */
function refutedTrouble({ recovery, progress }: RunState): string | undefined {
  return recovery.refutedStep === progress.steps ? recovery.refutedTrouble : undefined;
}

/** The newest failure, if it belongs to the steps in which the run got stuck: an older one is not what stops it now. */
function failureOf(
  state: RunState,
  stuck: StuckReason | undefined,
  loop: LoopSeen | undefined,
): FailedCall | undefined {
  const { memory, steps } = state.progress;
  const newest = memory.failures.at(-1);
  if (!hasRules(state, 3) || newest === undefined) return newest;
  const span = stuck?.code === 'loop' ? (loop?.period ?? 1) : stuckSteps;
  return newest.lastStep > steps - span ? newest : undefined;
}

function troubleOf(
  state: RunState,
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
  state: RunState,
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

function routeOf(state: RunState, atMs: number): Pick<PlanRecoveryInput, 'routeIndex' | 'probe'> {
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
  state: RunState,
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

function startPlanning(
  state: RunState,
  purpose: 'plan' | 'estimate',
  context: StuckContext,
  atMs: number,
): Step | undefined {
  const input = planInput(state, purpose, context, atMs);
  const { snapshot, counters } = state;
  if (input === undefined || snapshot === undefined) return undefined;
  const callId = purpose === 'plan' ? `r${counters.iterations}` : `r${counters.iterations}.1`;
  const { state: paid, allowance } = reserve(state, callId);
  const planning: RunState = {
    ...paid,
    phase: {
      type: 'recovering',
      stage: {
        type: 'planning',
        callId,
        purpose,
        fallback: input.fallback,
        trouble: context.trouble,
      },
    },
  };
  return step(planning, {
    type: 'plan-recovery',
    callId,
    summary: purpose === 'plan' ? 'plan a way out' : 'estimate the progress',
    input: allowance === undefined ? input : { ...input, allowance },
    limits: snapshot.limits,
  });
}

/** The last remedy proved useless: the next rung is tried at once, before a hard limit ends the run. */
function refuted({ recovery, progress }: RunState): StuckReason | undefined {
  if (recovery.refutedStep !== progress.steps) return undefined;
  const tried = recovery.tried.at(-1) ?? '';
  return { code: 'no_progress', reason: `The way out did not help: ${tried}` };
}

function estimateIsDue(state: RunState, { estimateEvery }: RecoveryPolicy): boolean {
  const { steps } = state.progress;
  return estimateEvery !== undefined && steps - state.recovery.estimatedStep >= estimateEvery;
}

/**
 * What is done before the next iteration of a run that is stuck; undefined where it goes on as usual.
 *
 * Contract: once per step, so that a run that is dealt with begins its iteration.
 */
export function recoveryGate(state: RunState, atMs: number): Step | undefined {
  const policy = activePolicy(state);
  if (policy === undefined || state.recovery.handledStep === state.progress.steps) return undefined;
  const loop = loopOf(state);
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
  const announced = andThen(closeTrial(state, false, atMs), (closed) =>
    step(
      closed,
      publish(closed, atMs, {
        type: 'StuckEvent',
        reason: stuck.reason,
        progressPercent: context.estimate.progressPercent,
        blockers: context.estimate.blockers,
      }),
    ),
  );
  return andThen(announced, (told) => {
    if (isSpent) {
      const why = `${policy.maxPerRun} recoveries are spent (recovery.maxPerRun).`;
      return startEscalation(
        told,
        escalateAction(told, context.trouble, why),
        context.trouble,
        atMs,
      );
    }
    return startPlanning(told, 'plan', contextOf(told, loop, context.trouble), atMs) ?? step(told);
  });
}
