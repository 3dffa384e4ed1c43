/** People and failures at the worst moment, in each phase. */
import { rejectDecision, rejectAnswer } from '../../workflows/core/run/people-input';
import type { RunCommand } from '../../workflows/core/run/protocol';
import type { RunState } from '../../workflows/core/run/state';
import { pendingItems } from '../../workflows/core/view/pending';
import type { Transition } from '../../workflows/core/run/transition';
import { transition } from '../../workflows/core/run/transition';
import type { UnstampedEvent } from '../support/builders';
import {
  aCall,
  aLimits,
  aNewRun,
  aPreparedRun,
  aRoute,
  aRunWithCalls,
  aSnapshot,
  aTool,
  aToolResult,
  anAgentError,
  anInfraError,
  entriesOf,
  startMs,
  takeAll,
  typesOf,
  markdownOf,
} from '../support/builders';
import { drive, RunDriver } from '../support/run-driver';

const stop = { type: 'stop-requested', reason: 'enough' } as const;
const cancel = { type: 'cancel-requested', reason: 'cancelled' } as const;
const escalate = { type: 'escalation-requested', reason: 'let me look' } as const;
const storeDown = anInfraError('store_unavailable');

const waitingForStore = (): RunState =>
  takeAll(aPreparedRun(), { type: 'model-call-failed', callId: 'm1', failure: storeDown })[0];
const waitingForProvider = (): RunState =>
  takeAll(aPreparedRun({ chain: [aRoute()] }), {
    type: 'model-call-failed',
    callId: 'm1',
    failure: anInfraError('overloaded'),
  })[0];
const waitingForPerson = (): RunState =>
  takeAll(aRunWithCalls([aCall('a')])[0], escalate, {
    type: 'tool-call-completed',
    toolCallId: 'a',
    result: aToolResult(),
  })[0];
const paused = (): RunState =>
  takeAll(aRunWithCalls([aCall('a')])[0], {
    type: 'tool-call-failed',
    toolCallId: 'a',
    failure: storeDown,
  })[0];
const waitingToPrepare = (): RunState =>
  takeAll(aNewRun()[0], { type: 'run-preparation-failed', failure: storeDown })[0];
const approval = (id: string) => aCall(id, { approvalDigest: `digest-${id}` });

/** The model call among commands. */
function modelCall(commands: readonly RunCommand[]): RunCommand | undefined {
  return commands.find(({ type }) => type === 'call-model');
}

