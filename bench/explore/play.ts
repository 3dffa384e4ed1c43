/** Plays one action on a world: what may happen, and what happens then. */
import { isDeepStrictEqual } from 'node:util';
import type { UnstampedEvent } from '../../workflows/core/run/protocol';
import type { RunState } from '../../workflows/core/run/state';
import type { PendingItem } from '../../workflows/core/view/pending';
import type { Core } from './core';
import { eventOf, outcomesOf } from './outcomes';
import type { SmallAgent } from './small-agent';
import { takeTransition } from './take';
import { otherInput } from './tool-outcomes';
import type { Action, World } from './world';
import { learn, report, TranscriptStore, withoutEntry } from './world';

/** When every run starts, in milliseconds since the epoch. */
const startMs = 1_700_000_000_000;

/** The workflow id and first run id of every run. */
export const runKey = 'wf/run';

/** Behind an action: the server suggests a new segment with its event. */
const suggestsRollOver = ' +R';
/** The same, and the new segment begins at once. */
export const rollsOverAtOnce = ' +R!';

/** A run of the agent that has just started. */
export function newWorld(core: Core, agent: SmallAgent): World {
  const request = { agent: 'helper', goal: 'goal', ...agent.request };
  const event = { type: 'run-started', runKey, request, atMs: startMs } as const;
  const begun = core.initialTransition(deepFreeze(event));
  const world: World = {
    core,
    agent,
    store: new TranscriptStore(),
    state: begun[0],
    nowMs: startMs,
    inFlight: new Map(),
    notifications: new Map(),
    timers: new Map(),
    lateTimers: [],
    wantsRollOver: false,
    segments: 1,
    activities: new Map(),
    everTimers: new Set(),
    calls: new Map(),
    isPrepared: false,
    accepted: [],
    carried: [],
    spentNanoUsd: 0,
    succeeded: 0,
    ends: 0,
    story: { openWaits: [], started: new Map(), ended: new Map() },
    people: { messages: 0, escalations: 0, answers: 0 },
    problems: [],
  };
  takeTransition(world, undefined, begun, event);
  return world;
}

/** The value, which nobody can change any more. */
function deepFreeze<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  Object.freeze(value);
  for (const field of Object.values(value)) deepFreeze(field);
  return value;
}

function deliver(world: World, event: UnstampedEvent, suggests: boolean): void {
  const stamped = deepFreeze({
    ...event,
    atMs: world.nowMs,
    ...(suggests ? { rollOverSuggested: true } : {}),
  });
  const before = deepFreeze(world.state);
  try {
    takeTransition(world, before, world.core.transition(before, stamped), stamped);
  } catch (thrown) {
    report(world, 'throws', `${event.type} in ${before.phase.type}: ${String(thrown)}`);
  }
}

/** What may happen now. */
export function actionsOf(world: World): readonly Action[] {
  const { state, agent, wantsRollOver, inFlight, notifications, timers, lateTimers } = world;
  if (state.phase.type === 'ended') return [];
  const due = Math.min(...timers.values());
  return [
    ...(wantsRollOver ? ['roll'] : []),
    ...[...inFlight].flatMap(([id, flight]) =>
      outcomesOf(world, flight).map((outcome) => `${id}=${outcome}`),
    ),
    ...[...notifications.keys()].flatMap((id) =>
      (agent.notifications ?? ['ok']).map((outcome) => `${id}=${outcome}`),
    ),
    ...[...timers].flatMap(([id, atMs]) => (atMs === due ? [`fire ${id}`] : [])),
    ...lateTimers.map((id) => `late ${id}`),
    ...personActions(world),
  ];
}

function personActions({ core, state, agent, people }: World): readonly Action[] {
  const can = new Set<string>(agent.people);
  const onItems = core.pendingItems(state).flatMap((item) => decisionsOn(item));
  const { messages, escalations, isStopped, isCancelled } = people;
  return [
    ...onItems,
    ...(messages < (agent.messages ?? 1) ? ['say'] : []),
    ...(escalations < (agent.escalations ?? 1) ? ['escalate'] : []),
    ...(isStopped ? [] : ['stop']),
    ...(isCancelled ? [] : ['cancel']),
  ].filter((action) => can.has(action.split(' ')[0] ?? ''));
}

