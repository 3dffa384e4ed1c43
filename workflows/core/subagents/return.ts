/** Takes a subagent back: counts what it consumed, and gives its answer, or why there is none, to the model. */
import { charge, chargeUnknown } from '../budget/budget';
import { noSpend, usdOf } from '../budget/spend';
import type { BudgetSlice } from '../budget/state';
import { countActiveUntil } from '../guard/clock';
import type { GuardSlice } from '../guard/state';
import { addGuardCounts } from '../guard/state';
import { defined } from '../json';
import { count } from '../run/account';
import type { SubagentEnd, SubagentRecord } from '../run/outcome';
import { toolPolicy } from '../run/ports';
import type { Move } from '../run/move';
import { andThen, goTo, publish, stay } from '../run/move';
import type { CallingState } from '../tools/calls';
import { settleFailedCall } from '../tools/calls';
import type { ProposedToolCall } from '../tools/ports';
import type { ToolCallProgress } from '../tools/state';
import { activityIdAt, callsOf, replaceCall } from '../tools/state';
import { subagentError } from './outcome';
import type { SubagentsSlice } from './state';

/** A subagent works on the call. */
type Delegated = Extract<ToolCallProgress['status'], { type: 'delegated' }>;

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
      return charge(state, callId, noSpend);
  }
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
  call: ProposedToolCall,
  { runId, sinceActiveMs }: Delegated,
  callId: string,
  end: SubagentEnd,
): Move<State> {
  const agent = toolPolicy(state, call.name)?.subagent?.agent ?? call.name;
  const record = recordOf(runId, agent, end);
  const charged = chargeEnd(state, callId, end);
  const kept: State = {
    ...charged,
    subagents: [...charged.subagents, record].slice(-recordedSubagents),
  };
  // Subagents work side by side, and beside the tools of their run: the longest counts.
  const ownMs = end.type === 'ended' ? end.consumed.activeMs : 0;
  const entry = publish({
    type: 'SubagentEndedEvent',
    toolCallId: call.toolCallId,
    runId,
    status: record.status,
    message: end.message,
    ...defined({ usd: record.usd }),
  });
  return andThen(stay(kept, entry), (after) => countActiveUntil(after, sinceActiveMs + ownMs));
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
  return andThen(account(state, call, status, callId, end), (after) => {
    if (end.type !== 'ended' || end.status !== 'completed' || end.head === undefined)
      return settleFailedCall(after, call, subagentError(call.name, end));
    const answered = { ...call, answer: { runId, head: end.head } };
    return goTo(
      'run-calls',
      replaceCall(after, { call: answered, status: { type: 'ready', isResumed: true } }),
    );
  });
}
