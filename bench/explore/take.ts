/** Takes what the core returned: carries out its commands in the world, and checks each against what it may do. */
import { isDeepStrictEqual } from 'node:util';
import type { Allowance } from '../../workflows/core/budget/spend';
import type { RunCommand, RunEvent } from '../../workflows/core/run/protocol';
import type { RunState } from '../../workflows/core/run/state';
import type { Transition } from '../../workflows/core/run/transition';
import { checkEnd } from './end-checks';
import { checkState } from './state-checks';
import { noteEntry } from './story';
import type { AwaitedCommand, KnownCall, World } from './world';
import { idOf, learn, report, withEntry, withoutEntry } from './world';

/** Takes a transition. Contract: `before` is absent only for the run's start. */
export function takeTransition(
  world: World,
  before: RunState | undefined,
  [state, commands]: Transition,
  event: RunEvent,
): void {
  world.state = state;
  if (before?.phase.type === 'ended' && (commands.length > 0 || before !== state))
    report(world, 'goes on after its end', event.type);
  for (const command of commands) {
    if (world.ends > 0 && command.type !== 'publish')
      report(world, 'commands after its end', command.type);
    carryOut(world, before, command, event);
  }
  world.wantsRollOver = wantsRollOver(world.wantsRollOver, commands);
  checkState(world, before, event, commands);
  if (state.phase.type === 'ended' && before?.phase.type !== 'ended') checkEnd(world, before);
}

/** As in `workflows/agent-run.ts`: only what people read may come between a wanted roll-over and the new segment. */
function wantsRollOver(wanted: boolean, commands: readonly RunCommand[]): boolean {
  const types = commands.map(({ type }) => type);
  return types.includes('roll-over') || (wanted && types.every((type) => type === 'publish'));
}

function carryOut(
  world: World,
  before: RunState | undefined,
  command: RunCommand,
  event: RunEvent,
): void {
  switch (command.type) {
    case 'publish':
      noteEntry(world, command.entry);
      return;
    case 'notify':
      startNotification(world, command.callId, event);
      return;
    case 'start-timer':
      startTimer(world, command, event);
      return;
    case 'cancel-timer':
      cancelTimer(world, command.timerId);
      return;
    case 'cancel-activities':
      for (const id of command.callIds) cancelActivity(world, id);
      return;
    case 'roll-over':
      if (world.inFlight.size > 0)
        report(world, 'rolls over in flight', [...world.inFlight.keys()].join(', '));
      return;
    case 'end-run':
      endRun(world);
      return;
    case 'prepare-run':
    case 'hand-over':
    case 'check-guardrails':
    case 'call-model':
    case 'compact':
    case 'plan-recovery':
    case 'run-tool':
    case 'check-edit':
    case 'run-subagent':
      start(world, before, command);
  }
}

function startNotification(world: World, callId: string, event: RunEvent): void {
  const isAgain = world.notifications.has(callId);
  const isReused = world.activities.has(callId) && event.type !== 'segment-started';
  if (isAgain || isReused) report(world, 'uses an id twice', `notify ${callId}`);
  world.activities = withEntry(world.activities, callId, { type: 'notify' });
  world.notifications = withEntry(world.notifications, callId, false);
}

function startTimer(
  world: World,
  { timerId, delayMs }: Extract<RunCommand, { type: 'start-timer' }>,
  event: RunEvent,
): void {
  if (world.timers.has(timerId)) report(world, 'starts a timer twice', timerId);
  if (world.everTimers.has(timerId) && event.type !== 'segment-started')
    report(world, 'uses an id twice', `timer ${timerId}`);
  if (!(delayMs >= 1)) report(world, 'starts a timer that is due', `${timerId} ${delayMs}`);
  world.everTimers = new Set([...world.everTimers, timerId]);
  world.timers = withEntry(world.timers, timerId, world.nowMs + delayMs);
}

function cancelTimer(world: World, timerId: string): void {
  if (!world.everTimers.has(timerId)) report(world, 'cancels what never was', timerId);
  const dueMs = world.timers.get(timerId);
  if (dueMs !== undefined && dueMs <= world.nowMs + 1)
    world.lateTimers = [...world.lateTimers, timerId];
  world.timers = withoutEntry(world.timers, timerId);
}

function cancelActivity(world: World, id: string): void {
  const flight = world.inFlight.get(id);
  if (flight !== undefined)
    world.inFlight = withEntry(world.inFlight, id, { ...flight, isCancelled: true });
  else if (world.notifications.has(id))
    world.notifications = withEntry(world.notifications, id, true);
  else report(world, 'cancels what never was', id);
}

