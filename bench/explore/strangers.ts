/** Two promises about single states: events that belong to nothing change nothing, and a kind world ends every run. */
import { isDeepStrictEqual } from 'node:util';
import type { UnstampedEvent } from '../../workflows/core/run/protocol';
import type { RunState } from '../../workflows/core/run/state';
import { infraError, measured } from './proposals';
import { actionsOf, play } from './play';
import type { Action, Problem, World } from './world';

const noUsage = { inputTokens: 1, outputTokens: 1, cacheReadTokens: 0, cacheWriteTokens: 0 };
const reply = {
  headBefore: '',
  head: '',
  stopReason: 'end',
  toolCalls: [],
  textPreview: '',
  usage: noUsage,
  contextTokens: 1,
} as const;
const verdicts = [{ name: 'guard', verdict: 'stopped' }] as const;

/** Events whose ids no run has. */
const strangers: readonly UnstampedEvent[] = [
  { type: 'run-started', runKey: 'x', request: { agent: 'x', goal: 'x' } },
  { type: 'model-call-completed', callId: 'm999', result: reply },
  { type: 'model-call-failed', callId: 'm999', failure: infraError('rate_limit') },
  {
    type: 'model-call-held-back',
    callId: 'm999',
    result: { headBefore: '', heldBack: measured() },
  },
  { type: 'compaction-failed', callId: 'c99', failure: infraError('worker_lost') },
  {
    type: 'tool-call-completed',
    toolCallId: 'nope',
    result: { result: 'b', preview: '', bytes: 1, fingerprint: '' },
  },
  { type: 'tool-call-failed', toolCallId: 'nope', failure: infraError('store_unavailable') },
  { type: 'subagent-ended', toolCallId: 'nope', end: { type: 'lost', message: 'gone' } },
  { type: 'guardrails-checked', callId: 'g999', result: { verdicts } },
  { type: 'guardrails-failed', callId: 'g999', failure: infraError('tool_infrastructure') },
  { type: 'handover-failed', callId: 'h999', failure: infraError('agent_unknown') },
  { type: 'notification-failed', callId: 'n99', failure: infraError('tool_infrastructure') },
  {
    type: 'recovery-plan-failed',
    callId: 'r99',
    failure: infraError('timeout', { spendUnknown: true }),
  },
  { type: 'timer-fired', timerId: 'decision-999' },
  { type: 'timer-fired', timerId: 'active-999' },
  { type: 'approval-resolved', approvalId: 'nope', decision: 'approve' },
  { type: 'approval-resolved', approvalId: 'recovery-999', decision: 'reject' },
  { type: 'edit-checked', callId: 'e99', result: { type: 'refused', problems: 'x' } },
  { type: 'edit-check-failed', callId: 'e99', failure: infraError('tool_infrastructure') },
  { type: 'question-answered', questionId: 'nope', answer: 'x' },
];

/** The state without what counts every event. */
function lasting({ counters, activeMs, activeSinceMs, ...rest }: RunState): object {
  const { events, ...counted } = counters;
  return { ...rest, counted };
}

/** What events that belong to nothing do to a state: nothing, if all is well. */
export function problemsWithStrangers({ core, state, nowMs }: World): readonly Problem[] {
  return strangers.flatMap((event) => {
    const where = `${event.type} in ${state.phase.type}`;
    try {
      const [after, commands] = core.transition(state, { ...event, atMs: nowMs });
      // It is the event by which a limit of events is reached.
      if (after.phase.type === 'ended') return [];
      const others = commands.filter(({ type }) => type !== 'publish');
      const isSame = isDeepStrictEqual(lasting(after), lasting(state)) && others.length === 0;
      return isSame ? [] : [{ kind: 'heeds an event that belongs to nothing', text: where }];
    } catch (thrown) {
      return [{ kind: 'throws', text: `${where}: ${String(thrown)}` }];
    }
  });
}

/** What a kind world does first: everything works, and people agree. */
const kindness: readonly RegExp[] = [
  /^roll$/,
  /=(complete|answer|pass)$/,
  /=ok$/,
  /=(advise|calls|same|more|both|bad|other|cancelled)$/,
  /^[a-z]+[\d.]+=/,
  /^(approve|answer) /,
  /^fire (?!active)/,
  /^fire /,
];
/** Actions after which a kind world must have ended a run. */
const patience = 200;

/** Brings a run to its end by kindness; a problem if it does not come. */
export function drain(start: World): readonly Problem[] {
  let world = start;
  const played: Action[] = [];
  while (world.state.phase.type !== 'ended') {
    const can = actionsOf(world);
    const action = kindness.flatMap((wish) => can.filter((each) => wish.test(each))).at(0);
    const text = `${world.state.phase.type} after ${played.slice(-4).join('; ')}`;
    if (action === undefined) return [{ kind: 'cannot end', text }];
    if (played.length >= patience) return [{ kind: 'never ends', text }];
    const after = play(world, action);
    if (after === undefined) return [{ kind: 'cannot end', text }];
    played.push(action);
    world = after;
  }
  return [];
}
