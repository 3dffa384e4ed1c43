/** What people say to a run that ends: a finished answer stays one, and what no model read is in the report. */
import type { RunOutcome } from '../../../workflows/core/run/outcome';
import type { AgentSnapshot } from '../../../workflows/core/run/ports';
import type { RunState } from '../../../workflows/core/run/state';
import { noUsage } from '../../../workflows/core/budget/spend';
import { pendingItems } from '../../../workflows/core/view/pending';
import type { UnstampedEvent } from '../../support/builders';
import {
  aCall,
  aLimits,
  aMeasure,
  aPreparedRun,
  aReply,
  aRunWithCalls,
  aToolReply,
  aToolResult,
  anInfraError,
  entriesOf,
  takeAll,
} from '../../support/builders';

const say = (text: string) => ({ type: 'message-added', text }) as const;
const over = { type: 'escalation-requested', reason: 'I do it' } as const;
const overLine = 'A person was to take the run over: I do it';
const answered = { type: 'question-answered', questionId: 'escalation', answer: 'look' } as const;
const stop = { type: 'stop-requested', reason: 'enough' } as const;
const cancel = { type: 'cancel-requested', reason: 'off' } as const;
const lost = anInfraError('worker_lost');
const failedCall = { type: 'model-call-failed', callId: 'm1', failure: lost } as const;
const replied = (changes: Parameters<typeof aReply>[0] = {}) =>
  ({ type: 'model-call-completed', callId: 'm1', result: aReply(changes) }) as const;
const completed = {
  type: 'model-call-completed',
  callId: 'm1',
  result: aToolReply([aCall('c', { name: 'complete_task', input: { summary: 'done' } })]),
} as const;

function outcomeOf({ phase }: RunState): RunOutcome {
  if (phase.type !== 'ended') throw new Error(`it has not ended: ${phase.type}`);
  return phase.outcome;
}

describe('a finished answer after which the run may not go on', () => {
  const spend = { usage: noUsage, nanoUsd: 1_000 };
  const limits: readonly (readonly [string, Partial<AgentSnapshot>])[] = [
    ['iterations', { limits: aLimits({ maxIterations: 1 }) }],
    ['events', { limits: aLimits({ maxEvents: 4 }) }],
    ['budget', { budget: { nanoUsd: 1_000 } }],
    ['active time', { limits: aLimits({ maxActiveMs: 1_500 }) }],
  ];

  test.each(limits)('stays one at the limit of %s, and names the message', (_limit, snapshot) => {
    const [after] = takeAll(aPreparedRun(snapshot), say('and tea'), replied({ spend }));
    expect(outcomeOf(after)).toMatchObject({
      status: 'completed',
      answer: 'done',
      report: { unread: ['and tea'] },
    });
  });

  test.each(limits)(
    'stays one at the limit of %s where a person takes over',
    (_limit, snapshot) => {
      const [after] = takeAll(aPreparedRun(snapshot), over, replied({ spend }));
      const report = { unread: [overLine] };
      expect(outcomeOf(after)).toMatchObject({ status: 'completed', answer: 'done', report });
    },
  );

  test('stays one that came by complete_task', () => {
    const last = { completion: 'tool', limits: aLimits({ maxIterations: 1 }) } as const;
    const [after] = takeAll(aPreparedRun(last), say('and tea'), completed);
    const report = { unread: ['and tea'] };
    expect(outcomeOf(after)).toMatchObject({ status: 'completed', answer: 'done', report });
  });

  test('waits for the message where the run may go on', () => {
    const two = { limits: aLimits({ maxIterations: 2 }) };
    const [after] = takeAll(aPreparedRun(two), say('and tea'), replied());
    expect(after.phase.type).toBe('calling-model');
  });
});

test('nobody is waited for whose word no iteration could read', () => {
  const run = aRunWithCalls([aCall('a')], { limits: aLimits({ maxIterations: 1 }) })[0];
  const result = { type: 'tool-call-completed', toolCallId: 'a', result: aToolResult() } as const;
  const [after] = takeAll(run, over, result);
  const report = { unread: [overLine] };
  expect(outcomeOf(after)).toMatchObject({ status: 'failed', reason: 'max_iterations', report });
});