describe('an end that a person asks for', () => {
  test.each<[string, () => RunState]>([
    ['waits for the store to prepare', waitingToPrepare],
    ['waits for the store', waitingForStore],
    ['waits for a provider', waitingForProvider],
    ['waits for a person', waitingForPerson],
    ['has a paused tool', paused],
    ['waits for an approval', () => aRunWithCalls([approval('a')])[0]],
  ])('ends a run at once that %s, with its timers', (_what, make) => {
    const [state, commands] = takeAll(make(), stop);
    expect(state.phase).toMatchObject({ type: 'ended', outcome: { status: 'stopped' } });
    const types = typesOf(commands);
    expect(types.at(-1)).toBe('end-run');
    const before = make().phase;
    const timed = before.type === 'waiting' ? before.timerId : undefined;
    if (timed !== undefined) expect(commands[0]).toEqual({ type: 'cancel-timer', timerId: timed });
  });

  test('cancels the timer of a paused tool', () => {
    expect(typesOf(takeAll(paused(), stop)[1])).toContain('cancel-timer');
  });

  test('waits for the preparation that is in flight', () => {
    const [ending, commands] = takeAll(aNewRun()[0], cancel);
    expect(commands).toEqual([{ type: 'cancel-activities', callIds: ['prepare'] }]);
    const [ended] = takeAll(ending, {
      type: 'run-prepared',
      result: { snapshot: aSnapshot(), head: 'head-0' },
    });
    expect(ended.phase).toMatchObject({ outcome: { status: 'cancelled' } });
  });

  test('waits for every tool in flight and reports what each did, once', () => {
    const [running] = aRunWithCalls([
      aCall('a'),
      aCall('b', { name: 'calculator' }),
      approval('c'),
    ]);
    const [ending, commands] = takeAll(running, stop);
    expect(commands.filter(({ type }) => type !== 'publish')).toEqual([
      { type: 'cancel-activities', callIds: ['t1.0', 't1.1'] },
      { type: 'cancel-timer', timerId: 'mark-1' },
    ]);
    const landed = { type: 'tool-call-completed', toolCallId: 'a', result: aToolResult() } as const;
    const [half] = takeAll(ending, landed, landed);
    expect(half.phase.type).toBe('ending');
    const [ended] = takeAll(half, {
      type: 'tool-call-failed',
      toolCallId: 'b',
      failure: anInfraError('worker_lost'),
    });
    expect(ended.phase).toMatchObject({
      outcome: {
        status: 'stopped',
        report: {
          toolCallsSucceeded: 1,
          toolCallsFailed: 1,
          worked: ['search'],
          didNotWork: ['calculator: stopped with the run'],
        },
      },
    });
  });

  test('keeps the text and the bill of a reply that lands meanwhile, but no stray one', () => {
    const result = {
      headBefore: 'h1',
      head: 'h2',
      stopReason: 'end',
      toolCalls: [],
      textPreview: 'half an answer',
      usage: { inputTokens: 7, outputTokens: 3, cacheReadTokens: 0, cacheWriteTokens: 0 },
      contextTokens: 7,
    } as const;
    const [ending] = takeAll(aPreparedRun(), stop);
    const [stray] = takeAll(ending, { type: 'model-call-completed', callId: 'm0', result });
    expect(stray).toMatchObject({ head: 'head-0', phase: { type: 'ending' } });
    const [ended] = takeAll(stray, { type: 'model-call-completed', callId: 'm1', result });
    expect(ended.phase).toMatchObject({
      outcome: { report: { head: 'h1', lastText: 'half an answer', usage: { inputTokens: 7 } } },
    });
  });

  test('becomes a cancel when a cancel follows, and stays one', () => {
    const [ending] = takeAll(aPreparedRun(), stop, cancel, stop);
    expect(ending.phase).toMatchObject({ type: 'ending', status: 'cancelled' });
  });
});

describe('an escalation', () => {
  test.each<[string, () => RunState]>([
    ['a provider', waitingForProvider],
    ['the store', waitingForStore],
  ])('takes over a run at once that waits for %s', (_what, make) => {
    const [state, commands] = takeAll(make(), escalate);
    expect(state.phase).toMatchObject({ type: 'waiting', on: 'person' });
    expect(typesOf(commands)).toContain('cancel-timer');
  });

  test('while preparing, in a call or in a tool holds at the next iteration', () => {
    const [prepared] = takeAll(aNewRun()[0], escalate, {
      type: 'run-prepared',
      result: { snapshot: aSnapshot(), head: 'head-0' },
    });
    expect(prepared.phase).toMatchObject({ on: 'person', reason: 'let me look' });
    expect(waitingForPerson().phase).toMatchObject({ on: 'person' });
  });

  test('twice asks once, with the newest reason, and an answer reaches the model', () => {
    const again = { type: 'escalation-requested', reason: 'really' } as const;
    const answer = {
      type: 'question-answered',
      questionId: 'escalation',
      answer: 'go on',
    } as const;
    const [asked] = takeAll(waitingForPerson(), again);
    expect(pendingItems(asked)).toMatchObject([{ question: 'really' }]);
    const [going, commands] = takeAll(asked, answer);
    expect(going.phase.type).toBe('calling-model');
    expect(modelCall(commands)).toMatchObject({ input: { userTexts: ['go on'] } });
    expect(takeAll(going, answer)[0].inbox).toEqual(going.inbox);
  });

  test('answered with nothing tells the model so', () => {
    const blank = { type: 'question-answered', questionId: 'escalation', answer: ' ' } as const;
    const [, commands] = takeAll(waitingForPerson(), blank);
    expect(modelCall(commands)).toMatchObject({
      input: { userTexts: ['(the user gave an empty answer)'] },
    });
  });
});

