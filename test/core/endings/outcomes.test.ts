/** How a run ends: what its outcome and report hold, who keeps it from ending, and what must return first. */
import {
  checkBeforeEnd,
  completeWith,
  endFailed,
  endIfIdle,
  endOnceIdle,
  keepResults,
  leaveWait,
  propose,
  reportOf,
} from '../../../workflows/core/run/ending';
import type { Move } from '../../../workflows/core/run/move';
import type { RunState } from '../../../workflows/core/run/state';
import { settle } from '../../../workflows/core/tools/state';
import type { ToolCallProgress } from '../../../workflows/core/tools/state';
import {
  aCall,
  aLimits,
  anAgentError,
  aNewRun,
  anInfraError,
  aPreparedRun,
  aRunWithCalls,
  startMs,
} from '../../support/builders';

const calling = aPreparedRun();
const ready: RunState = { ...calling, phase: { type: 'ready' } };
const [running] = aRunWithCalls([aCall('c1'), aCall('c2', { name: 'calculator' })]);
const atMs = startMs + 5_000;
const proposed = { answer: 'done', output: { a: 1 }, head: 'head-9', calls: [] };

/** What the move publishes and asks of the shell, and where it leads. */
function seen({ state, commands, next }: Move<RunState>) {
  const entries = commands.flatMap((each) => (each.type === 'publish' ? [each.entry] : []));
  const others = commands.filter(({ type }) => type !== 'publish');
  return { phase: state.phase, entries, others, next };
}
const withCalls = (...calls: readonly ToolCallProgress[]): RunState => ({
  ...running,
  phase: { type: 'running-tools', calls },
});
const error = anAgentError({ message: 'no row' });
const worked = settle(aCall('c1'), 'fine', undefined, true);
const failed = settle(aCall('c2'), 'bad', error, true);
const refused = settle(aCall('c3'), 'never ran', error, false);
const inFlight: ToolCallProgress = { call: aCall('c4'), status: { type: 'running' } };

describe('a report', () => {
  test('holds what happened, and nothing that did not', () => {
    const report = reportOf(ready, atMs);
    const {
      toolCalls: _t,
      segments: _s,
      timers: _m,
      callsThisIteration: _c,
      ...counters
    } = ready.counters;
    expect(report).toEqual({
      ...{ agent: 'helper', ...counters, head: 'head-0', storeId: 'store-1', elapsedMs: 5_000 },
      ...{ worked: [], didNotWork: [], healed: {}, healedBy: ready.healedBy, usage: ready.usage },
      ...{ activeMs: ready.activeMs, lastText: ready.lastText, cost: report.cost },
    });
  });

  test('has the share of corrections at the first retry, compactions, unread texts, and counts for a parent run', () => {
    const report = reportOf(
      {
        ...ready,
        corrections: { ...ready.corrections, troubles: 4, atFirstRetry: 3 },
        context: { ...ready.context, compactions: 2 },
        inbox: ['hello'],
        advice: ['lower it'],
        request: { ...ready.request, parent: {} as never },
      },
      atMs,
    );
    expect(report).toMatchObject({
      ...{ compactions: 2, unread: ['hello'], advice: ['lower it'], guard: {} },
      corrections: { troubles: 4, atFirstRetry: 3, rate: 0.75 },
    });
  });
});

