/** Takes a subagent back: counts what it consumed, and gives its answer, or why there is none, to the model. */
import { charge, chargeReservation } from '../budget/budget';
import { addGuardCounts } from '../guard/counts';
import type { Moment } from '../run/loop';
import { usdOf } from '../budget/model-price';
import type { RunState, ToolCallProgress } from '../run/state';
import { appendLine, count, publish, step } from '../run/step';
import type { Step } from '../run/step';
import { andThen } from '../run/step';
import type { SubagentEnd, SubagentRecord } from './subagent';
import { subagentError } from './subagent';
import { activityIdAt } from '../tools/activity-id';
import { collectAnswer, failSubagentCall } from '../tools/phase';

/** Subagents that the report names, newest last. */
const recordedSubagents = 20;

function chargeEnd(state: RunState, callId: string, end: SubagentEnd): RunState {
  switch (end.type) {
    case 'ended': {
      const { spend, unpricedCalls, toolCalls, events, guard } = end.consumed;
      const charged = addGuardCounts(charge(state, callId, spend), guard);
      return count(
        {
          ...charged,
          budget: {
            ...charged.budget,
            unpricedCalls: charged.budget.unpricedCalls + unpricedCalls,
          },
        },
        {
          toolCalls: charged.counters.toolCalls + toolCalls,
          events: charged.counters.events + events,
        },
      );
    }
    case 'lost':
      return chargeReservation(state, callId);
    case 'not-started': {
      const { [callId]: _released, ...reserved } = state.budget.reserved;
      return { ...state, budget: { ...state.budget, reserved } };
    }
  }
}

/**
 * Subagents that run side by side take the time of the longest of them.
 *
 * Contract: only what goes beyond the longest one so far is added.
 */
function countTime(state: RunState, end: SubagentEnd): RunState {
  const ownMs = end.type === 'ended' ? end.consumed.activeMs : 0;
  if (state.phase.type !== 'running-tools') return { ...state, activeMs: state.activeMs + ownMs };
  const longestMs = state.phase.subagentMs ?? 0;
  if (ownMs <= longestMs) return state;
  return {
    ...state,
    activeMs: state.activeMs + ownMs - longestMs,
    phase: { ...state.phase, subagentMs: ownMs },
  };
}

function recordOf(runId: string, agent: string, end: SubagentEnd): SubagentRecord {
  if (end.type !== 'ended') return { runId, agent, status: 'lost' };
  const { nanoUsd } = end.consumed.spend;
  return {
    runId,
    agent,
    status: end.status,
    ...(end.reason === undefined ? {} : { reason: end.reason }),
    ...(nanoUsd === undefined || nanoUsd === 0 ? {} : { usd: usdOf(nanoUsd) }),
  };
}

function agentOf(state: RunState, toolName: string): string {
  return state.snapshot?.tools.find(({ name }) => name === toolName)?.subagent?.agent ?? toolName;
}

/** Charges, counts, records and announces a subagent that came back. */
function account(
  state: RunState,
  { call, callId, runId }: { call: ToolCallProgress['call']; callId: string; runId: string },
  end: SubagentEnd,
  atMs: number,
): Step {
  const record = recordOf(runId, agentOf(state, call.name), end);
  const counted = countTime(chargeEnd(state, callId, end), end);
  const kept: RunState = {
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
      ...(record.usd === undefined ? {} : { usd: record.usd }),
    }),
  );
}

/** Answers `subagent-ended` of a call whose subagent is at work. */
export function onSubagentEnded(
  state: RunState,
  toolCallId: string,
  end: SubagentEnd,
  moment: Moment,
): Step {
  const { phase } = state;
  if (phase.type !== 'running-tools') return step(state);
  const index = phase.calls.findIndex(({ call }) => call.toolCallId === toolCallId);
  const progress = phase.calls[index];
  if (progress?.status.type !== 'delegated') return step(state);
  const { call, status } = progress;
  const { runId } = status;
  const callId = activityIdAt(state, index);
  return andThen(account(state, { call, callId, runId }, end, moment.atMs), (after) => {
    if (end.type !== 'ended' || end.status !== 'completed' || end.head === undefined)
      return failSubagentCall(after, call, subagentError(call.name, end), moment);
    return collectAnswer(after, { ...call, answer: { runId, head: end.head } }, index);
  });
}

/** Takes a subagent back that was asked to stop with the run. Returns the state before the call is struck off. */
export function landSubagent(
  state: RunState,
  landed: { call: ToolCallProgress['call']; callId: string },
  runId: string,
  end: SubagentEnd,
  atMs: number,
): Step {
  const { message } = end;
  return andThen(account(state, { ...landed, runId }, end, atMs), (after) =>
    step(
      count(
        {
          ...after,
          didNotWork: appendLine(
            after.didNotWork,
            `${landed.call.name}: stopped with the run: ${message}`.slice(0, 300),
          ),
        },
        { toolCallsFailed: after.counters.toolCallsFailed + 1 },
      ),
    ),
  );
}
