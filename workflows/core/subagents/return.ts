/** Takes a subagent back: counts what it consumed, and gives its answer, or why there is none, to the model. */
import { charge, chargeReservation } from '../budget/budget';
import { noSpend, usdOf } from '../budget/spend';
import type { BudgetSlice } from '../budget/state';
import type { GuardSlice } from '../guard/state';
import { addGuardCounts } from '../guard/state';
import { defined } from '../json';
import { addFailureLine, count, countFailure } from '../run/account';
import type { SubagentEnd, SubagentRecord } from '../run/outcome';
import { toolPolicy } from '../run/ports';
import type { Move } from '../run/move';
import { andThen, goTo, publish, stay } from '../run/move';
import type { CallingState } from '../tools/calls';
import { settleFailedCall } from '../tools/calls';
import type { CallInFlight, PhaseSlice } from '../run/phases';
import { activityIdAt, callsOf, changeToolPhase, replaceCall, runningTools } from '../tools/state';
import { subagentError } from './outcome';
import type { SubagentsSlice } from './state';

type ReturningState = SubagentsSlice & BudgetSlice & CallingState & GuardSlice;

/** Subagents that the report names. */
const recordedSubagents = 20;

/** Charges and counts what a subagent consumed. */
function chargeEnd<State extends ReturningState>(
  state: State,
  callId: string,
  end: SubagentEnd,
): State {
  switch (end.type) {
    case 'ended': {
      const { spend, unpricedCalls, toolCalls, events, guard } = end.consumed;
      const charged = addGuardCounts(charge(state, callId, spend), guard);
      const { budget, counters } = charged;
      return count(
        { ...charged, budget: { ...budget, unpricedCalls: budget.unpricedCalls + unpricedCalls } },
        { toolCalls: counters.toolCalls + toolCalls, events: counters.events + events },
      );
    }
    case 'lost':
      return chargeReservation(state, callId);
    case 'not-started':
      return charge(state, callId, noSpend);
  }
}

/** Counts active time: subagents that run side by side take the time of the longest of them. */
function countTime<State extends GuardSlice & PhaseSlice>(state: State, end: SubagentEnd): State {
  const ownMs = end.type === 'ended' ? end.consumed.activeMs : 0;
  const longestMs = runningTools(state)?.subagentMs ?? 0;
  if (ownMs <= longestMs) return state;
  return changeToolPhase({ ...state, activeMs: state.activeMs + ownMs - longestMs }, (phase) => ({
    ...phase,
    subagentMs: ownMs,
  }));
}

function recordOf(runId: string, agent: string, end: SubagentEnd): SubagentRecord {
  if (end.type !== 'ended') return { runId, agent, status: 'lost' };
  const { nanoUsd = 0 } = end.consumed.spend;
  const usd = nanoUsd === 0 ? undefined : usdOf(nanoUsd);
  return { runId, agent, status: end.status, ...defined({ reason: end.reason, usd }) };
}

/** Charges, counts, records, and publishes a subagent that returned. */
function account<State extends ReturningState>(
  state: State,
  { call, callId }: CallInFlight,
  runId: string,
  end: SubagentEnd,
): Move<State> {
  const agent = toolPolicy(state, call.name)?.subagent?.agent ?? call.name;
  const record = recordOf(runId, agent, end);
  const counted = countTime(chargeEnd(state, callId, end), end);
  const kept: State = {
    ...counted,
    subagents: [...counted.subagents, record].slice(-recordedSubagents),
  };
  return stay(
    kept,
    publish({
      type: 'SubagentEndedEvent',
      toolCallId: call.toolCallId,
      runId,
      status: record.status,
      message: end.message,
      ...defined({ usd: record.usd }),
    }),
  );
}

/** Takes the end of a subagent at work. */
export function onSubagentEnded<State extends ReturningState>(
  state: State,
  toolCallId: string,
  end: SubagentEnd,
): Move<State> {
  const calls = callsOf(state);
  const index = calls.findIndex(({ call }) => call.toolCallId === toolCallId);
  const progress = calls[index];
  if (progress?.status.type !== 'delegated') return stay(state);
  const { call, status } = progress;
  const { runId } = status;
  const callId = activityIdAt(state, index);
  return andThen(account(state, { call, callId }, runId, end), (after) => {
    if (end.type !== 'ended' || end.status !== 'completed' || end.head === undefined)
      return settleFailedCall(after, call, subagentError(call.name, end));
    const answered = { ...call, answer: { runId, head: end.head } };
    return goTo(
      'run-calls',
      replaceCall(after, { call: answered, status: { type: 'ready', isResumed: true } }),
    );
  });
}

/** Takes the end of a subagent that was stopped with the run. */
export function keepSubagent<State extends ReturningState>(
  state: State,
  inFlight: CallInFlight,
  end: SubagentEnd,
): Move<State> {
  const { call, runId } = inFlight;
  if (runId === undefined) return stay(state);
  const line = `${call.name}: stopped with the run: ${end.message}`;
  return andThen(account(state, inFlight, runId, end), (after) =>
    stay(countFailure(addFailureLine(after, line))),
  );
}
