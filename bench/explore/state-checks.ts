/** What must hold of a run after every event. */
import type { RunCommand, RunEvent } from '../../workflows/core/run/protocol';
import type { RunState } from '../../workflows/core/run/state';
import { activityIdAt } from '../../workflows/core/tools/state';
import type { ToolCallProgress } from '../../workflows/core/tools/state';
import type { World } from './world';
import { report } from './world';

/** What a phase waits for. */
interface Awaited {
  readonly activities: readonly string[];
  readonly timers: readonly string[];
}

function awaitedByCalls(state: RunState, calls: readonly ToolCallProgress[]): Awaited {
  const activities = calls.flatMap(({ status }, index) => {
    if (status.type === 'running' || status.type === 'delegated')
      return [activityIdAt(state, index)];
    return status.type === 'checking-edit' ? [status.callId] : [];
  });
  const timers = calls.flatMap(({ status }) => {
    if (status.type === 'paused') return [status.timerId];
    const isOpen = status.type === 'awaiting-approval' || status.type === 'awaiting-answer';
    return isOpen && status.expiry !== undefined ? [status.expiry.timerId] : [];
  });
  return { activities, timers };
}

/** What the run waits for. */
function awaited(state: RunState): Awaited {
  const { phase } = state;
  switch (phase.type) {
    case 'preparing':
      return { activities: ['prepare'], timers: [] };
    case 'calling-model':
    case 'checking-guardrails':
    case 'compacting':
    case 'handing-over':
      return { activities: [phase.callId], timers: [] };
    case 'running-tools':
      return awaitedByCalls(state, phase.calls);
    case 'ending': {
      const { activities, timers } = awaitedByCalls(state, phase.tools?.calls ?? []);
      const other = phase.outstanding === undefined ? [] : [phase.outstanding];
      return { activities: [...other, ...activities], timers };
    }
    case 'waiting':
      return { activities: [], timers: phase.timerId === undefined ? [] : [phase.timerId] };
    case 'recovering':
      return phase.stage.type === 'planning'
        ? { activities: [phase.stage.callId], timers: [] }
        : { activities: [], timers: [phase.stage.timerId] };
    case 'ready':
    case 'ended':
      return { activities: [], timers: [] };
  }
}

const known = new WeakSet<object>();

/** Where a value differs from its JSON round trip; undefined if it does not. Frozen values are looked at once. */
function notJson(value: unknown, path: string): string | undefined {
  if (typeof value !== 'object')
    return isJsonScalar(value) ? undefined : `${path}: ${typeof value}`;
  if (value === null || known.has(value)) return undefined;
  const prototype: unknown = Object.getPrototypeOf(value);
  if (prototype !== Object.prototype && prototype !== Array.prototype) return `${path}: a class`;
  for (const [key, field] of Object.entries(value)) {
    const odd = notJson(field, `${path}.${key}`);
    if (odd !== undefined) return odd;
  }
  known.add(value);
  return undefined;
}

function isJsonScalar(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value) && !Object.is(value, -0);
  return typeof value === 'string' || typeof value === 'boolean';
}

/** Checks the run as it is now. */
export function checkState(
  world: World,
  before: RunState | undefined,
  event: RunEvent,
  commands: readonly RunCommand[],
): void {
  const { state } = world;
  const odd = notJson(state, 'state');
  if (odd !== undefined) report(world, 'holds what is not JSON', `${odd} in ${state.phase.type}`);
  if (state.phase.type !== 'ended') checkWaits(world);
  checkCaps(world);
  checkMoney(world);
  checkStop(world, before, event);
  noteMessages(world, before, event, commands);
}

function checkWaits(world: World): void {
  const { state, core, inFlight, timers, wantsRollOver } = world;
  const { phase } = state;
  const items = core.pendingItems(state);
  core.statusMarkdown('wf', core.statusView(state), items);
  const wants = awaited(state);
  const missing = missingOf(world, wants);
  if (missing.length > 0)
    report(world, 'waits for nothing', `${phase.type}: ${missing.join(', ')}`);
  const orphans = orphansOf(world, wants);
  if (orphans.length > 0)
    report(world, 'forgets what is in flight', `${phase.type}: ${orphans.join(', ')}`);
  const canGoOn = inFlight.size > 0 || timers.size > 0 || wantsRollOver || items.length > 0;
  if (!canGoOn || (phase.type === 'ready' && !wantsRollOver))
    report(world, 'is stuck for good', phase.type);
  if (waitsForPerson(state) && inFlight.size > 0)
    report(world, 'waits for a person and works', [...inFlight.keys()].join(', '));
}