function decisionsOn(item: PendingItem): readonly Action[] {
  if (item.type === 'question') return [`answer ${item.questionId}`];
  const { approvalId } = item;
  const isOfRecovery = approvalId.startsWith('recovery');
  const canEdit = item.checkingEdit === undefined && !isOfRecovery;
  return ['approve', 'reject', ...(canEdit ? ['edit'] : [])].map((act) => `${act} ${approvalId}`);
}

/**
 * A copy of the world after the action; undefined if the action is not possible.
 *
 * Contract: `problems` holds only what this action showed. `passesMs` is the time that passes before it.
 */
export function play(before: World, action: Action, passesMs = 0): World | undefined {
  const world: World = { ...before, problems: [] };
  if (action === 'roll') {
    if (!world.wantsRollOver) return undefined;
    rollOver(world);
    return world;
  }
  const atOnce = action.endsWith(rollsOverAtOnce);
  const suggests = atOnce || action.endsWith(suggestsRollOver);
  const [plain = ''] = action.split(suggestsRollOver);
  if (!plain.startsWith('fire')) world.nowMs += passesMs;
  if (!perform(world, plain, suggests)) return undefined;
  if (atOnce && world.wantsRollOver && world.state.phase.type !== 'ended') rollOver(world);
  return world;
}

function rollOver(world: World): void {
  if (world.inFlight.size > 0)
    report(world, 'rolls over in flight', [...world.inFlight.keys()].join(', '));
  world.timers = new Map();
  world.notifications = new Map();
  world.lateTimers = [];
  world.wantsRollOver = false;
  world.segments += 1;
  world.state = world.core.restoreRunState(JSON.parse(JSON.stringify(world.state)));
  deliver(world, { type: 'segment-started' }, false);
}

function perform(world: World, action: Action, suggests: boolean): boolean {
  const [, id, outcome] = /^([^ =]+)=(.+)$/.exec(action) ?? [];
  if (id !== undefined && outcome !== undefined) return comeBack(world, id, outcome, suggests);
  const [act = '', about = ''] = action.split(' ');
  switch (act) {
    case 'fire':
    case 'late':
      return fire(world, act, about, suggests);
    case 'approve':
    case 'reject':
    case 'edit':
      return decide(world, act, about, suggests);
    case 'answer':
      return answer(world, about, suggests);
    default:
      return speak(world, act, suggests);
  }
}

function comeBack(world: World, id: string, outcome: string, suggests: boolean): boolean {
  if (world.notifications.has(id)) {
    world.notifications = withoutEntry(world.notifications, id);
    const event: UnstampedEvent =
      outcome === 'ok'
        ? {
            type: 'notification-completed',
            callId: id,
            result: { delivered: ['log'], failed: [] },
          }
        : {
            type: 'notification-failed',
            callId: id,
            failure: { kind: 'infra', code: 'tool_infrastructure', message: 'nobody there' },
          };
    deliver(world, event, suggests);
    return true;
  }
  const flight = world.inFlight.get(id);
  if (flight === undefined || !outcomesOf(world, flight).includes(outcome)) return false;
  world.inFlight = withoutEntry(world.inFlight, id);
  deliver(world, eventOf(world, id, flight.command, outcome), suggests);
  return true;
}

function fire(world: World, act: 'fire' | 'late', timerId: string, suggests: boolean): boolean {
  if (act === 'late') {
    if (!world.lateTimers.includes(timerId)) return false;
    world.lateTimers = world.lateTimers.filter((id) => id !== timerId);
  } else {
    const dueMs = world.timers.get(timerId);
    if (dueMs === undefined || dueMs !== Math.min(...world.timers.values())) return false;
    world.nowMs = Math.max(world.nowMs, dueMs);
    world.timers = withoutEntry(world.timers, timerId);
  }
  deliver(world, { type: 'timer-fired', timerId }, suggests);
  return true;
}