describe('a proposed answer', () => {
  const waits = { ...ready, proposed, inbox: ['wait'] };
  const spent = { limits: aLimits({ maxIterations: 1 }) };

  test('is checked, and ends the run with its output', () => {
    const move = propose(ready, proposed);
    expect(move).toEqual({
      state: { ...ready, proposed },
      commands: [],
      next: { type: 'check-answer' },
    });
    expect(checkBeforeEnd(move.state).next).toEqual({ type: 'complete' });
    const { phase, entries, others } = seen(completeWith(move.state, atMs));
    expect(phase).toMatchObject({
      type: 'ended',
      outcome: {
        status: 'completed',
        answer: 'done',
        output: { a: 1 },
        report: { head: 'head-9' },
      },
    });
    expect(entries).toEqual([{ type: 'RunEndedEvent', status: 'completed', message: 'done' }]);
    expect(others).toMatchObject([{ type: 'end-run', outcome: { status: 'completed' } }]);
  });

  test('is a part of the conversation while a person waits for an answer, or to take over', () => {
    expect(completeWith(waits, atMs)).toMatchObject({
      state: { head: 'head-9' },
      next: { type: 'begin-iteration' },
    });
    const taken = { ...ready, proposed, escalation: 'I do it' };
    expect(completeWith(taken, atMs).next).toEqual({ type: 'begin-iteration' });
    const calls = [aCall('c1')];
    expect(completeWith({ ...waits, proposed: { ...proposed, calls } }, atMs)).toMatchObject({
      state: { head: 'head-0' },
      next: { type: 'admit-calls', calls, head: 'head-9' },
    });
    expect(completeWith(waits, atMs).state).not.toHaveProperty('proposed');
  });

  test('ends a run that may not go on, whoever waits', () => {
    const last = aPreparedRun(spent);
    const { phase } = seen(completeWith({ ...last, proposed, inbox: ['wait'] }, atMs));
    expect(phase).toMatchObject({ outcome: { status: 'completed', report: { unread: ['wait'] } } });
  });

  test('is checked by the guardrails of the agent, unless a person waits', () => {
    const guarded = aPreparedRun({
      guardrails: { output: { names: ['polite'], timeoutMs: 1_000 } },
    });
    const state: RunState = { ...guarded, phase: { type: 'ready' }, proposed };
    expect(checkBeforeEnd(state).next).not.toEqual({ type: 'complete' });
    expect(checkBeforeEnd({ ...state, inbox: ['wait'] }).next).toEqual({ type: 'complete' });
  });
});

test('a run that fails says why, with the failure if there is one', () => {
  const stop = { reason: 'infra', message: 'no store' } as const;
  const { phase, entries, others } = seen(endFailed(ready, stop, undefined, atMs));
  expect(phase).toMatchObject({ type: 'ended', outcome: { status: 'failed', ...stop } });
  expect(phase.type === 'ended' && phase.outcome).not.toHaveProperty('failure');
  expect(entries).toEqual([{ type: 'RunEndedEvent', status: 'failed', message: 'no store' }]);
  expect(others).toMatchObject([{ type: 'end-run', outcome: stop }]);
  const failure = anInfraError('store_unavailable');
  expect(seen(endFailed(ready, stop, failure, atMs)).phase).toMatchObject({ outcome: { failure } });
});

describe('results that an end interrupts', () => {
  test('are kept, with a line for each call that ran and failed', () => {
    const kept = keepResults(withCalls(worked, failed, refused, inFlight));
    expect(kept.next.pendingResults.map(({ toolCallId }) => toolCallId)).toEqual([
      'c1',
      'c2',
      'c3',
    ]);
    const lines = kept.didNotWork.slice(running.didNotWork.length);
    expect(lines).toEqual([expect.stringContaining('no row')]);
    expect(keepResults(ready)).toBe(ready);
  });

  test('of recovery are kept once its call ran', () => {
    const recovery = { introduction: 'You were stuck.' } as never;
    const state = (call: ToolCallProgress): RunState => ({
      ...running,
      phase: { type: 'running-tools', calls: [call], recovery },
    });
    expect(keepResults(state(refused))).toEqual(state(refused));
    expect(keepResults(state(inFlight))).toEqual(state(inFlight));
    expect(keepResults(state(worked)).next.runtimeResults).toHaveLength(1);
  });
});