describe('messages of people', () => {
  test('blank ones are nothing, hidden characters go, half characters are made fit', () => {
    const message = (text: string) => ({ type: 'message-added', text }) as const;
    const [state] = takeAll(aPreparedRun(), message(' \n'), message('a\u0000b\uD800c\n'));
    expect(state.inbox).toEqual(['ab\uFFFDc\n']);
  });

  test('a flood is refused visibly and leaves room for an answer', () => {
    const flood = Array.from({ length: 5 }, () => ({
      type: 'message-added' as const,
      text: 'é'.repeat(60_000),
    }));
    const [state, commands] = takeAll(waitingForPerson(), ...flood);
    expect(entriesOf(commands)).toMatchObject([
      { type: 'ErrorEvent', failure: { code: 'payload_too_large' } },
    ]);
    expect(Buffer.byteLength(JSON.stringify(state))).toBeLessThan(600_000);
    const [answered] = takeAll(state, {
      type: 'question-answered',
      questionId: 'escalation',
      answer: 'x'.repeat(64_000),
    });
    expect(answered.inbox).toHaveLength(3);
  });

  test('one that comes during the last call is read before the run ends', () => {
    const driver = new RunDriver({
      model: ({ messages }) => ({ text: `I read ${messages.length} messages` }),
    });
    driver.step();
    driver.say({ type: 'message-added', text: 'and also this' });
    expect(driver.run().outcome).toMatchObject({ answer: 'I read 3 messages' });
  });
});

describe('tool calls', () => {
  test('never run in a doomed run: waits are given up when a sibling breaks the system', () => {
    const ask = aCall('q', { name: 'ask_user', input: { question: 'which?' } });
    const [running] = aRunWithCalls([aCall('a'), approval('b'), ask, aCall('c')]);
    const [doomed] = takeAll(
      running,
      { type: 'tool-call-failed', toolCallId: 'c', failure: storeDown },
      { type: 'tool-call-failed', toolCallId: 'a', failure: anInfraError('tool_infrastructure') },
    );
    expect(doomed.phase).toMatchObject({
      outcome: { status: 'failed', reason: 'infra', failure: { code: 'tool_infrastructure' } },
    });
  });

  test('are counted before their approval, so that no cap is passed', () => {
    const limits = aLimits({ maxToolCalls: 1 });
    const [state] = aRunWithCalls([approval('a'), approval('b')], { limits });
    expect(state).toMatchObject({
      head: 'head-before',
      phase: { outcome: { reason: 'guard_tool_calls' } },
    });
  });

  test('keep each sibling result when one fails', () => {
    const run = drive(
      [{ calls: Array.from({ length: 64 }, () => ({ name: 'search' })) }, { text: 'done' }],
      {
        tool: (_input, call) =>
          call % 2 === 0 ? { output: `result ${call}` } : { error: anAgentError() },
      },
    );
    expect(run.requests[1]?.input.pendingResults).toHaveLength(64);
    expect(run.state.counters).toMatchObject({ toolCallsSucceeded: 32, toolCallsFailed: 32 });
  });

  test('with a rejected approval run never, and tell the model why', () => {
    const [waiting] = aRunWithCalls([approval('a')]);
    expect(
      rejectDecision(waiting, { approvalId: 'a', digest: 'other', decision: 'approve' }),
    ).toMatch(/digest/);
    const [, commands] = takeAll(waiting, {
      type: 'approval-resolved',
      approvalId: 'a',
      decision: 'reject',
      reason: 'too risky',
    });
    expect(typesOf(commands)).not.toContain('run-tool');
    expect(modelCall(commands)).toMatchObject({
      input: {
        pendingResults: [{ isError: true, text: expect.stringContaining('too risky') as string }],
      },
    });
  });

  test('of ask_user wait beside others, and a long answer of many stays bounded', () => {
    const asks = Array.from({ length: 64 }, (_, index) =>
      aCall(`q${index}`, { name: 'ask_user', input: { question: 'which?' } }),
    );
    const [asked] = aRunWithCalls(asks);
    const answers = asks.map(({ toolCallId }) => ({
      type: 'question-answered' as const,
      questionId: toolCallId,
      answer: 'é'.repeat(64_000),
    }));
    const [, commands] = takeAll(asked, ...answers);
    expect(Buffer.byteLength(JSON.stringify(commands.at(-1)))).toBeLessThan(600_000);
    expect(rejectAnswer(asked, { questionId: 'q99', answer: 'a' })).toMatch(/No question/);
  });

  test('of complete_task end the run only alone, and only with an input that travels', () => {
    const run = drive(
      [
        { calls: [{ name: 'complete_task', byReference: true }] },
        { calls: [{ name: 'complete_task', input: { summary: 'x' } }, { name: 'search' }] },
        { calls: [{ name: 'complete_task', input: { summary: 'ok', result: 42 } }] },
      ],
      { prepare: () => aSnapshot({ completion: 'tool' }) },
    );
    expect(run.outcome).toMatchObject({ status: 'completed', answer: 'ok', output: 42 });
    expect(run.requests[1]?.messages).toEqual(run.requests[0]?.messages);
  });
});