/** What a decision must not change while another one is being checked. */
function decided({ phase, approvals, budget, head, inbox }: RunState): object {
  return { phase, approvals, budget, head, inbox };
}

type Approval = Extract<PendingItem, { type: 'approval' }>;

function decide(
  world: World,
  act: 'approve' | 'reject' | 'edit',
  approvalId: string,
  suggests: boolean,
): boolean {
  const { core, state: before } = world;
  const item = core
    .pendingItems(before)
    .find((each): each is Approval => each.type === 'approval' && each.approvalId === approvalId);
  if (item === undefined) return false;
  const needsCheck = act === 'edit' || before.snapshot?.approvers !== undefined;
  if (!needsCheck) noteDecision(world, act, item);
  const event = {
    type: 'approval-resolved',
    approvalId,
    by: 'Ada',
    ...(needsCheck && act !== 'edit' ? { signature: `signed-${act}` } : {}),
    ...decisions[act],
  } as const;
  deliver(world, event, suggests);
  if (item.checkingEdit === true) {
    if (!suggests && !isDeepStrictEqual(decided(before), decided(world.state)))
      report(world, 'decides while a decision is checked', act);
    return true;
  }
  const verdict = core.verdictOnDecision(world.state, event);
  if (world.state.phase.type !== 'ended' && verdict.type === 'refused')
    report(world, 'refuses a decision on what waits', `${act}: ${verdict.problem}`);
  return true;
}

const decisions = {
  approve: { decision: 'approve' },
  reject: { decision: 'reject', reason: 'no' },
  edit: { decision: 'approve', input: otherInput },
} as const;

/** Notes a decision that applies at once. */
function noteDecision(world: World, act: 'approve' | 'reject' | 'edit', item: Approval): void {
  const { approvalId, checkingEdit } = item;
  if (!world.calls.has(approvalId) || checkingEdit === true) return;
  if (act === 'approve') learn(world, approvalId, { approved: { input: inputOf(item) } });
  else learn(world, approvalId, { isRejected: true });
}

function inputOf(item: Approval): { readonly arg: number } {
  // Written by `proposedCall`: every call of a small agent has such an input.
  return item.input as { readonly arg: number };
}

function answer(world: World, questionId: string, suggests: boolean): boolean {
  const { core, state } = world;
  const asks = core
    .pendingItems(state)
    .some((item) => item.type === 'question' && item.questionId === questionId);
  if (!asks) return false;
  const answers = world.people.answers + 1;
  world.people = { ...world.people, answers };
  if (world.calls.has(questionId)) learn(world, questionId, { last: 'answered' });
  if (state.phase.type === 'running-tools') world.succeeded += 1;
  const event = {
    type: 'question-answered',
    questionId,
    answer: `answer ${answers}`,
    by: 'Ada',
  } as const;
  deliver(world, event, suggests);
  const verdict = core.verdictOnAnswer(world.state, event);
  if (verdict.type !== 'accepted')
    report(world, 'refuses an answer to what it asked', JSON.stringify(verdict));
  return true;
}

function speak(world: World, act: string, suggests: boolean): boolean {
  const { people } = world;
  switch (act) {
    case 'say': {
      const messages = people.messages + 1;
      world.people = { ...people, messages };
      deliver(world, { type: 'message-added', text: `message ${messages}` }, suggests);
      return true;
    }
    case 'escalate': {
      const escalations = people.escalations + 1;
      world.people = { ...people, escalations };
      deliver(
        world,
        { type: 'escalation-requested', reason: `take over ${escalations}` },
        suggests,
      );
      return true;
    }
    case 'stop':
      world.people = { ...people, isStopped: true };
      deliver(world, { type: 'stop-requested', reason: 'enough' }, suggests);
      return true;
    case 'cancel':
      world.people = { ...people, isCancelled: true };
      deliver(world, { type: 'cancel-requested', reason: 'cancelled' }, suggests);
      return true;
    default:
      return false;
  }
}
