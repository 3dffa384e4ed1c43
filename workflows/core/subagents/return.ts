/** Takes a subagent back: counts what it consumed, and gives its answer, or why there is none, to the model. */
import { charge, chargeUnknown, release } from '../budget/budget';
import { usdOf } from '../budget/spend';
import type { BudgetSlice } from '../budget/state';
import type { GuardSlice } from '../guard/state';
import { addGuardCounts } from '../guard/state';
import { defined } from '../json';
import { addFailureLine, count, countFailure } from '../run/account';
import type { SubagentEnd, SubagentRecord } from '../run/outcome';
import { toolPolicy } from '../run/ports';
import type { Step } from '../run/step';
import { andThen, goTo, publish, step } from '../run/step';
import type { CallingState } from '../tools/calls';
import { settleFailedCall } from '../tools/calls';
import type { ProposedToolCall } from '../tools/ports';
import type { PhaseSlice } from '../run/phases';
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
      return chargeUnknown(state, callId);
    case 'not-started':
      return release(state, callId);
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

/** A subagent at work: its call, the call's activity id, and its run id. */
interface Delegated {
  readonly call: ProposedToolCall;
  readonly callId: string;
  readonly runId: string;
}

/** Charges, counts, records, and publishes a subagent that returned. */
function account<State extends ReturningState>(
  state: State,
  { call, callId, runId }: Delegated,
  end: SubagentEnd,
  atMs: number,
): Step<State> {
  const agent = toolPolicy(state, call.name)?.subagent?.agent ?? call.name;
  const record = recordOf(runId, agent, end);
  const counted = countTime(chargeEnd(state, callId, end), end);
  const kept: State = {
    ...counted,
    subagents: [...counted.subagents, record].slice(-recordedSubagents),
  };
  return step(
    kept,
    publish(kept, atMs, {
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
  atMs: number,
): Step<State> {
  const calls = callsOf(state);
  const index = calls.findIndex(({ call }) => call.toolCallId === toolCallId);
  const progress = calls[index];
  if (progress?.status.type !== 'delegated') return step(state);
  const { call, status } = progress;
  const { runId } = status;
  const delegated = { call, callId: activityIdAt(state, index), runId };
  return andThen(account(state, delegated, end, atMs), (after) => {
    if (end.type !== 'ended' || end.status !== 'completed' || end.head === undefined)
      return settleFailedCall(after, call, subagentError(call.name, end), atMs);
    const answered = { ...call, answer: { runId, head: end.head } };
    return goTo(
      'run-calls',
      replaceCall(after, { call: answered, status: { type: 'ready', isResumed: true } }),
    );
  });
}

/** Takes the end of a subagent that was stopped with the run. */
export function landSubagent<State extends ReturningState>(
  state: State,
  landed: Delegated,
  end: SubagentEnd,
  atMs: number,
): Step<State> {
  const line = `${landed.call.name}: stopped with the run: ${end.message}`;
  return andThen(account(state, landed, end, atMs), (after) =>
    step(countFailure(addFailureLine(after, line))),
  );
}
