/** Whom a run tells that it waits for a person, when, and how often. */
import type { PersonNotice } from '../../workflows/core/notifications/ports';
import type { RunCommand } from '../../workflows/core/run/protocol';
import type { ScriptedReply } from '../support/scripted-reply';
import { drive, RunDriver } from '../support/run-driver';
import { aSnapshot, aTool } from '../support/builders';

const kinds: readonly PersonNotice['kind'][] = ['escalation', 'question', 'approval'];

function snapshot(on = kinds): ReturnType<typeof aSnapshot> {
  return aSnapshot({
    tools: [aTool('search'), aTool('pay', { approval: 'always' })],
    notifiers: { names: ['chat', 'log'], on },
  });
}

function sent(driver: RunDriver): readonly Extract<RunCommand, { type: 'notify' }>[] {
  return driver.commands.flatMap((command) => (command.type === 'notify' ? [command] : []));
}

const asks = { calls: [{ name: 'ask_user', input: { question: 'which city?' } }] };
const pays = { calls: [{ name: 'pay', needsApproval: true }] };

function pendingId(driver: RunDriver): string {
  const { phase } = driver.state;
  const call = phase.type === 'running-tools' ? phase.calls[0] : undefined;
  return call?.call.toolCallId ?? 'escalation';
}

test('a question, an approval and an escalation are each told once, with what was tried', () => {
  const driver = drive([{ calls: [{ name: 'search' }] }, asks, pays, { text: 'done' }], {
    prepare: () => snapshot(),
  });
  driver.say({ type: 'question-answered', questionId: pendingId(driver), answer: 'Rome' });
  driver.run();
  driver.say({ type: 'approval-resolved', approvalId: pendingId(driver), decision: 'approve' });
  driver.say({ type: 'escalation-requested', reason: 'let me look' });
  driver.run();
  driver.say({ type: 'question-answered', questionId: 'escalation', answer: 'go on' });
  driver.run();
  expect(driver.outcome.status).toBe('completed');
  expect(sent(driver).map(({ callId, input }) => [callId, input.notice.kind])).toEqual([
    ['n1', 'question'],
    ['n2', 'approval'],
    ['n3', 'escalation'],
  ]);
  expect(sent(driver)[0]?.input).toMatchObject({
    notifiers: ['chat', 'log'],
    idempotencyKey: 'wf-1/run-1/n1',
    notice: { asked: 'which city?', worked: ['search'] },
  });
  const told = driver.entries.flatMap((entry) => (entry.type === 'NotifiedEvent' ? [entry] : []));
  expect(told.map(({ about }) => about)).toEqual(['question', 'approval', 'escalation']);
});

test('a run without notifiers asks for no activity', () => {
  const driver = drive([asks]);
  expect(sent(driver)).toEqual([]);
  expect(driver.state.notifications).toEqual({ count: 0, inFlight: [] });
});

test('only the chosen kinds of waits are told', () => {
  const driver = drive([asks], { prepare: () => snapshot(['approval']) });
  expect(sent(driver)).toEqual([]);
});

test('a notifier that fails is a line of the timeline, and the answer continues the run', () => {
  const driver = drive([asks, { text: 'done' }], {
    prepare: () => snapshot(),
    failsToNotify: () => true,
  });
  expect(driver.entries.at(-1)).toMatchObject({
    type: 'NotificationFailedEvent',
    about: 'question',
    message: 'nobody there',
  });
  driver.say({ type: 'question-answered', questionId: pendingId(driver), answer: 'Rome' });
  expect(driver.run().outcome.status).toBe('completed');
});

/** A run whose question is being told of, but nobody has been told yet. */
function aRunThatTells(world: { wantsRollOver?: () => boolean } = {}): RunDriver {
  const replies: readonly ScriptedReply[] = [asks, { text: 'done' }];
  const driver = new RunDriver({
    prepare: () => snapshot(),
    model: (_request, call) => replies[call - 1] ?? { text: 'more' },
    ...world,
  });
  while (sent(driver).length === 0) driver.step();
  return driver;
}

test('a notification about what no longer waits is called back, and its end changes nothing', () => {
  const driver = aRunThatTells();
  driver.say({ type: 'question-answered', questionId: pendingId(driver), answer: 'Rome' });
  expect(driver.commands).toContainEqual({ type: 'cancel-activities', callIds: ['n1'] });
  expect(driver.state.notifications.inFlight).toEqual([]);
  expect(driver.run().outcome.status).toBe('completed');
  expect(typesOfEntries(driver)).not.toContain('NotificationFailedEvent');
});

test('a new segment sends again what was in flight, under the same id and key, and what has landed not', () => {
  let rollOver = false;
  const driver = aRunThatTells({ wantsRollOver: () => rollOver });
  rollOver = true;
  driver.say({ type: 'message-added', text: 'hello' });
  rollOver = false;
  expect(driver.rollOvers).toBe(1);
  const [first, again] = sent(driver);
  expect(again).toEqual(first);
  driver.run();
  expect(typesOfEntries(driver)).toContain('NotifiedEvent');
  rollOver = true;
  driver.say({ type: 'message-added', text: 'hello' });
  expect(driver.rollOvers).toBe(2);
  expect(sent(driver)).toHaveLength(2);
});

test('notifications use up none of the events that the guard allows', () => {
  const silent = drive([asks], { prepare: () => snapshot([]) });
  const told = drive([asks], { prepare: () => snapshot() });
  expect(told.state.counters.events).toBe(silent.state.counters.events);
});

function typesOfEntries(driver: RunDriver): readonly string[] {
  return driver.entries.map(({ type }) => type);
}
