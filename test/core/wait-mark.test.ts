/** Waits without a limit are rows of Temporal's timeline: a timer begins and ends with each. */
import type { RunCommand } from '../../workflows/core/run/protocol';
import { escalationQuestionId } from '../../workflows/core/people/state';
import { pendingItems } from '../../workflows/core/view/pending';
import { statusView } from '../../workflows/core/view/status';
import { aCall, aPreparedRun, aRunWithCalls, aTool, takeAll } from '../support/builders';

/** But for the timer of active time. */
const timersOf = (commands: readonly RunCommand[]): readonly string[] =>
  commands.flatMap((command) => {
    if ('timerId' in command && command.timerId.startsWith('active-')) return [];
    if (command.type === 'start-timer') return [`+${command.timerId} ${command.summary}`];
    return command.type === 'cancel-timer' ? [`-${command.timerId}`] : [];
  });
const asking = (id: string) => aCall(id, { approvalDigest: `digest-${id}` });
const approve = (approvalId: string) =>
  ({ type: 'approval-resolved', approvalId, decision: 'approve' }) as const;

test('an approval has a timer from its wait to its decision, and no limit', () => {
  const [waiting, begun] = aRunWithCalls([asking('a')]);
  expect(timersOf(begun)).toEqual(['+mark-1 approval of search']);
  expect(pendingItems(waiting)[0]).not.toHaveProperty('expiresAtMs');
  const [approved, commands] = takeAll(waiting, approve('a'));
  expect(timersOf(commands)).toEqual(['-mark-1']);
  expect(approved.waitMark).toBeUndefined();
});

test('a wait with a limit has its own timer only', () => {
  const approvals = { expiresAfterMs: 60_000, onExpiry: 'reject' } as const;
  const [, begun] = aRunWithCalls([asking('a')], { approvals });
  expect(timersOf(begun)).toEqual(['+decision-1 approval of search']);
});

test('a wait that was escalated is shown from then on', () => {
  const approvals = { expiresAfterMs: 60_000, onExpiry: 'escalate' } as const;
  const [waiting] = aRunWithCalls([asking('a')], { approvals });
  const [, commands] = takeAll(waiting, { type: 'timer-fired', timerId: 'decision-1' });
  expect(timersOf(commands)).toEqual(['+mark-2 approval of search']);
});

test('a question about an unknown outcome, and a run that a person has taken over', () => {
  const tools = [aTool('search', { effect: 'irreversible', onUnknown: 'ask-person' })];
  const [running] = aRunWithCalls([aCall('a')], { tools });
  const unknown = {
    type: 'tool-call-completed',
    toolCallId: 'a',
    result: {
      result: 'blob',
      bytes: 1,
      preview: '',
      isOutcomeUnknown: true,
      error: { kind: 'agent', code: 'outcome_unknown', message: 'lost', recoverable: true },
    },
  } as unknown as Parameters<typeof takeAll>[1];
  expect(timersOf(takeAll(running, unknown)[1])).toEqual([
    expect.stringContaining('an answer: Did search take effect?'),
  ]);
  const [escalated, commands] = takeAll(
    { ...aPreparedRun(), phase: { type: 'ready' } },
    { type: 'escalation-requested', reason: 'look at this' },
  );
  expect(timersOf(commands)).toContain('+mark-1 a person: look at this');
  expect(statusView(escalated).doing).toBe('waiting for person: look at this');
  const answer = {
    type: 'question-answered',
    questionId: escalationQuestionId,
    answer: 'go',
  } as const;
  expect(timersOf(takeAll(escalated, answer)[1])).toContain('-mark-1');
});

test('goes on with what still waits, over segments, and when it fires', () => {
  const [waiting] = aRunWithCalls([asking('a'), asking('b')]);
  const [rolled, restarted] = takeAll(waiting, { type: 'segment-started' });
  expect(timersOf(restarted)).toEqual(['+mark-1 2 waits: approval of search']);
  const [fired, none] = takeAll(rolled, { type: 'timer-fired', timerId: 'mark-1' });
  expect(timersOf(none)).toEqual([]);
  expect(pendingItems(fired)).toHaveLength(2);
  const [, commands] = takeAll(fired, { type: 'stop-requested', reason: 'enough' });
  expect(timersOf(commands)).toEqual(['-mark-1']);
});