/** What the run waits for, and nobody does. */
function missingOf(
  { state, inFlight, timers, notifications }: World,
  wants: Awaited,
): readonly string[] {
  const active = state.guard.activeTimer?.timerId;
  const wantedTimers = [...wants.timers, ...(active === undefined ? [] : [active])];
  const notified = state.notifications.inFlight.map(({ callId }) => callId);
  return [
    ...wants.activities.filter((id) => !inFlight.has(id)),
    ...wantedTimers.filter((id) => !timers.has(id)),
    ...notified.filter((id) => !notifications.has(id)),
  ];
}

/** What is in flight, and the run does not know of. */
function orphansOf(
  { state, inFlight, timers, notifications }: World,
  wants: Awaited,
): readonly string[] {
  const notified = new Set(state.notifications.inFlight.map(({ callId }) => callId));
  const isKnown = (id: string): boolean =>
    [...wants.timers, state.guard.activeTimer?.timerId, state.waitMark?.timerId].includes(id) ||
    isBeingDecided(state);
  const left = [...notifications].filter(([id, isCancelled]) => !isCancelled && !notified.has(id));
  return [
    ...[...inFlight.keys()].filter((id) => !wants.activities.includes(id)),
    ...[...timers.keys()].filter((id) => !isKnown(id)),
    ...left.map(([id]) => id),
  ];
}

function waitsForPerson({ phase }: RunState): boolean {
  if (phase.type === 'recovering') return phase.stage.type !== 'planning';
  return phase.type === 'waiting' && phase.on === 'person';
}

/** A call whose decision is being checked keeps its expiry's timer. */
function isBeingDecided({ phase }: RunState): boolean {
  return (
    phase.type === 'running-tools' &&
    phase.calls.some(({ status }) => status.type === 'checking-edit')
  );
}

function checkCaps(world: World): void {
  const { state } = world;
  const { snapshot, counters, guard } = state;
  if (snapshot === undefined) return;
  const { limits, tools } = snapshot;
  const over = (name: string, value: number, limit: number): void => {
    if (value > limit) report(world, 'passes a cap', `${name}: ${value} > ${limit}`);
  };
  over('iterations', counters.iterations, Math.max(limits.maxIterations, 0));
  over('tool calls', counters.toolCalls, limits.maxToolCalls);
  over('provider wait', state.providerWaitMs, limits.maxProviderWaitMs);
  for (const { name, maxCalls } of tools)
    if (maxCalls !== undefined) over(`calls of ${name}`, guard.toolRuns[name] ?? 0, maxCalls);
  for (const [file, edits] of Object.entries(guard.fileEdits))
    over(`edits of ${file}`, edits, limits.maxEditsPerFile);
  if (state.activeMs > world.nowMs - state.startedAtMs)
    report(world, 'was active longer than it lived', `${state.activeMs} ms`);
}

function checkMoney(world: World): void {
  const { state, inFlight } = world;
  const { budget, snapshot, phase } = state;
  const { spentNanoUsd, reserved, estimated = noEstimate } = budget;
  const certain = spentNanoUsd - estimated.nanoUsd;
  if (certain !== world.spentNanoUsd)
    report(world, 'counts other money than was spent', `${certain}, not ${world.spentNanoUsd}`);
  const idle = Object.keys(reserved).filter((id) => phase.type === 'ended' || !inFlight.has(id));
  if (idle.length > 0)
    report(world, 'holds money for nothing', `${idle.join(', ')} in ${phase.type}`);
  const limit = snapshot?.budget?.nanoUsd ?? Infinity;
  const held = Object.values(reserved).reduce((sum, { nanoUsd = 0 }) => sum + nanoUsd, 0);
  const most = certain + estimated.mostNanoUsd;
  if (most + held > limit) report(world, 'passes its budget', `${most} + ${held} > ${limit}`);
}

const noEstimate = { nanoUsd: 0, mostNanoUsd: 0 };

/** Whoever stops or cancels a run asks everything in flight to stop; a run that ends already only brings in what it has. */
function checkStop(world: World, before: RunState | undefined, { type }: RunEvent): void {
  if (type !== 'stop-requested' && type !== 'cancel-requested') return;
  if (before?.phase.type === 'ending') return;
  const left = [...world.inFlight].filter(([, { isCancelled }]) => !isCancelled);
  if (left.length > 0)
    report(world, 'does not stop what is in flight', left.map(([id]) => id).join(', '));
}

/** Notes what people said and the run took. */
function noteMessages(
  world: World,
  before: RunState | undefined,
  event: RunEvent,
  commands: readonly RunCommand[],
): void {
  const isTaken = commands.some(
    (command) => command.type === 'publish' && command.entry.type === 'MessageAddedEvent',
  );
  if (event.type === 'message-added' && isTaken) world.accepted = [...world.accepted, event.text];
  const newest = world.state.inbox.at(-1);
  const isAnswer =
    event.type === 'question-answered' &&
    before !== undefined &&
    before.inbox.length < world.state.inbox.length;
  if (isAnswer && newest !== undefined)
    world.accepted = [...world.accepted, typeof newest === 'string' ? newest : newest.text];
}