describe('providers', () => {
  test('with a cooldown of zero do not make a hot loop', () => {
    const limits = aLimits({ cooldownMs: { ...aLimits().cooldownMs, network: 0 } });
    const run = drive([anInfraError('network')], { prepare: () => aSnapshot({ limits }) });
    expect(run.outcome).toMatchObject({ reason: 'infra', failure: { code: 'network' } });
  });

  test('that fail for ever are bounded by the guard, within one iteration', () => {
    const limits = aLimits({ maxEvents: 20, maxProviderWaitMs: Number.MAX_SAFE_INTEGER });
    const down = Array.from({ length: 30 }, () => anInfraError('overloaded'));
    const run = drive(down, { prepare: () => aSnapshot({ limits }) });
    expect(run.outcome).toMatchObject({ reason: 'guard_events' });
  });

  test('wait for the first route, as long as Retry-After says, and heal', () => {
    const limited = anInfraError('rate_limit', { retryAfterMs: 300_000 });
    const run = drive([limited, { text: 'done' }], {
      prepare: () => aSnapshot({ chain: [aRoute()] }),
    });
    expect(run.outcome).toMatchObject({ status: 'completed', report: { activeMs: 3_000 } });
    expect(run.outcome.report.elapsedMs).toBeGreaterThanOrEqual(301_000);
    expect(run.state.healed).toEqual({ rate_limit: 1 });
  });

  test('that waiting cannot cure end the run with every reason', () => {
    const run = drive([anInfraError('auth'), anInfraError('billing')]);
    const { outcome } = run;
    expect(outcome).toMatchObject({ reason: 'chain_exhausted' });
    expect(outcome.status === 'failed' ? outcome.message : '').toMatch(/auth.*billing/);
    expect(drive([], { prepare: () => aSnapshot({ chain: [] }) }).outcome).toMatchObject({
      reason: 'chain_exhausted',
    });
  });

  test('a late result after a failover changes nothing', () => {
    const [moved] = takeAll(aPreparedRun(), {
      type: 'model-call-failed',
      callId: 'm1',
      failure: anInfraError('overloaded'),
    });
    const late = {
      type: 'model-call-failed',
      callId: 'm1',
      failure: anInfraError('auth'),
    } as const;
    const [same, commands] = takeAll(moved, late);
    expect(commands).toEqual([]);
    expect(same.phase).toEqual(moved.phase);
  });
});