describe('what is in flight returns before the run ends', () => {
  const stop = { status: 'stopped', reason: 'enough' } as const;
  const end = (state: RunState) => seen(endOnceIdle(state, stop, atMs));

  test('a preparation', () => {
    const { phase, others } = end(aNewRun()[0]);
    expect(phase).toEqual({ type: 'ending', ...stop, outstanding: 'prepare' });
    expect(others).toEqual([{ type: 'cancel-activities', callIds: ['prepare'] }]);
  });

  test('a model call, with the texts that it carries', () => {
    const sent = { ...calling, phase: { ...calling.phase, sentTexts: 2 } } as RunState;
    const { phase, others } = end(sent);
    expect(phase).toEqual({ type: 'ending', ...stop, outstanding: 'm1', sentTexts: 2 });
    expect(others).toEqual([{ type: 'cancel-activities', callIds: ['m1'] }]);
  });

  test('a plan, whose wait is none', () => {
    const stage = { type: 'planning', callId: 'r1' } as never;
    const { phase, others, entries } = end({ ...ready, phase: { type: 'recovering', stage } });
    expect(phase).toEqual({ type: 'ending', ...stop, outstanding: 'r1' });
    expect([others, entries]).toEqual([[{ type: 'cancel-activities', callIds: ['r1'] }], []]);
  });

  test('tool calls and checks of edits, but no call that has its result', () => {
    const checking: ToolCallProgress = {
      call: aCall('c5', { approvalDigest: 'd' }),
      status: { type: 'checking-edit', callId: 'e5', decision: 'edit:x' },
    };
    const { phase, others } = end(withCalls(worked, inFlight, checking));
    expect(phase).toMatchObject({ type: 'ending', tools: { calls: { length: 3 } } });
    expect(others).toEqual([{ type: 'cancel-activities', callIds: ['t1.1', 'e5'] }]);
  });

  test('and nothing else: an idle run ends at once', () => {
    expect(end(ready).phase).toMatchObject({ type: 'ended', outcome: stop });
    expect(end(withCalls(worked)).phase).toMatchObject({ type: 'ended', outcome: stop });
  });

  test('a second end changes nothing, unless it is a cancel', () => {
    const failure = {
      status: 'failed',
      reason: 'limit',
      failureReason: 'max_iterations',
    } as const;
    const { state } = endOnceIdle(calling, failure, atMs);
    expect(endOnceIdle(state, stop, atMs)).toEqual({ state, commands: [] });
    const cancel = { status: 'cancelled', reason: 'off' } as const;
    expect(seen(endOnceIdle(state, cancel, atMs))).toMatchObject({
      phase: { ...cancel, outstanding: 'm1' },
      others: [],
    });
    expect(endOnceIdle(state, cancel, atMs).state.phase).not.toHaveProperty('failureReason');
  });

  test('a run that is ending waits for it', () => {
    const ending = (changes: object): RunState => ({
      ...ready,
      phase: { type: 'ending', ...stop, ...changes },
    });
    const of = (state: RunState) => endIfIdle(state, atMs).state.phase.type;
    expect(of(ready)).toBe('ready');
    expect(of(ending({ outstanding: 'm1' }))).toBe('ending');
    expect(of(ending({ tools: { calls: [inFlight] } }))).toBe('ending');
    expect(of(ending({ tools: { calls: [worked] } }))).toBe('ended');
    const failing = { status: 'failed', reason: 'too long', failureReason: 'max_iterations' };
    expect(endIfIdle(ending(failing), atMs).state.phase).toMatchObject({
      outcome: { status: 'failed', reason: 'max_iterations', message: 'too long' },
    });
    const { failureReason: _, ...unnamed } = failing;
    expect(endIfIdle(ending(unnamed), atMs).state.phase).toMatchObject({
      outcome: { reason: 'infra' },
    });
  });
});

describe('a wait that an end cuts short', () => {
  const since = { sinceMs: startMs, untilMs: atMs } as const;

  test('ends in the timeline, and its timer stops', () => {
    const wait = { type: 'waiting', on: 'store', reason: 'down', then: 'prepare' } as const;
    const timed = leaveWait({ ...ready, phase: { ...wait, ...since, timerId: 'store-1' } });
    expect(timed).toMatchObject([
      { type: 'cancel-timer', timerId: 'store-1' },
      { type: 'publish', entry: { type: 'WaitEndedEvent', waitedFor: 'store: down' } },
    ]);
    const untimed = leaveWait({ ...ready, phase: { ...wait, sinceMs: startMs } });
    expect(untimed).toMatchObject([{ entry: { type: 'WaitEndedEvent' } }]);
  });

  test('of recovery does the same; a plan in the making is no wait', () => {
    const stage = {
      ...since,
      type: 'escalated',
      timerId: 'recovery-1',
      questionId: 'q',
      question: 'Why?',
    };
    const recovering = (of: object): RunState =>
      ({ ...ready, phase: { type: 'recovering', stage: of } }) as RunState;
    expect(leaveWait(recovering(stage))).toEqual([
      { type: 'cancel-timer', timerId: 'recovery-1' },
      {
        type: 'publish',
        entry: {
          ...{ type: 'WaitEndedEvent', waitedFor: 'person: Why?' },
          wait: { kind: 'question', id: 'q' },
        },
      },
    ]);
    expect(leaveWait(recovering({ type: 'planning', callId: 'r1' }))).toEqual([]);
    expect(leaveWait(ready)).toEqual([]);
  });
});
