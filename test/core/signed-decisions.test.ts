/** Runs that take signed decisions only: an activity verifies each one before it applies, and the call carries its signature. */
import type { CheckEditInput } from '../../workflows/core/people/ports';
import { argumentsText, decisionStatement } from '../../workflows/core/people/signed-decision';
import { verdictOnDecision } from '../../workflows/core/people/verdicts';
import { pendingItems } from '../../workflows/core/view/pending';
import { statusView } from '../../workflows/core/view/status';
import { eventOfUpdate } from '../../workflows/people-events';
import { problemOfDecision } from '../../workflows/update-problems';
import type { UnstampedEvent } from '../support/builders';
import { aRecoveryPolicy, aSnapshot, aTool, anAgentError } from '../support/builders';
import { RunDriver } from '../support/run-driver';

const good = 'g'.repeat(86);
const other = 'o'.repeat(86);
const asks = { calls: [{ name: 'search', input: { n: 1 }, needsApproval: true }] };
const done = { text: 'done' };

/** A run whose one call waits; signatures are good if they say so. */
function waitingRun(changes: Partial<Parameters<typeof aSnapshot>[0]> = {}): {
  readonly run: RunDriver;
  readonly id: string;
  readonly checks: CheckEditInput[];
} {
  const replies = [asks, done];
  const checks: CheckEditInput[] = [];
  const run = new RunDriver({
    prepare: () => aSnapshot({ approvers: ['ed25519:x'], ...changes }),
    model: () => replies.shift() ?? done,
    check: (given) => {
      checks.push(given);
      return given.signed?.signature === good ? undefined : 'not signed by an approver';
    },
  });
  while (pendingItems(run.state).length === 0 && run.step());
  const [item] = pendingItems(run.state);
  return { run, id: item?.type === 'approval' ? item.approvalId : '', checks };
}

const decision = (
  approvalId: string,
  more: object = {},
): Extract<UnstampedEvent, { type: 'approval-resolved' }> => ({
  type: 'approval-resolved',
  approvalId,
  decision: 'approve',
  ...more,
});

test('an approval runs its call only once its signature is verified, and the call carries it', () => {
  const { run, id, checks } = waitingRun();
  run.say(decision(id, { signature: good, by: 'Ada' }));
  expect(run.toolRuns).toEqual([]);
  expect(pendingItems(run.state)).toMatchObject([{ approvalId: id, checkingEdit: true }]);
  run.run();
  expect(checks).toMatchObject([
    {
      toolCallId: id,
      signed: { runKey: 'wf-1/run-1', digest: `digest-${id}`, decision: 'approve', by: 'Ada' },
    },
  ]);
  expect(checks[0]).not.toHaveProperty('input');
  expect(run.toolRuns).toMatchObject([
    { toolCallId: id, input: { n: 1 }, approval: { signature: good, by: 'Ada' } },
  ]);
  expect(statusView(run.state).decisions).toMatchObject([{ id, what: 'approved by Ada' }]);
});

test.each([
  ['without a signature', {}],
  ['with a wrong signature', { signature: other }],
  ['with other arguments and a wrong signature', { signature: other, input: { n: 2 } }],
  ['that rejects, with a wrong signature', { signature: other, decision: 'reject', reason: 'no' }],
] as const)('a decision %s leaves the approval waiting', (_what, more) => {
  const { run, id } = waitingRun();
  run.say(decision(id, more));
  run.run();
  expect(run.toolRuns).toEqual([]);
  expect(pendingItems(run.state)).toMatchObject([{ approvalId: id }]);
  expect(verdictOnDecision(run.state, decision(id, more))).toMatchObject({
    type: 'refused',
    problem: 'not signed by an approver',
  });
  expect(JSON.parse(JSON.stringify(run.state))).toEqual(run.state);
  // A person's own decision is not lost to it.
  run.say(decision(id, { signature: good }));
  run.run();
  expect(run.toolRuns).toHaveLength(1);
});

test('a signed edit carries the arguments that the person saw', () => {
  const { run, id } = waitingRun();
  run.say(decision(id, { signature: good, input: { n: 2 } }));
  run.run();
  expect(run.toolRuns).toMatchObject([
    { input: { n: 2 }, approval: { signature: good, shown: { input: { n: 1 } } } },
  ]);
});

test('a signed rejection is told to the model with its reason', () => {
  const { run, id } = waitingRun();
  run.say(decision(id, { signature: good, decision: 'reject', reason: 'too much', by: 'Ada' }));
  run.run();
  expect(run.toolRuns).toEqual([]);
  expect(JSON.stringify(run.requests[1]?.messages.at(-1))).toContain('too much');
  expect(statusView(run.state).decisions).toMatchObject([{ id, what: 'rejected by Ada' }]);
});

