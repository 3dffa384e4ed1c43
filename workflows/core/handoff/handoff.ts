/** Hands a run to another agent between two iterations: same transcript, limits and budget; other instructions, tools and routes (ADR 0060). */
import { charge } from '../budget/budget';
import { noSpend } from '../budget/spend';
import type { BudgetSlice } from '../budget/state';
import { withoutCounts } from '../context/size';
import type { ContextSlice } from '../context/state';
import type { FailoverSlice } from '../failover/state';
import { waitOrFail } from '../failover/wait-or-fail';
import type { FailingState } from '../failover/provider-failure';
import type { InfraError } from '../failure';
import { invariant } from '../invariant';
import { defined, without } from '../json';
import type { ModelCallSlice } from '../model-call/state';
import type { CountersSlice } from '../run/account';
import type { Move } from '../run/move';
import { goTo, publish, stay } from '../run/move';
import type { PhaseSlice, StoreWaitSlice } from '../run/phases';
import type { PrepareRunResult, RequestSlice, SnapshotSlice } from '../run/ports';
import { prepared, toolPolicy } from '../run/ports';
import { storeAnswered } from '../run/waiting';
import { shownText } from '../secrets/shown-text';
import type { ToolCallProgress } from '../tools/state';
import { settledCalls } from '../tools/state';
import type { Handoff, HandoffSlice } from './state';

type HandoffState = HandoffSlice & CountersSlice & PhaseSlice & RequestSlice & SnapshotSlice;

/** Characters of a reason that people read. */
const reasonChars = 200;

/** The handoff among the settled calls of a reply; undefined if there is none, or it failed or was rejected. */
export function handoffIn(
  state: SnapshotSlice,
  calls: readonly ToolCallProgress[],
): Handoff | undefined {
  const [handoff] = settledCalls(calls, ({ ran, error }) => ran && error === undefined).flatMap(
    ({ name, input }) => {
      const to = toolPolicy(state, name)?.handoff;
      const reason = input?.['reason'];
      if (to === undefined) return [];
      return [{ to, reason: typeof reason === 'string' ? shownText(reason, reasonChars) : '' }];
    },
  );
  return handoff;
}

/** Has the next agent prepared. */
export function startHandoff<State extends HandoffState>(state: State): Move<State> {
  const { handoff, counters, request } = state;
  invariant(handoff !== undefined, 'a handoff says to whom');
  const { snapshot, head } = prepared(state);
  const { storeId, definition, limits } = snapshot;
  const { pendingResults: _read, runtimeResults: _too, ...asked } = request;
  const callId = `h${counters.iterations}`;
  return stay(
    { ...state, phase: { type: 'handing-over', callId } },
    {
      type: 'hand-over',
      callId,
      summary: `hand over to ${handoff.to}`,
      input: {
        ...asked,
        actingAgent: handoff.to,
        storeId,
        limits,
        contextOf: definition,
        underway: { head },
      },
    },
  );
}

/** What belongs to the routes of the agent before; the routes' health and windows are kept by their names. */
function withoutRoutes<State extends FailoverSlice & ModelCallSlice & ContextSlice>(
  state: State,
): State {
  const unplaced = without<State>(state, 'lastRouteIndex');
  const unraised = without<State>(
    without<State>(unplaced, 'raisedOutputTokens'),
    'refusedOutputTokens',
  );
  return { ...unraised, context: withoutCounts(state.context) };
}

type TakingState = HandoffState &
  BudgetSlice &
  ContextSlice &
  FailoverSlice &
  ModelCallSlice &
  StoreWaitSlice;

/** The next agent acts from here on. What the run may use stays what it was started with, and so do its flags. */
export function onHandedOver<State extends TakingState>(
  state: State,
  callId: string,
  { snapshot: next, spend = noSpend }: PrepareRunResult,
): Move<State> {
  const { agent: from, limits, budget, flags } = prepared(state).snapshot;
  const { to = next.agent, reason = '' } = state.handoff ?? {};
  const paid = withoutRoutes(
    storeAnswered(charge(without<State>(state, 'handoff'), callId, spend)),
  );
  const { budget: _own, ...declared } = next;
  const handed: State = {
    ...paid,
    request: { ...state.request, actingAgent: to },
    snapshot: { ...declared, limits, flags, ...defined({ budget }) },
    phase: { type: 'ready' },
  };
  return goTo('check-input', handed, publish({ type: 'HandoffEvent', from, to, reason }));
}

/** The next agent could not be prepared: the run waits for the store, or ends with the cause. */
export function onHandoverFailed<State extends FailingState & PhaseSlice & StoreWaitSlice>(
  state: State,
  callId: string,
  failure: InfraError,
  atMs: number,
): Move<State> {
  const paid = charge(state, callId, failure.spend ?? noSpend);
  return waitOrFail(paid, failure, 'hand-over', atMs);
}
