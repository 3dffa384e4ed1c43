/** How long a decision may take: starts, restarts, and ends the timers of approvals and questions. */
import type { CountersSlice } from '../run/account';
import { without } from '../json';
import { count } from '../run/account';
import type { SnapshotSlice } from '../run/ports';
import { toolPolicy } from '../run/ports';
import type { RunCommand, RunWait } from '../run/protocol';
import type { Move } from '../run/move';
import { andThen, labelOf, stay } from '../run/move';
import type { DecisionPolicy, ProposedToolCall } from '../tools/ports';
import { askUserTool } from '../tools/ports';
import type { DecisionWait, ToolCallProgress } from '../tools/state';
import type { PhaseSlice } from '../run/phases';
import { callSummary, callsOf, replaceCall } from '../tools/state';

/** Longest time between two reminders in milliseconds, unless the policy's own is longer: a week (ADR 0022). */
const longestReminderMs = 7 * 86_400_000;

/** What a call waits for, in words. */
export function waitText({ call, status }: ToolCallProgress): string {
  return status.type === 'awaiting-answer'
    ? `an answer: ${status.question}`
    : `approval of ${callSummary(call)}`;
}

/** The same for programs. */
export function waitOf({ call, status }: ToolCallProgress): RunWait {
  return status.type === 'awaiting-answer'
    ? { kind: 'question', id: call.toolCallId }
    : { kind: 'approval', id: call.toolCallId, digest: digestOf(call) };
}

/** The policy of a call's wait; undefined if it waits without limit. */
export function policyOf(
  state: SnapshotSlice,
  { call, status }: ToolCallProgress,
): DecisionPolicy | undefined {
  // A question about an unknown outcome waits without limit: only a person can answer it.
  if (status.type === 'awaiting-answer')
    return call.name === askUserTool ? state.snapshot?.questions : undefined;
  return toolPolicy(state, call.name)?.approvals ?? state.snapshot?.approvals;
}

/** Milliseconds of the wait that starts now, doubled with each reminder. */
function periodMs(policy: DecisionPolicy, reminders: number): number | undefined {
  const { expiresAfterMs } = policy;
  if (expiresAfterMs === undefined) return undefined;
  const doubled = expiresAfterMs * 2 ** Math.min(reminders, 30);
  return Math.max(expiresAfterMs, Math.min(doubled, longestReminderMs));
}

function expiryTimer(
  progress: ToolCallProgress,
  expiry: NonNullable<DecisionWait['expiry']>,
  atMs: number,
): RunCommand {
  return {
    type: 'start-timer',
    timerId: expiry.timerId,
    delayMs: Math.max(expiry.atMs - atMs, 1),
    summary: labelOf(waitText(progress)),
  };
}

type Waits = PhaseSlice & SnapshotSlice & CountersSlice;

/** Starts the expiry timer of one waiting call, where its policy has a limit. */
export function armWait<State extends Waits>(
  state: State,
  progress: ToolCallProgress,
  atMs: number,
): Move<State> {
  const { call, status } = progress;
  if (status.type !== 'awaiting-approval' && status.type !== 'awaiting-answer') return stay(state);
  const policy = policyOf(state, progress);
  const delayMs = policy === undefined ? undefined : periodMs(policy, status.reminders ?? 0);
  if (delayMs === undefined) return stay(state);
  const timers = state.counters.timers + 1;
  const expiry = { timerId: `decision-${timers}`, atMs: atMs + delayMs };
  const armed: ToolCallProgress = { call, status: { ...status, expiry } };
  return stay(count(replaceCall(state, armed), { timers }), expiryTimer(progress, expiry, atMs));
}

/** Starts the expiry timer of every waiting call. */
export function armWaits<State extends Waits>(state: State, atMs: number): Move<State> {
  return callsOf(state).reduce<Move<State>>(
    (before, progress) => andThen(before, (after) => armWait(after, progress, atMs)),
    stay(state),
  );
}

/** The timer of a wait, started again in a new segment with its remaining time. */
export function rearmed(progress: ToolCallProgress, atMs: number): readonly RunCommand[] {
  const { status } = progress;
  return 'expiry' in status ? [expiryTimer(progress, status.expiry, atMs)] : [];
}

/** Ids of the timers that run for a call. */
export function timersOfCall({ status }: ToolCallProgress): readonly string[] {
  if (status.type === 'paused') return [status.timerId];
  return 'expiry' in status ? [status.expiry.timerId] : [];
}

/** The call whose wait this timer limits. */
export function callOfTimer(state: PhaseSlice, timerId: string): ToolCallProgress | undefined {
  return callsOf(state).find(
    ({ status }) => 'expiry' in status && status.expiry.timerId === timerId,
  );
}

/** The call without its expiry: the timer was stopped. */
export function withoutExpiry({ call, status }: ToolCallProgress): ToolCallProgress {
  return 'expiry' in status ? { call, status: without(status, 'expiry') } : { call, status };
}

/** Digest that a decision on this call must name. */
export function digestOf(call: ProposedToolCall): string {
  return call.approvalDigest ?? call.privileged?.digest ?? '';
}
