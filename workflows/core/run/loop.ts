/** Begins iterations and issues model calls: the guard first, then the route, then the call. */
import { budgetStop, reserve } from '../budget/budget';
import { gateCall, skipsRoute } from '../context/gate';
import { contextBounds, countedNow } from '../context/state';
import { infraPolicies } from '../errors/failure-policy';
import { shortHash } from '../errors/fingerprint';
import { invariant } from '../invariant';
import { sendObservations } from '../learning/observations';
import { textsPerCallChars } from '../limits';
import type { Head } from '../message';
import type { AgentSnapshot } from './ports';
import type { CallModelInput, RouteConfig } from '../model-call/ports';
import { decideRoute, isRecovering, routeName } from '../failover/provider-health';
import { recoveryGate } from '../recovery/gate';
import type { NextRequest, RunState } from './state';
import { hasRules } from '../rules';
import { endFailed } from './end';
import { guardBeforeCall, guardBeforeIteration } from '../guard/limits-reached';
import type { Allowance } from '../budget/spend';
import type { Step } from './step';
import { andThen, count, publish, step } from './step';

/** Activity id of the preparation of a run. */
export const prepareCallId = 'prepare';

/** When something happens, and whether the server wants a new segment. */
export interface Moment {
  readonly atMs: number;
  readonly rollOverSuggested?: boolean;
}

/** What a prepared run always has. */
export interface Prepared {
  readonly snapshot: AgentSnapshot;
  readonly head: Head;
}

/** Snapshot and head of a run that has been prepared. */
export function prepared(state: RunState): Prepared {
  const { snapshot, head } = state;
  invariant(snapshot !== undefined && head !== undefined, 'the run is not prepared');
  return { snapshot, head };
}

/** Begins the next iteration, unless a person, the guard or the server wants something else first. */
export function beginIteration(state: RunState, moment: Moment): Step {
  const { snapshot } = prepared(state);
  const { atMs } = moment;
  if (state.escalation !== undefined) return waitForPerson(state, state.escalation, atMs);
  const stop = guardBeforeIteration(snapshot.limits, state.counters, state.activeMs);
  if (stop !== undefined) return endFailed(state, atMs, stop.reason, stop.message);
  if (moment.rollOverSuggested === true)
    return step({ ...state, phase: { type: 'ready' } }, { type: 'roll-over' });
  const recovering = recoveryGate(state, atMs);
  if (recovering !== undefined) return recovering;
  const iterations = state.counters.iterations + 1;
  const begun = count({ ...state, failedOver: [] }, { iterations, callsThisIteration: 0 });
  return issueModelCall(begun, atMs);
}

/** Calls the model on the first route that is not cooling; waits or fails where all are, or where the guard says so. */
export function issueModelCall(state: RunState, atMs: number): Step {
  const { snapshot } = prepared(state);
  const stop =
    guardBeforeCall(snapshot.limits, state.counters, state.activeMs) ?? budgetStop(state);
  if (stop !== undefined) return endFailed(state, atMs, stop.reason, stop.message);
  const decision = decideRoute(state.health, snapshot.chain, atMs, skipsRoute(state));
  if (decision.type === 'wait') return waitForProviders(state, decision.untilMs, atMs);
  const gate = gateCall(state, decision.routeIndex, atMs);
  switch (gate.type) {
    case 'send':
      return andThen(gate.step, (after) => callRoute(after, decision.routeIndex, atMs));
    case 'again':
      return andThen(gate.step, (after) => issueModelCall(after, atMs));
    case 'instead':
      return gate.step;
  }
}

/** Calls the model on this route. */
function callRoute(state: RunState, routeIndex: number, atMs: number): Step {
  const { snapshot } = prepared(state);
  const route = snapshot.chain[routeIndex];
  invariant(route !== undefined, 'a decided route is in the chain');
  const callId = nextCallId(state);
  const name = routeName(route);
  const { state: paid, allowance } = reserve(sendObservations(state), callId);
  const called = count(
    {
      ...paid,
      phase: {
        type: 'calling-model',
        callId,
        routeIndex,
        sentTexts: textsThatFit(state.inbox),
      },
      lastRouteIndex: routeIndex,
    },
    {
      modelCalls: state.counters.modelCalls + 1,
      callsThisIteration: state.counters.callsThisIteration + 1,
    },
  );
  const { note } = state.next;
  return step(
    called,
    publish(called, atMs, {
      type: 'IterationStartedEvent',
      route: name,
      isFallback: routeIndex > 0,
      ...(note === undefined ? {} : { note }),
    }),
    {
      type: 'call-model',
      callId,
      summary: `${name} #${state.counters.iterations}`,
      input: modelInput(
        called,
        routeIndex,
        state.inbox.slice(0, textsThatFit(state.inbox)),
        allowance,
      ),
      limits: snapshot.limits,
    },
  );
}

function nextCallId(state: RunState): string {
  const { iterations, callsThisIteration } = state.counters;
  return callsThisIteration === 0 ? `m${iterations}` : `m${iterations}.${callsThisIteration}`;
}

/** How many of the waiting texts one call may carry: at least one, where there is one. */
function textsThatFit(inbox: readonly string[]): number {
  let chars = 0;
  const tooMany = inbox.findIndex((text, index) => {
    chars += text.length;
    return index > 0 && chars > textsPerCallChars;
  });
  return tooMany < 0 ? inbox.length : tooMany;
}