function endRun(world: World): void {
  world.ends += 1;
  if (world.ends > 1) report(world, 'ends twice', '');
  const left = [...world.inFlight.keys(), ...world.timers.keys()];
  if (left.length > 0) report(world, 'ends with something in flight', left.join(', '));
}

/** Whether an id may come again: the preparation after a failure, and a call that was paused or delegated. */
function mayComeAgain(world: World, command: AwaitedCommand, id: string): boolean {
  const known = world.activities.get(id);
  if (known === undefined || command.type === 'prepare-run') return true;
  if (command.type === 'hand-over' || command.type === 'check-guardrails')
    return known.type === command.type;
  if (command.type !== 'run-tool' || known.toolCallId !== command.toolCallId) return false;
  const call = world.calls.get(command.toolCallId);
  return known.type === 'run-subagent' || call?.isPaused === true;
}

function start(world: World, before: RunState | undefined, command: AwaitedCommand): void {
  const id = idOf(command);
  if (world.inFlight.has(id)) report(world, 'starts what is in flight', id);
  if (!mayComeAgain(world, command, id)) report(world, 'uses an id twice', `${command.type} ${id}`);
  const toolCallId = 'toolCallId' in command ? { toolCallId: command.toolCallId } : {};
  world.activities = withEntry(world.activities, id, { type: command.type, ...toolCallId });
  world.inFlight = withEntry(world.inFlight, id, { command, isCancelled: false });
  checkStartWhileEnding(world, before, command);
  checkAllowance(world, command);
  if (command.type === 'run-tool' || command.type === 'run-subagent') startCall(world, command);
}

function bringsAnswer(command: AwaitedCommand): boolean {
  return command.type === 'run-tool' && command.input.answer !== undefined;
}

function checkStartWhileEnding(
  world: World,
  before: RunState | undefined,
  command: AwaitedCommand,
): void {
  const phase = before?.phase;
  const ends =
    phase?.type === 'ending' || (phase?.type === 'running-tools' && phase.failure !== undefined);
  if (ends && !bringsAnswer(command))
    report(world, 'starts something while it ends', `${command.type} in ${phase.type}`);
}

/** What a command may spend; undefined if it spends nothing. */
function allowanceOf(command: AwaitedCommand): Allowance | undefined {
  switch (command.type) {
    case 'call-model':
      return command.input.allowance ?? {};
    case 'plan-recovery':
      return command.input.routeIndex === undefined ? undefined : (command.input.allowance ?? {});
    case 'compact':
      return command.input.summary === undefined ? undefined : (command.input.allowance ?? {});
    case 'prepare-run':
    case 'hand-over':
    case 'check-guardrails':
    case 'run-tool':
    case 'check-edit':
    case 'run-subagent':
      return undefined;
  }
}

function checkAllowance(world: World, command: AwaitedCommand): void {
  const allowance = allowanceOf(command);
  if (allowance === undefined || world.agent.snapshot.budget === undefined) return;
  const amounts = Object.values(allowance);
  if (amounts.length === 0 || amounts.some((amount) => amount <= 0))
    report(world, 'spends without an allowance', `${command.type} ${JSON.stringify(allowance)}`);
}

function startCall(
  world: World,
  command: Extract<AwaitedCommand, { type: 'run-tool' | 'run-subagent' }>,
): void {
  const { toolCallId } = command;
  const known = world.calls.get(toolCallId);
  if (known === undefined) {
    report(world, 'runs a call that nobody made', toolCallId);
    return;
  }
  if (!bringsAnswer(command)) checkStartOfCall(world, command, known);
  learn(world, toolCallId, {
    runs: known.runs + 1,
    isPaused: false,
    startedAtMs: world.nowMs,
    ...(command.type === 'run-subagent' ? { isDelegated: true } : {}),
  });
}

function checkStartOfCall(
  world: World,
  command: Extract<AwaitedCommand, { type: 'run-tool' | 'run-subagent' }>,
  { runs, isPaused, isRejected, needsApproval, approved, label }: KnownCall,
): void {
  if (runs > 0 && isPaused !== true) report(world, 'runs a call twice', label);
  if (isRejected === true) report(world, 'runs a rejected call', label);
  if (needsApproval !== true) return;
  if (approved === undefined) report(world, 'runs an unapproved call', label);
  else if (command.type === 'run-tool' && !isDeepStrictEqual(command.input.input, approved.input))
    report(world, 'runs another call than the approved one', label);
}