test('a person who takes over while the last iteration waits is heard in it', () => {
  const run = aPreparedRun({ limits: aLimits({ maxIterations: 1 }) });
  const down = anInfraError('store_unavailable');
  const [waiting] = takeAll(run, { type: 'model-call-failed', callId: 'm1', failure: down }, over);
  expect(pendingItems(waiting)).toMatchObject([{ questionId: 'escalation' }]);
  const [after, commands] = takeAll(waiting, answered);
  expect(after.counters.iterations).toBe(1);
  expect(commands.find(({ type }) => type === 'call-model')).toMatchObject({
    input: { userTexts: ['look'] },
  });
});

describe('what no model read', () => {
  const waiting = (): RunState => takeAll(aPreparedRun(), over, replied())[0];
  const cases: readonly (readonly [string, RunState, readonly UnstampedEvent[], string[]])[] = [
    ['at a stop', aPreparedRun(), [say('one'), stop, say('two'), failedCall], ['one', 'two']],
    ['at a cancel', aPreparedRun(), [say('one'), cancel, over, failedCall], ['one', overLine]],
    [
      'of a reply that was cut off',
      aPreparedRun(),
      [say('one'), replied({ stopReason: 'refusal' })],
      ['one'],
    ],
    [
      'of an answer that a stop follows',
      waiting(),
      [answered, stop, { ...failedCall, callId: 'm2' }],
      ['look'],
    ],
    [
      'beside tools',
      aRunWithCalls([aCall('a', { approvalDigest: 'd' })])[0],
      [say('one'), over, stop],
      ['one', overLine],
    ],
    [
      'of a broken call',
      aPreparedRun(),
      [say('one'), { ...failedCall, failure: anInfraError('config_invalid') }],
      ['one'],
    ],
  ];

  test.each(cases)('is in the report %s', (_when, run, events, unread) => {
    const [after] = takeAll(run, ...events);
    expect(outcomeOf(after).report.unread).toEqual(unread);
  });

  test('is in the report of a request that was held back, though the transcript has it', () => {
    const [sent] = takeAll(aPreparedRun(), say('one'), failedCallOf('rate_limit'));
    expect(sent.phase.type).toBe('calling-model');
    const heldBack = { headBefore: 'head-1', heldBack: aMeasure({ tokens: 195_000 }) };
    const [held] = takeAll(sent, {
      type: 'model-call-held-back',
      callId: 'm1.1',
      result: heldBack,
    });
    expect(held.inbox).toEqual([]);
    const [after] = takeAll(held, stop, {
      type: 'compaction-failed',
      callId: held.phase.type === 'compacting' ? held.phase.callId : '',
      failure: lost,
    });
    expect(outcomeOf(after).report.unread).toEqual(['one']);
  });

  test('is no text that a reply has read, also one that returns while the run ends', () => {
    const [sent] = takeAll(aPreparedRun(), say('one'), failedCallOf('rate_limit'));
    const reply = { ...replied(), callId: 'm1.1' };
    expect(outcomeOf(takeAll(sent, stop, reply)[0]).report.unread).toBeUndefined();
    expect(outcomeOf(takeAll(sent, reply)[0]).report.unread).toBeUndefined();
  });

  test('is bounded, newest last, and holds no secret', () => {
    const secret = 'ghp_' + 'a1B2'.repeat(9);
    const texts = Array.from({ length: 30 }, (_, index) => say(`message ${index} ${secret}`));
    const [after] = takeAll(aPreparedRun(), ...texts, stop, failedCall);
    const { unread = [] } = outcomeOf(after).report;
    expect(unread).toHaveLength(20);
    expect(unread[0]).toBe('(11 more)');
    expect(unread.at(-1)).toContain('message 29');
    expect(unread.join()).not.toContain(secret);
  });
});

function failedCallOf(code: 'rate_limit') {
  const failure = anInfraError(code, { route: 'alpha/model-1' });
  return { type: 'model-call-failed', callId: 'm1', failure } as const;
}

test('a wait for a provider or the store that a person ends also ends in the timeline', () => {
  const down = anInfraError('store_unavailable');
  const [run] = takeAll(aPreparedRun(), { ...failedCall, failure: down });
  for (const event of [over, stop]) {
    const entries = entriesOf(takeAll(run, event)[1]);
    expect(entries).toContainEqual(
      expect.objectContaining({
        type: 'WaitEndedEvent',
        waitedFor: 'store: it failed: store_unavailable',
      }),
    );
  }
});
