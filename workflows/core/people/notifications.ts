/** Tells people, by the notifiers that the run was prepared with, that the run has begun to wait for one of them. */
import type { Limits } from '../limits';
import { routeName } from '../failover/provider-health';
import type { NotifyInput, PersonNotice } from './ports';
import type { RunCommand, RunEvent } from '../run/protocol';
import type { RunState } from '../run/state';
import { goalForPeople } from './shown-text';
import type { PendingItem } from '../view/status';
import { pendingItems } from '../view/status';
import type { Step } from '../run/step';
import { publish, step } from '../run/step';

/** A notification that has not come back yet. */
interface NotificationInFlight {
  readonly callId: string;
  /** Identity of what waits. */
  readonly about: string;
  readonly input: NotifyInput;
}

/** The slice of the state that notifications own. */
export interface NotificationState {
  readonly count: number;
  readonly inFlight: readonly NotificationInFlight[];
}

/** Nothing was sent. */
export const initialNotifications: NotificationState = { count: 0, inFlight: [] };

/** Characters of what is asked, of the goal, and of one line of what was tried; lines of each kind (ADR 0027). */
const askedChars = 1_000;
const goalChars = 300;
const lineChars = 200;
const triedLines = 5;

/** Notifications in flight; further ones wait for nothing and are not sent, since so many people's waits are one flood (ADR 0027). */
const mostInFlight = 16;

/** Identity of something that waits: an escalation has the same id each time, so its beginning tells them apart. */
function identityOf(item: PendingItem, state: RunState): string {
  const id = item.type === 'approval' ? item.approvalId : item.questionId;
  return state.phase.type === 'waiting' ? `${id}@${state.phase.sinceMs}` : id;
}

function kindOf(item: PendingItem, state: RunState): PersonNotice['kind'] {
  if (item.type === 'approval') return 'approval';
  return state.phase.type === 'running-tools' ? 'question' : 'escalation';
}

function askedText(item: PendingItem): string {
  if (item.type === 'question') return item.question;
  return `Approve or reject: ${item.tool}${item.label === undefined ? '' : ` ${item.label}`}`;
}

function noticeOf(state: RunState, item: PendingItem, atMs: number): PersonNotice {
  const route = state.snapshot?.chain[state.lastRouteIndex ?? 0];
  const lines = (from: readonly string[]): readonly string[] =>
    from.slice(-triedLines).map((line) => line.slice(0, lineChars));
  return {
    kind: kindOf(item, state),
    itemId: item.type === 'approval' ? item.approvalId : item.questionId,
    agent: state.request.agent,
    goal: goalForPeople(state, goalChars),
    asked: askedText(item).slice(0, askedChars),
    ...(state.lastError === undefined ? {} : { lastError: state.lastError.slice(0, lineChars) }),
    worked: lines(state.worked),
    didNotWork: lines(state.didNotWork),
    iteration: state.counters.iterations,
    ...(route === undefined ? {} : { route: routeName(route) }),
    sinceMs: atMs,
  };
}

function notifyCommand(
  { callId, input }: NotificationInFlight,
  { heartbeatTimeoutMs }: Limits,
): RunCommand {
  return {
    type: 'notify',
    callId,
    summary: `notify: ${input.notice.kind} ${input.notice.asked}`.slice(0, 200),
    heartbeatTimeoutMs,
    input,
  };
}

function begin(state: RunState, item: PendingItem, atMs: number): Step {
  const { snapshot, notifications } = state;
  if (snapshot?.notifiers === undefined) return step(state);
  const notice = noticeOf(state, item, atMs);
  if (!snapshot.notifiers.on.includes(notice.kind)) return step(state);
  if (notifications.inFlight.length >= mostInFlight) return step(state);
  const count = notifications.count + 1;
  const callId = `n${count}`;
  const flying: NotificationInFlight = {
    callId,
    about: identityOf(item, state),
    input: {
      storeId: snapshot.storeId,
      definition: snapshot.definition,
      notifiers: snapshot.notifiers.names,
      idempotencyKey: `${state.runKey}/${callId}`,
      notice,
    },
  };
  return step(
    { ...state, notifications: { count, inFlight: [...notifications.inFlight, flying] } },
    notifyCommand(flying, snapshot.limits),
  );
}

/** Notifications about what no longer waits are called back. */
function callBack(state: RunState, waiting: ReadonlySet<string>): Step {
  const { notifications } = state;
  const moot = notifications.inFlight.filter(({ about }) => !waiting.has(about));
  if (moot.length === 0) return step(state);
  const inFlight = notifications.inFlight.filter(({ about }) => waiting.has(about));
  return step(
    { ...state, notifications: { ...notifications, inFlight } },
    { type: 'cancel-activities', callIds: moot.map(({ callId }) => callId) },
  );
}

/**
 * Adds to a decision what people must be told of it: whatever waits now and did not before.
 *
 * Contract: a run without notifiers gets no command of it. A new segment sends again what was in flight, under the same id and
 * key, since the segment's end has taken it back.
 */
export function announcePending(before: RunState, decided: Step, event: RunEvent): Step {
  const { state, commands } = decided;
  const { snapshot } = state;
  if (snapshot?.notifiers === undefined || state.phase.type === 'ended') return decided;
  const again =
    event.type === 'segment-started'
      ? state.notifications.inFlight.map((flying) => notifyCommand(flying, snapshot.limits))
      : [];
  const known = new Set(pendingItems(before).map((item) => identityOf(item, before)));
  const items = pendingItems(state);
  let told = callBack(state, new Set(items.map((item) => identityOf(item, state))));
  for (const item of items) {
    if (known.has(identityOf(item, state))) continue;
    const begun = begin(told.state, item, event.atMs);
    told = { state: begun.state, commands: [...told.commands, ...begun.commands] };
  }
  return { state: told.state, commands: [...commands, ...again, ...told.commands] };
}

/** A notification came back: people see in the timeline who was told, and who could not be. */
export function onNotified(
  state: RunState,
  came: Extract<RunEvent, { type: 'notification-completed' | 'notification-failed' }>,
): Step {
  const { notifications } = state;
  const { callId, atMs } = came;
  const flying = notifications.inFlight.find((candidate) => candidate.callId === callId);
  if (flying === undefined) return step(state);
  const inFlight = notifications.inFlight.filter((candidate) => candidate !== flying);
  const landed: RunState = { ...state, notifications: { ...notifications, inFlight } };
  const about = flying.input.notice.kind;
  if (came.type === 'notification-failed')
    return step(
      landed,
      publish(landed, atMs, {
        type: 'NotificationFailedEvent',
        about,
        notifiers: flying.input.notifiers,
        message: came.failure.message.slice(0, lineChars),
      }),
    );
  const { delivered, failed } = came.result;
  return step(
    landed,
    ...(delivered.length === 0
      ? []
      : [publish(landed, atMs, { type: 'NotifiedEvent', about, notifiers: delivered })]),
    ...failed.map(({ notifier, message }) =>
      publish(landed, atMs, {
        type: 'NotificationFailedEvent',
        about,
        notifiers: [notifier],
        message: message.slice(0, lineChars),
      }),
    ),
  );
}