function modelInput(
  state: RunState,
  routeIndex: number,
  userTexts: readonly string[],
  allowance: Allowance | undefined,
): CallModelInput {
  const { snapshot, head } = prepared(state);
  const route = snapshot.chain[routeIndex];
  const isProbe = route !== undefined && isRecovering(state.health, routeName(route));
  return {
    storeId: snapshot.storeId,
    definition: snapshot.definition,
    head,
    routeIndex,
    ...(isProbe ? { probe: true } : {}),
    iteration: state.counters.iterations,
    idPrefix: shortHash(state.runKey),
    ...nextRequestInput(state.next),
    ...(route === undefined ? {} : contextInput(state, route)),
    ...(userTexts.length === 0 ? {} : { userTexts }),
    ...(state.learning.waiting.length === 0 ? {} : { endedErrors: state.learning.waiting }),
    ...(allowance === undefined ? {} : { allowance }),
  };
}

/** What the activity must know to measure the request and to tell whether it fits. */
function contextInput(state: RunState, route: RouteConfig): Partial<CallModelInput> {
  if (!hasRules(state, 2)) return {};
  const counted = countedNow(state);
  const tokenFactors = state.context.factors[routeName(route)];
  return {
    bounds: contextBounds(state, route),
    ...(counted === undefined ? {} : { counted }),
    ...(tokenFactors === undefined ? {} : { tokenFactors }),
  };
}

function nextRequestInput(next: NextRequest): Partial<CallModelInput> {
  return {
    ...(next.pendingResults.length === 0 ? {} : { pendingResults: next.pendingResults }),
    ...(next.runtimeResults === undefined ? {} : { runtimeResults: next.runtimeResults }),
    ...(next.note === undefined ? {} : { note: next.note }),
    ...(next.maxOutputTokens === undefined ? {} : { maxOutputTokens: next.maxOutputTokens }),
  };
}

/** Starts a durable wait that a timer ends. */
export function startWait(
  state: RunState,
  atMs: number,
  wait: {
    on: 'provider' | 'store';
    reason: string;
    delayMs: number;
    then: 'prepare' | 'call-model' | 'begin-iteration';
  },
): Step {
  const timers = state.counters.timers + 1;
  const timerId = `${wait.on}-${timers}`;
  const waiting = count(
    {
      ...state,
      phase: {
        type: 'waiting',
        ...wait,
        timerId,
        untilMs: atMs + wait.delayMs,
        sinceMs: atMs,
      },
    },
    { timers },
  );
  return step(
    waiting,
    publish(waiting, atMs, { type: 'WaitStartedEvent', waitingFor: `${wait.on}: ${wait.reason}` }),
    {
      type: 'start-timer',
      timerId,
      delayMs: wait.delayMs,
      summary: `wait for ${wait.on}: ${wait.reason}`.slice(0, 200),
    },
  );
}

/** Hands the run to a person and waits durably for the answer. */
export function waitForPerson(state: RunState, reason: string, atMs: number): Step {
  const { escalation: _honoured, ...rest } = state;
  const waiting: RunState = {
    ...rest,
    phase: { type: 'waiting', on: 'person', reason, sinceMs: atMs, then: 'begin-iteration' },
  };
  return step(
    waiting,
    publish(waiting, atMs, { type: 'WaitStartedEvent', waitingFor: `person: ${reason}` }),
  );
}

function routeReasons(state: RunState, chain: readonly RouteConfig[]): string {
  return chain
    .map((route) => {
      const health = state.health.routes[routeName(route)];
      return `${routeName(route)}: ${health?.lastErrorReason ?? 'unknown'} (${health?.lastError ?? 'no error recorded'})`;
    })
    .join('; ');
}

/** All routes cool: a durable timer until the first one is free, where waiting can cure it and the limit allows it. */
function waitForProviders(state: RunState, untilMs: number, atMs: number): Step {
  const { snapshot } = prepared(state);
  const delayMs = Math.max(untilMs - atMs, 1);
  const curable = snapshot.chain.some((route) => {
    const reason = state.health.routes[routeName(route)]?.lastErrorReason;
    return reason !== undefined && infraPolicies[reason].healsByWaiting;
  });
  const waitedMs = state.providerWaitMs + delayMs;
  const reasons = routeReasons(state, snapshot.chain);
  if (!curable || waitedMs > snapshot.limits.maxProviderWaitMs) {
    const why = curable
      ? `waiting longer than limits.maxProviderWaitMs (${snapshot.limits.maxProviderWaitMs} ms) is not allowed`
      : 'waiting cannot cure it';
    const message = `No provider of the chain can answer, and ${why}. ${reasons}`;
    return endFailed(state, atMs, 'chain_exhausted', message, {
      kind: 'infra',
      code: 'chain_exhausted',
      message: message.slice(0, 500),
    });
  }
  return startWait({ ...state, providerWaitMs: waitedMs }, atMs, {
    on: 'provider',
    reason: reasons.slice(0, 400),
    delayMs,
    then: 'call-model',
  });
}

/** Ends a wait and does what it was for. */
export function endWait(state: RunState, moment: Moment): Step {
  const { phase } = state;
  invariant(phase.type === 'waiting', 'only a wait can end');
  const announced = step(
    state,
    publish(state, moment.atMs, {
      type: 'WaitEndedEvent',
      waitedFor: `${phase.on}: ${phase.reason}`,
    }),
  );
  return andThen(announced, (after) => {
    switch (phase.then) {
      case 'prepare':
        return prepareRun(after);
      case 'call-model':
        return issueModelCall(after, moment.atMs);
      case 'begin-iteration':
        return beginIteration(after, moment);
    }
  });
}

/** Asks for the agent's definition. */
export function prepareRun(state: RunState): Step {
  return step(
    { ...state, phase: { type: 'preparing' } },
    { type: 'prepare-run', input: state.request },
  );
}