test('the update refuses what the workflow can see: no signature, or none by its form', () => {
  const { run, id } = waitingRun();
  const digest = `digest-${id}`;
  const update = { approvalId: id, digest, decision: 'approve' };
  expect(problemOfDecision(run.state, update)).toMatch(
    /signed decisions only.*HOLDFAST_APPROVAL_KEY/,
  );
  for (const signature of ['', 'x', 7, null, `${good}=`, '+'.repeat(86)])
    expect(problemOfDecision(run.state, { ...update, signature })).toMatch(/Ed25519/);
  expect(problemOfDecision(run.state, { ...update, signature: good })).toBeUndefined();
  expect(eventOfUpdate('resolveApproval', { ...update, signature: good })).toMatchObject({
    signature: good,
  });
});

test('while one decision is checked, another one waits for its result, also with the same words', () => {
  const { run, id } = waitingRun();
  run.say(decision(id, { signature: other }));
  const update = { approvalId: id, digest: `digest-${id}`, decision: 'approve', signature: good };
  expect(problemOfDecision(run.state, update)).toMatch(/is being checked. Decide again/);
  run.run();
  expect(problemOfDecision(run.state, update)).toBeUndefined();
});

test('a decision that was made counts again only with its own signature', () => {
  const { run, id } = waitingRun();
  run.say(decision(id, { signature: good, by: 'Ada' }));
  run.step();
  expect(verdictOnDecision(run.state, decision(id, { signature: good }))).toEqual({
    type: 'accepted',
  });
  for (const more of [{ signature: other }, {}])
    expect(verdictOnDecision(run.state, decision(id, more))).toMatchObject({
      type: 'refused',
      problem: expect.stringContaining('approved by Ada') as string,
    });
});

test('a call of an unsigned run carries a signature that came all the same, for a worker that asks for it', () => {
  const replies = [asks, done];
  const run = new RunDriver({ model: () => replies.shift() ?? done });
  while (pendingItems(run.state).length === 0 && run.step());
  const [item] = pendingItems(run.state);
  run.say(decision(item?.type === 'approval' ? item.approvalId : '', { signature: good }));
  run.run();
  expect(run.toolRuns).toMatchObject([{ approval: { signature: good } }]);
});

test.each([
  ['asks where decisions need no signature', {}, 'asks'],
  ['suggests to the model where they do', { approvers: ['ed25519:x'] }, 'suggests'],
] as const)('recovery in doubt %s', (_what, changes, expected) => {
  const run = new RunDriver({
    prepare: () => aSnapshot({ tools: [aTool('search')], recovery: aRecoveryPolicy(), ...changes }),
    model: (_request, nth) => (nth > 6 ? done : { calls: [{ name: 'search', input: { q: 'x' } }] }),
    tool: () => ({
      error: anAgentError({ code: 'tool_execution_failed', toolName: 'search', message: 'no' }),
    }),
    plan: () => ({
      action: {
        strategy: 'retry',
        reasoning: 'r',
        action: { toolName: 'search' },
        expectedOutcome: '',
        confidence: 0.6,
      },
      digest: 'd',
    }),
  });
  while (pendingItems(run.state).length === 0 && run.step());
  expect(run.entries.find(({ type }) => type === 'RecoveryEvent')).toMatchObject({
    decision: expected,
  });
});

test('what is signed differs for every part of a decision', () => {
  const base = { approvalId: 'a', digest: 'd', decision: 'approve' } as const;
  const texts = [
    decisionStatement('w/1', base),
    decisionStatement('w/2', base),
    decisionStatement('w/1', { ...base, approvalId: 'b' }),
    decisionStatement('w/1', { ...base, digest: 'e' }),
    decisionStatement('w/1', { ...base, decision: 'reject' }),
    decisionStatement('w/1', { ...base, decision: 'reject', reason: 'r' }),
    decisionStatement('w/1', { ...base, inputDigest: 'i' }),
    decisionStatement('w/1', { ...base, by: 'i' }),
    decisionStatement('w/1', { ...base, by: 'i","x' }),
  ];
  expect(new Set(texts).size).toBe(texts.length);
  expect(texts[0]).toBe('["holdfast decision","w/1","a","d","approve",null,null,null]');
});

test('changed arguments are signed by one text, whatever way they travelled', () => {
  const value = { b: [1, { d: null, c: 'x' }], a: true };
  expect(argumentsText(value)).toBe('{"a":true,"b":[1,{"c":"x","d":null}]}');
  expect(argumentsText({ a: true, b: [1, { c: 'x', d: null }] })).toBe(argumentsText(value));
  expect(argumentsText([])).toBe('[]');
  expect(argumentsText('text')).toBe('"text"');
});

test('who decides what, and why, is in the signed text', () => {
  const made = {
    approvalId: 'a1',
    digest: 'd1',
    decision: 'reject',
    reason: 'no',
    by: 'Ada',
  } as const;
  expect(decisionStatement('wf/run', made)).toBe(
    '["holdfast decision","wf/run","a1","d1","reject",null,"no","Ada"]',
  );
  expect(decisionStatement('wf/run', { ...made, decision: 'approve', inputDigest: 'i1' })).toBe(
    '["holdfast decision","wf/run","a1","d1","approve","i1",null,"Ada"]',
  );
});