describe('replies', () => {
  test('cut twice get the larger limit once, and a vendor that refuses it is asked as usual', () => {
    const cut = { stopReason: 'truncated', text: 'half' } as const;
    const run = drive([cut, anInfraError('format'), cut, { text: 'done' }]);
    expect(run.outcome.status).toBe('completed');
    expect(run.requests.map(({ input }) => input.maxOutputTokens)).toEqual([
      undefined,
      8_192,
      undefined,
      undefined,
    ]);
    const refused = [anInfraError('format'), anInfraError('format')];
    expect(drive(refused).outcome).toMatchObject({ reason: 'infra' });
  });

  test('that pause for ever end at the last iteration, side by side with none', () => {
    const pauses = Array.from({ length: 10 }, () => ({ stopReason: 'pause', text: 'hm' }) as const);
    const run = drive(pauses);
    expect(run.outcome).toMatchObject({ reason: 'max_iterations', report: { iterations: 10 } });
  });

  test.each([
    ['refusal', 'refusal', 1],
    ['filtered', 'content_filter', 2],
  ] as const)(
    'of stop reason %s end the run as %s after %i, never round the chain',
    (stopReason, reason, calls) => {
      const no = { stopReason, text: 'no' } as const;
      const chain = ['alpha', 'beta', 'gamma'].map((provider) => aRoute({ provider }));
      const run = drive([no, no], { prepare: () => aSnapshot({ chain }) });
      expect(run.outcome).toMatchObject({ status: 'failed', reason });
      expect(run.requests).toHaveLength(calls);
    },
  );

  test.each([0, -1])('are never asked for with maxIterations %i', (maxIterations) => {
    const run = drive([], { prepare: () => aSnapshot({ limits: aLimits({ maxIterations }) }) });
    expect(run.outcome).toMatchObject({ reason: 'max_iterations', report: { modelCalls: 0 } });
  });
});

describe('the store', () => {
  test('that is down for a day uses up no events, and the segment can roll over meanwhile', () => {
    let downs = 0;
    const run = drive([{ calls: [{ name: 'search' }] }, { text: 'done' }], {
      prepare: () => aSnapshot({ tools: [aTool('search')], limits: aLimits({ maxEvents: 10 }) }),
      wantsRollOver: () => true,
      tool: () => {
        downs += 1;
        return downs <= 1_440 ? storeDown : { output: 'ok' };
      },
    });
    expect(run.outcome.status).toBe('completed');
    expect(run.rollOvers).toBeGreaterThan(1_000);
    expect(run.outcome.report.activeMs).toBeLessThan(200_000);
  });
});

describe('one outage of the store under parallel calls', () => {
  const fails = (toolCallId: string) =>
    ({ type: 'tool-call-failed', toolCallId, failure: storeDown }) as const;
  const looks = (state: RunState): readonly number[] =>
    state.phase.type === 'running-tools'
      ? state.phase.calls.flatMap(({ status }) =>
          status.type === 'paused' ? [status.untilMs - startMs] : [],
        )
      : [];
  const delays = (commands: readonly RunCommand[]): readonly number[] =>
    commands.flatMap((each) => (each.type === 'start-timer' ? [each.delayMs] : []));
  const timerOf = (state: RunState, place: number): UnstampedEvent => {
    const status =
      state.phase.type === 'running-tools' ? state.phase.calls[place]?.status : undefined;
    if (status?.type !== 'paused') throw new Error('the call is paused');
    return { type: 'timer-fired', timerId: status.timerId };
  };

  test('lets them look together, and doubles their wait once a look', () => {
    const [running] = aRunWithCalls([aCall('a'), aCall('b'), aCall('c')]);
    const at = (state: RunState, ms: number, ...events: readonly UnstampedEvent[]): Transition =>
      events.reduce<Transition>(
        ([before], event) => transition(before, { ...event, atMs: startMs + ms }),
        [state, []],
      );
    const [first, commands] = at(running, 10_000, fails('a'), fails('b'), fails('c'));
    expect(looks(first)).toEqual([12_000, 12_000, 12_000]);
    expect(delays(commands)).toEqual([2_000]);
    const [woken] = at(first, 12_000, ...[0, 1, 2].map((place) => timerOf(first, place)));
    const [second] = at(woken, 13_000, fails('b'), fails('a'), fails('c'));
    expect(looks(second)).toEqual([17_000, 17_000, 17_000]);
  });
});

describe('the details in the Web UI', () => {
  test('are not broken by markup, line ends or length of what an error says', () => {
    const [state] = takeAll(aPreparedRun(), {
      type: 'model-call-failed',
      callId: 'm1',
      failure: anInfraError('overloaded', { message: `a\n# b <img> ${'x'.repeat(5_000)}` }),
    });
    const lines = markdownOf(state).split('\n');
    expect(lines.filter((line) => line.startsWith('# '))).toEqual([]);
    expect(Math.max(...lines.map((line) => line.length))).toBeLessThan(1_100);
  });
});
