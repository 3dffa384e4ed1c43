/** Notifies people, by the notifiers that the run was prepared with, that the run waits for one of them. */
import type { FailoverSlice } from '../failover/state';
import { routeName } from '../failover/provider-health';
import { defined } from '../json';
import type { Limits } from '../limits';
import type { AccountSlice } from '../run/account';
import { handedTo } from '../run/ports';
import type { RunCommand, RunEvent } from '../run/protocol';
import type { NextPart, Move, UnstampedCommand } from '../run/move';
import { andThen, labelOf, publish, stay } from '../run/move';
import { proposalText } from '../recovery/text';
import { waitingPhase } from '../run/waiting';
import type { GoalSlice } from '../secrets/shown-text';
import { goalForPeople } from '../secrets/shown-text';
import { decisionText, startOf } from '../secrets/visible-text';
import { runningTools } from '../tools/state';
import type { PendingItem, PendingState } from '../view/pending';
import { pendingItems } from '../view/pending';
import type { PersonNotice } from './ports';
import type { NotificationInFlight, NotificationsSlice } from './state';
import { shortened } from '../shortened';

type NotifyingState = NotificationsSlice & AccountSlice & FailoverSlice & GoalSlice & PendingState;

/** Characters of what is asked, of the goal, and of one line of what was tried; lines of each kind (ADR 0027). */
const askedChars = 950;
const goalChars = 300;
const lineChars = 200;
const triedLines = 5;

/** The most notifications in flight; further ones are not sent (ADR 0027). */
const mostInFlight = 16;

/** Identity of something that waits: an escalation has the same id each time, so its start distinguishes them. */
function identityOf(item: PendingItem, state: PendingState): string {
  const id = item.type === 'approval' ? item.approvalId : item.questionId;
  const wait = waitingPhase(state);
  return wait === undefined ? id : `${id}@${wait.sinceMs}`;
}

function kindOf(item: PendingItem, state: PendingState): PersonNotice['kind'] {
  if (item.type === 'approval') return 'approval';
  return runningTools(state) === undefined ? 'escalation' : 'question';
}

function askedText(item: PendingItem): string {
  const lines =
    item.type === 'question'
      ? item.question.split(/\r\n|[\r\n]/)
      : [
          `Approve or reject: ${item.tool}`,
          ...(item.proposal === undefined ? [] : [proposalText(item.proposal)]),
        ];
  return lines.map(decisionText).join('\n');
}

function noticeOf(state: NotifyingState, item: PendingItem, atMs: number): PersonNotice {
  const route = state.snapshot?.chain[state.lastRouteIndex ?? 0];
  const lines = (from: readonly string[]): readonly string[] =>
    from.slice(-triedLines).map((line) => shortened(line, lineChars));
  return {
    kind: kindOf(item, state),
    itemId: item.type === 'approval' ? item.approvalId : item.questionId,
    agent: handedTo(state) ?? state.request.agent,
    goal: goalForPeople(state, goalChars),
    asked: startOf(askedText(item), askedChars),
    ...(item.type === 'approval' ? { arguments: item.shown } : {}),
    worked: lines(state.worked),
    didNotWork: lines(state.didNotWork),
    iteration: state.counters.iterations,
    ...defined({
      lastError: state.lastError === undefined ? undefined : shortened(state.lastError, lineChars),
      route: route && routeName(route),
    }),
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
    summary: labelOf(input.notice.asked),
    heartbeatTimeoutMs,
    input,
  };
}

function send<State extends NotifyingState>(
  state: State,
  item: PendingItem,
  atMs: number,
): Move<State> {
  const { snapshot, notifications } = state;
  if (snapshot?.notifiers === undefined) return stay(state);
  const notice = noticeOf(state, item, atMs);
  if (!snapshot.notifiers.on.includes(notice.kind)) return stay(state);
  if (notifications.inFlight.length >= mostInFlight) return stay(state);
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
  return stay(
    { ...state, notifications: { count, inFlight: [...notifications.inFlight, flying] } },
    notifyCommand(flying, snapshot.limits),
  );
}

/** Cancels notifications about what no longer waits. */
function cancelMoot<State extends NotifyingState>(
  state: State,
  waiting: ReadonlySet<string>,
): Move<State> {
  const { notifications } = state;
  const moot = notifications.inFlight.filter(({ about }) => !waiting.has(about));
  if (moot.length === 0) return stay(state);
  const inFlight = notifications.inFlight.filter(({ about }) => waiting.has(about));
  return stay(
    { ...state, notifications: { ...notifications, inFlight } },
    { type: 'cancel-activities', callIds: moot.map(({ callId }) => callId) },
  );
}

/** The end of a run with its notifications called back: nothing waits any more. */
function withoutNotifications<State extends NotifyingState>(decided: Move<State>): Move<State> {
  const { state, commands } = cancelMoot(decided.state, new Set());
  const place = decided.commands.findIndex(({ type }) => type === 'end-run');
  return {
    ...decided,
    state,
    commands: decided.commands.toSpliced(Math.max(place, 0), 0, ...commands),
  };
}

/**
 * Adds to a decision the notifications about what waits now and did not before.
 *
 * Contract: a run without notifiers gets no command. A new segment sends again what was in flight, under the same id and key,
 * since the segment's end cancelled it.
 */
export function notifyAboutWaits<State extends NotifyingState>(
  before: State,
  decided: Move<State>,
  cause: RunEvent | NextPart,
  atMs: number,
): Move<State> {
  const { state, commands } = decided;
  const { snapshot } = state;
  if (snapshot?.notifiers === undefined) return decided;
  if (state.phase.type === 'ended') return withoutNotifications(decided);
  const again =
    cause.type === 'segment-started'
      ? state.notifications.inFlight.map((flying) => notifyCommand(flying, snapshot.limits))
      : [];
  const known = new Set(pendingItems(before).map((item) => identityOf(item, before)));
  const items = pendingItems(state);
  const waiting = new Set(items.map((item) => identityOf(item, state)));
  const sent = items
    .filter((item) => !known.has(identityOf(item, state)))
    .reduce(
      (sending, item) => andThen(sending, (after) => send(after, item, atMs)),
      cancelMoot(state, waiting),
    );
  return { ...decided, state: sent.state, commands: [...commands, ...again, ...sent.commands] };
}

/** Takes the result of a notification: the timeline shows who was notified, and who could not be. */
export function onNotified<State extends NotifyingState>(
  state: State,
  event: Extract<RunEvent, { type: 'notification-completed' | 'notification-failed' }>,
): Move<State> {
  const { notifications } = state;
  const { callId } = event;
  const flying = notifications.inFlight.find((candidate) => candidate.callId === callId);
  if (flying === undefined) return stay(state);
  const inFlight = notifications.inFlight.filter((candidate) => candidate !== flying);
  const returned: State = { ...state, notifications: { ...notifications, inFlight } };
  const { notifiers, notice } = flying.input;
  const about = notice.kind;
  const failed = (names: readonly string[], message: string): UnstampedCommand =>
    publish({
      type: 'NotificationFailedEvent',
      about,
      notifiers: names,
      message: shortened(message, lineChars),
    });
  if (event.type === 'notification-failed')
    return stay(returned, failed(notifiers, event.failure.message));
  const { delivered } = event.result;
  return stay(
    returned,
    ...(delivered.length === 0
      ? []
      : [publish({ type: 'NotifiedEvent', about, notifiers: delivered })]),
    ...event.result.failed.map(({ notifier, message }) => failed([notifier], message)),
  );
}
