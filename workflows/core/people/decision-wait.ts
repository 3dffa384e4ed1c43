/** How long a decision may take: arms, re-arms and ends the timers of approvals and questions. */
import { callSummary } from '../tools/call-summary';
import type { DecisionPolicy, ProposedToolCall } from '../tools/ports';
import { askUserTool } from '../tools/ports';
import type { RunCommand } from '../run/protocol';
import type { DecisionWait, RunPhase, RunState, ToolCallProgress } from '../run/state';
import type { Step } from '../run/step';
import { count, step } from '../run/step';

/** Longest time between two reminders in milliseconds, unless the policy's own is longer: a week (ADR 0022). */
const longestReminderMs = 7 * 86_400_000;

/** What a call waits for, in words. */
export function waitText({ call, status }: ToolCallProgress): string {
  return status.type === 'awaiting-answer'
    ? `an answer: ${status.question}`
    : `approval of ${callSummary(call)}`;
}

/** What holds for the wait of a call; undefined where it waits without limit. */
export function policyOf(
  { snapshot }: RunState,
  { call, status }: ToolCallProgress,
): DecisionPolicy | undefined {
  if (snapshot === undefined) return undefined;
  // A question about an unknown outcome waits for its answer, however long: nobody else can give it.
  if (status.type === 'awaiting-answer')
    return call.name === askUserTool ? snapshot.questions : undefined;
  const tool = snapshot.tools.find(({ name }) => name === call.name);
  return tool?.approvals ?? snapshot.approvals;
}

/** Milliseconds of the wait that begins now, doubled with each reminder. */
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
    summary: `limit of ${waitText(progress)}`.slice(0, 200),
  };
}

/** The calls of the phase. */
function callsOf(phase: RunPhase): readonly ToolCallProgress[] {
  return phase.type === 'running-tools' ? phase.calls : [];
}

function isWaiting({ status }: ToolCallProgress): boolean {
  return status.type === 'awaiting-approval' || status.type === 'awaiting-answer';
}

/** Sets the expiry of one waiting call anew, and asks for its timer. */
export function armWait(state: RunState, toolCallId: string, atMs: number): Step {
  const { phase } = state;
  const progress = callsOf(phase).find(({ call }) => call.toolCallId === toolCallId);
  if (phase.type !== 'running-tools' || progress === undefined || !isWaiting(progress))
    return step(state);
  const policy = policyOf(state, progress);
  const reminders = 'reminders' in progress.status ? (progress.status.reminders ?? 0) : 0;
  const delayMs = policy === undefined ? undefined : periodMs(policy, reminders);
  if (delayMs === undefined) return step(state);
  const timers = state.counters.timers + 1;
  const expiry = { timerId: `decision-${timers}`, atMs: atMs + delayMs };
  const armed: RunState = {
    ...state,
    phase: {
      ...phase,
      calls: phase.calls.map((other) =>
        other === progress ? ({ ...other, status: { ...other.status, expiry } } as const) : other,
      ),
    },
  };
  return step(count(armed, { timers }), expiryTimer(progress, expiry, atMs));
}

/** Sets the expiry of every call that has just begun to wait. */
export function armWaits(state: RunState, atMs: number): Step {
  const waiting = callsOf(state.phase).filter(isWaiting);
  return waiting.reduce<Step>((before, { call }) => {
    const after = armWait(before.state, call.toolCallId, atMs);
    return { state: after.state, commands: [...before.commands, ...after.commands] };
  }, step(state));
}

/** The timer of a wait, started again in a new segment with the rest of its time. */
export function rearmed(progress: ToolCallProgress, atMs: number): readonly RunCommand[] {
  const { status } = progress;
  if (!('expiry' in status)) return [];
  return [expiryTimer(progress, status.expiry, atMs)];
}

/** Ids of the timers that run for a call. */
export function timersOfCall({ status }: ToolCallProgress): readonly string[] {
  if (status.type === 'paused') return [status.timerId];
  return 'expiry' in status ? [status.expiry.timerId] : [];
}

/** The call whose wait this timer limits. */
export function callOfTimer(phase: RunPhase, timerId: string): ToolCallProgress | undefined {
  return callsOf(phase).find(
    ({ status }) => 'expiry' in status && status.expiry.timerId === timerId,
  );
}

/** The call without a limit to its wait: its timer was stopped. */
export function withoutExpiry({ call, status }: ToolCallProgress): ToolCallProgress {
  if (!('expiry' in status)) return { call, status };
  const { expiry: _stopped, ...rest } = status;
  return { call, status: rest };
}

/** Activity ids of checks that are in flight. */
export function checksInFlight(phase: RunPhase): readonly string[] {
  return callsOf(phase).flatMap(({ status }) =>
    status.type === 'checking-edit' ? [status.callId] : [],
  );
}

/** Digest that a decision on this call must name. */
export function digestOf(call: ProposedToolCall): string {
  return call.approvalDigest ?? call.privileged?.digest ?? '';
}
