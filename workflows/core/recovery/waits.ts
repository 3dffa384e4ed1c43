/** The durable waits of recovery: a question to a person, an approval of an action, a pause before a retry. */
import type { RecoveryAction, RecoveryTrouble } from './action';
import type { Plan, RecoveryStage } from './state';
import { actionSummary, escalationQuestion } from './text';
import type { RunState } from '../run/state';
import { shownText } from '../people/shown-text';
import type { Step } from '../run/step';
import { count, publish, step } from '../run/step';

/** First pause before a retry in milliseconds, doubled for each earlier one of the same tool (ADR 0026). */
const firstBackoffMs = 2_000;

/** Milliseconds that a person has where the policy is not known: never, since a run without a policy does not recover. */
const dayMs = 86_400_000;

interface Timed {
  readonly timerId: string;
  readonly untilMs: number;
  readonly sinceMs: number;
}

function startWait(
  state: RunState,
  stage: (timed: Timed) => RecoveryStage,
  delayMs: number,
  waitingFor: string,
  atMs: number,
): Step {
  const timers = state.counters.timers + 1;
  const timerId = `recovery-${timers}`;
  const timed = stage({ timerId, untilMs: atMs + delayMs, sinceMs: atMs });
  const waiting = count(
    {
      ...state,
      phase: { type: 'recovering', stage: timed },
      recovery: { ...state.recovery, count: state.recovery.count + 1 },
    },
    { timers },
  );
  return step(waiting, publish(waiting, atMs, { type: 'WaitStartedEvent', waitingFor }), {
    type: 'start-timer',
    timerId,
    delayMs,
    summary: `recovery: ${waitingFor}`.slice(0, 200),
  });
}

function personWaitMs(state: RunState): number {
  return state.snapshot?.recovery?.waitMs ?? dayMs;
}

/** Hands the run to a person with a question. */
export function startEscalation(
  state: RunState,
  action: RecoveryAction,
  trouble: RecoveryTrouble,
  atMs: number,
): Step {
  const asked = escalationQuestion(action, trouble, state.recovery.tried);
  // The goal, and what a person said when they rejected a call, may be in it.
  const question = shownText(asked, asked.length);
  const escalated = publish(state, atMs, { type: 'EscalatedEvent', reason: question });
  const questionId = `recovery-${state.recovery.count}`;
  const waiting = startWait(
    state,
    (timed) => ({ type: 'escalated', questionId, question, trouble, ...timed }),
    personWaitMs(state),
    `person: ${question}`,
    atMs,
  );
  return { state: waiting.state, commands: [escalated, ...waiting.commands] };
}

/** Asks a person whether the action is to be carried out. */
export function startAsking(
  state: RunState,
  plan: Plan,
  trouble: RecoveryTrouble,
  atMs: number,
): Step {
  const approvalId = `recovery-${state.recovery.count}`;
  return startWait(
    state,
    (timed) => ({ type: 'asking', approvalId, plan, trouble, ...timed }),
    personWaitMs(state),
    `approval of ${actionSummary(plan.action)}`,
    atMs,
  );
}

/** Pauses before a retry. */
export function startBackoff(
  state: RunState,
  plan: Plan,
  trouble: RecoveryTrouble,
  atMs: number,
): Step {
  const earlier = state.recovery.retries[plan.action.action.toolName] ?? 0;
  return startWait(
    state,
    (timed) => ({ type: 'backing-off', plan, trouble, ...timed }),
    firstBackoffMs * 2 ** earlier,
    `a pause before ${actionSummary(plan.action)}`,
    atMs,
  );
}
