/** The ladder in the core: rungs, limits of the ladder, people, and random runs that are stuck. */
import type { PlanRecoveryResult } from '../../workflows/core/recovery/ports';
import type { RecoveryAction, RecoveryPolicy } from '../../workflows/core/recovery/action';
import { pendingItems } from '../../workflows/core/view/pending';
import {
  aCall,
  aLimits,
  anAgentError,
  anInfraError,
  aRecoveryPolicy,
  aSnapshot,
  aTool,
} from '../support/builders';
import type { DrivenWorld } from '../support/run-driver';
import { RunDriver } from '../support/run-driver';
import type { ScriptedCall } from '../support/scripted-reply';
import { cases, fc } from '../support/properties';

const policy = aRecoveryPolicy({ maxPerRun: 2 });

function action(changes: Partial<RecoveryAction> = {}): RecoveryAction {
  return {
    strategy: 'alternative-tool',
    reasoning: 'the calculator knows',
    action: { toolName: 'calculator' },
    expectedOutcome: 'a number',
    confidence: 0.9,
    ...changes,
  };
}

type Plans = (plan: number) => Partial<PlanRecoveryResult> | ReturnType<typeof anInfraError>;

/** A run that searches in vain for ever, unless it reads `until` in what it is sent. */
function stuckRun(
  plan: Plans,
  changes: Partial<RecoveryPolicy> = {},
  until = 'never',
  wantsRollOver = (): boolean => false,
): RunDriver {
  return new RunDriver({
    wantsRollOver,
    prepare: () =>
      aSnapshot({
        tools: [aTool('search'), aTool('calculator')],
        limits: aLimits({ maxIterations: 30 }),
        recovery: { ...policy, ...changes },
      }),
    model: ({ input, messages }) =>
      JSON.stringify([input.note, messages]).includes(until)
        ? { text: 'done' }
        : { calls: [{ name: 'search', input: { query: 'x' } }] },
    tool: () => ({ output: 'nothing new' }),
    plan: (_input, count) => plan(count),
  });
}

test('advice goes along once as a note and is never stored', () => {
  const driver = stuckRun(() => ({ action: action() }), {}, 'Way out: alternative-tool').run();
  expect(driver.outcome.status).toBe('completed');
  expect(driver.plans).toHaveLength(1);
  expect(JSON.stringify(driver.transcript)).not.toContain('Way out');
  expect(driver.entries.map(({ type }) => type)).toEqual(
    expect.arrayContaining(['StuckEvent', 'RecoveryEvent', 'RecoveryOutcomeEvent']),
  );
});

test.each([
  ['the tool that failed', true, 'search'],
  ['no tool', true, ''],
  ['another tool', false, 'calculator'],
])('advice to call %s ends with the hint of the failure: %s', (_what, isHinted, toolName) => {
  const { requests } = new RunDriver({
    prepare: () =>
      aSnapshot({
        tools: [aTool('search'), aTool('calculator')],
        limits: aLimits({ maxIterations: 30 }),
        recovery: policy,
      }),
    model: ({ input }) =>
      input.note?.includes('Way out') === true
        ? { text: 'done' }
        : { calls: [{ name: 'search', input: { query: 'x' } }] },
    tool: () => ({ error: anAgentError({ toolName: 'search', hint: 'Read the list first.' }) }),
    plan: () => ({ action: action({ action: { toolName } }) }),
  }).run();
  const note = requests.find(({ input }) => input.note?.includes('Way out') === true)?.input.note;
  expect(note).toContain('Do not repeat what did not work.');
  expect(note?.includes('Do this first: Read the list first.')).toBe(isHinted);
});

describe('the note about a trouble that a recovery call solved', () => {
  /** A run whose search fails until recovery calls `tool`; `others` fail in the same step. */
  function noteAfter(tool: string, works: boolean, others: readonly string[] = []): string {
    const call = aCall('r1', { name: tool, input: { query: 'y' } });
    const driver = new RunDriver({
      prepare: () =>
        aSnapshot({
          tools: ['search', 'calculator', 'clock'].map((name) => aTool(name)),
          recovery: policy,
        }),
      model: ({ input }) =>
        (input.runtimeResults ?? []).length > 0
          ? { text: 'done' }
          : {
              calls: ['search', ...others].map((name) => ({ name, input: { query: 'x' } })),
            },
      tool: ({ name, input }) =>
        name === tool && input?.['query'] === 'y' && works
          ? { output: 'found' }
          : { error: anAgentError({ toolName: name, message: `${name} is out of order` }) },
      plan: () => ({ action: action({ action: { toolName: tool } }), call, digest: 'd' }),
    }).run();
    const sent = driver.requests.find(({ input }) => (input.runtimeResults ?? []).length > 0);
    if (sent === undefined) throw new Error('recovery called nothing');
    return sent.input.note ?? '';
  }

  test.each(['search', 'calculator'])('is no longer sent: %s', (tool) => {
    expect(noteAfter(tool, true)).not.toContain('is out of order');
  });

  test('stays if that call failed too', () => {
    expect(noteAfter('search', false)).toContain('search is out of order');
  });

  test('stays if another tool failed in the same step', () => {
    expect(noteAfter('search', true, ['clock'])).toContain('clock is out of order');
  });
});

test('a model estimates the progress every few steps, and what it names as a blocker is planned for at once', () => {
  const blockers = ['the deploy key is missing'];
  const estimate = { progressPercent: 40, reasoning: 'r', nextMilestone: 'm', blockers };
  let read = 0;
  const driver = new RunDriver({
    prepare: () =>
      aSnapshot({ tools: [aTool('search')], recovery: { ...policy, estimateEvery: 2 } }),
    model: ({ input }) =>
      input.note?.includes('Way out') === true
        ? { text: 'done' }
        : { calls: [{ name: 'search', input: { query: String((read += 1)) } }] },
    tool: () => ({ output: `news ${read}` }),
    plan: ({ purpose }, count) =>
      purpose === 'plan'
        ? { action: action() }
        : count === 1
          ? anInfraError('store_unavailable')
          : { estimate: { ...estimate, isStuck: false } },
  }).run();
  expect(driver.outcome.status).toBe('completed');
  expect(driver.plans.map(({ purpose, context: { steps } }) => [purpose, steps])).toEqual([
    ['estimate', 2],
    ['estimate', 4],
    ['plan', 4],
  ]);
  expect(driver.plans[2]?.context.estimate).toMatchObject({ blockers, isStuck: true });
  expect(driver.entries.find(({ type }) => type === 'StuckEvent')).toMatchObject({ blockers });
});

test('a planner that fails for good leaves the heuristic, in words', () => {
  const driver = stuckRun(() => anInfraError('store_unavailable'), {}, 'Way out').run();
  expect(driver.outcome.status).toBe('completed');
  expect(driver.entries.find(({ type }) => type === 'RecoveryEvent')).toMatchObject({
    source: 'heuristic',
    decision: 'acts',
    problem: 'store_unavailable: it failed: store_unavailable',
  });
});

test('observe plans once, executes nothing and changes no request', () => {
  const driver = stuckRun(() => ({ action: action() }), { mode: 'observe' }).run();
  expect(driver.outcome).toMatchObject({ status: 'failed', reason: 'guard_loop' });
  expect(driver.requests.every(({ input }) => input.note?.includes('Way out') !== true)).toBe(true);
});

test('spent plans go to a person, whose answer goes on and begins anew', () => {
  const driver = stuckRun(() => ({ action: action() }), { maxPerRun: 1 }, 'the answer is 42');
  while (pendingItems(driver.state).length === 0 && driver.step());
  const [item] = pendingItems(driver.state);
  expect(item).toMatchObject({ type: 'question' });
  const questionId = item?.type === 'question' ? item.questionId : '';
  driver.say({ type: 'question-answered', questionId, answer: 'the answer is 42' });
  expect(driver.run().outcome.status).toBe('completed');
});

test('no tool is retried more than twice, and another one begins anew', () => {
  const retry = action({ strategy: 'retry', action: { toolName: 'search' } });
  const driver = stuckRun(() => ({ action: retry }), { maxPerRun: 9 }).run();
  const decisions = driver.entries.flatMap((entry) =>
    entry.type === 'RecoveryEvent' ? [entry.decision] : [],
  );
  expect(decisions).toEqual(['acts', 'acts', 'escalates']);
});

test('an unanswered question ends the run readably, or goes on, as the policy says', () => {
  const escalate = action({ strategy: 'escalate' });
  const given = stuckRun(() => ({ action: escalate }));
  given.run();
  expect(given.outcome).toMatchObject({ status: 'failed', reason: 'gave_up' });
  const goesOn = stuckRun(
    () => ({ action: escalate }),
    { onExpiry: 'continue' },
    'no person answers',
  );
  expect(goesOn.run().outcome.status).toBe('completed');
});

test('a stop in the middle of a plan lets it land first', () => {
  const driver = stuckRun(() => ({ action: action() }));
  while (driver.state.phase.type !== 'recovering' && driver.step());
  driver.say({ type: 'stop-requested', reason: 'enough' });
  expect(driver.state.phase.type).toBe('ending');
  expect(driver.run().outcome).toMatchObject({ status: 'stopped', reason: 'enough' });
});

test('a run without a policy never recovers: the guard ends its loop', () => {
  const driver = new RunDriver({
    model: () => ({ calls: [{ name: 'search', input: { query: 'x' } }] }),
    tool: () => ({ output: 'nothing new' }),
  }).run();
  expect(driver.plans).toEqual([]);
  expect(driver.outcome).toMatchObject({ status: 'failed', reason: 'guard_loop' });
});

/** The approval that a run waits for. */
function asked(driver: RunDriver): string {
  while (pendingItems(driver.state).length === 0) if (!driver.step()) throw new Error('at rest');
  const [item] = pendingItems(driver.state);
  if (item?.type !== 'approval') throw new Error(`the run waits for: ${item?.type ?? 'nothing'}`);
  return item.approvalId;
}

test.each([
  ['alternative-tool', 'approve', /You are stuck[^]*Way out: alternative-tool/],
  ['alternative-tool', 'reject', /did not approve this way out[^]*They said: Too dear\./],
  ['give-up', 'reject', /did not approve this way out[^]*They said: Too dear\./],
] as const)('a plan of %s, which a person has to approve: %s', (strategy, decision, told) => {
  const plan = { action: action({ strategy, confidence: 0.6 }), digest: 'd' };
  const driver = stuckRun(() => plan, { escalate: 'wait' }, 'You are stuck');
  driver.say({
    ...{ type: 'approval-resolved', approvalId: asked(driver), decision },
    reason: 'Too dear.',
  });
  expect(driver.run().outcome.status).toBe('completed');
  expect(driver.requests.at(-1)?.input.note).toMatch(told);
});

test('a run gives up where a person approves it', () => {
  const plan = { action: action({ strategy: 'give-up', confidence: 0.6 }), digest: 'd' };
  const driver = stuckRun(() => plan, { escalate: 'wait' });
  driver.say({ type: 'approval-resolved', approvalId: asked(driver), decision: 'approve' });
  expect(driver.run().outcome).toMatchObject({ status: 'failed', reason: 'gave_up' });
});

test('any plan at any time leads every stuck run to a readable end', () => {
  const strategies = fc.constantFrom<RecoveryAction['strategy']>(
    'retry',
    'alternative-tool',
    'parameter-adjustment',
    'escalate',
    'give-up',
  );
  const plans = fc.array(
    fc.oneof(
      fc
        .record({
          strategy: strategies,
          toolName: fc.constantFrom('', 'search', 'calculator', 'unknown'),
          confidence: fc.double({ min: 0, max: 1, noNaN: true }),
          withCall: fc.boolean(),
          needsApproval: fc.boolean(),
        })
        .map(({ strategy, toolName, confidence, withCall, needsApproval }) => ({
          action: action({ strategy, confidence, action: { toolName } }),
          ...(withCall
            ? {
                call: {
                  toolCallId: `planned_${Math.round(confidence * 1e9)}`,
                  name: 'calculator',
                  input: {},
                  fingerprint: 'p',
                  ...(needsApproval ? { approvalDigest: 'd' } : {}),
                },
              }
            : {}),
        })),
      fc.constant(anInfraError('worker_lost')),
    ),
    { minLength: 1, maxLength: 6 },
  );
  fc.assert(
    fc.property(
      plans,
      fc.constantFrom('auto' as const, 'observe' as const),
      fc.nat({ max: 3 }),
      (made, mode, every) => {
        let events = 0;
        const driver = stuckRun(
          (count) => made[(count - 1) % made.length] ?? {},
          { mode },
          'never',
          () => every > 0 && (events += 1) % (every + 1) === 0,
        );
        for (let words = 0; driver.run(500).state.phase.type !== 'ended'; words += 1) {
          const [item] = pendingItems(driver.state);
          if (words > 20 || item === undefined)
            driver.say({ type: 'stop-requested', reason: 'done' });
          else if (item.type === 'question')
            driver.say({ type: 'question-answered', questionId: item.questionId, answer: 'go on' });
          else
            driver.say({
              type: 'approval-resolved',
              approvalId: item.approvalId,
              decision: words % 2 === 0 ? 'approve' : 'reject',
            });
        }
        expect(['completed', 'failed', 'stopped']).toContain(driver.outcome.status);
      },
    ),
    cases(60),
  );
});

describe('is not stuck', () => {
  const look = { name: 'search', input: { query: 'build' } };
  const wait = { name: 'calculator', input: { s: 30 }, alike: { idle: 'waits' } } as const;

  test.each<[string, (call: number) => ScriptedCall]>([
    ['a run that waits before it looks again', (call) => (call % 2 === 0 ? wait : look)],
    ['a run whose look waits first', () => ({ ...look, alike: { idle: 'waits-first' } })],
    [
      'a run that thinks',
      (call) => ({ name: 'search', input: { thought: `${call}` }, alike: { idle: 'thinks' } }),
    ],
  ])('%s', (_what, called) => {
    const driver = new RunDriver({
      prepare: () =>
        aSnapshot({
          limits: aLimits({ maxIterations: 30 }),
          recovery: policy,
        }),
      model: (_request, call) => (call > 9 ? { text: 'done' } : { calls: [called(call)] }),
      tool: () => ({ output: 'still running' }),
    }).run();
    expect(driver.outcome.status).toBe('completed');
    expect(driver.plans).toEqual([]);
  });
});

describe('what recovery tells a model', () => {
  /** A run whose model makes the given calls, whatever it is told; its plans come from the rules. */
  function unplanned(
    called: (call: number) => ScriptedCall,
    tool: NonNullable<DrivenWorld['tool']>,
    completion: 'text' | 'tool' = 'text',
  ): RunDriver {
    const driver = new RunDriver({
      prepare: () =>
        aSnapshot({
          completion,
          tools: [aTool('open_ticket', { effect: 'keyed' }), aTool('assign_ticket'), aTool('book')],
          limits: aLimits({ maxIterations: 30 }),
          recovery: { ...policy, maxPerRun: 5 },
        }),
      model: (_request, call) => ({ calls: [called(call)] }),
      tool,
      plan: ({ fallback }) => ({ action: fallback, source: 'heuristic' }),
    });
    while (pendingItems(driver.state).length === 0 && driver.step());
    return driver;
  }
  const notes = ({ requests }: RunDriver): readonly string[] =>
    requests.flatMap(({ input }) =>
      input.note?.includes('You are stuck') === true ? [input.note] : [],
    );

  test.each([
    ['text' as const, 'in plain text, without a tool call'],
    ['tool' as const, 'with complete_task'],
  ])(
    'after calls that worked: not to make them again, and how to say that it is done (%s)',
    (completion, how) => {
      const driver = unplanned(
        (call) => ({ name: call % 2 === 0 ? 'assign_ticket' : 'open_ticket', input: {} }),
        () => ({ output: 'done' }),
        completion,
      );
      const [note = ''] = notes(driver);
      expect(note).toMatch(
        /You called "open_ticket" \d times and "assign_ticket" \d times; each worked/,
      );
      expect(note).toContain(`say so now ${how}`);
      expect(note).not.toMatch(/Way out: .*(open|assign)_ticket/);
      expect(new Set(notes(driver)).size).toBe(notes(driver).length);
    },
  );

  test('calls with different inputs are different calls', () => {
    const driver = unplanned(
      (call) => ({ name: 'open_ticket', input: { call: Math.min(call, 2) } }),
      () => ({ output: 'done' }),
    );
    const [note = ''] = notes(driver);
    const [, times = ''] = /You called "open_ticket" (\d) times; each worked/.exec(note) ?? [];
    expect(Number(times)).toBe(driver.requests.findIndex(({ input }) => input.note === note) - 1);
  });

  test('a new error of the same tool gets new advice, and an old one that comes again goes to a person', () => {
    const fails = (...messages: readonly string[]): RunDriver =>
      unplanned(
        (call) => ({ name: 'book', input: { call } }),
        (_input, call) => ({
          error: anAgentError({
            toolName: 'book',
            message: messages[Math.min(call, messages.length) - 1] ?? '',
          }),
        }),
      );
    const renewed = fails(
      'bad shape',
      'bad shape',
      'bad shape',
      'no such day',
      'no such day',
      'no such day',
    );
    expect(notes(renewed).map((note) => /"(bad shape|no such day)"/.exec(note)?.[1])).toEqual([
      'bad shape',
      'no such day',
    ]);
    expect(notes(renewed)[1]).toContain('You are stuck for the 2nd time');
    // The new error did not count as a failure of the advice: the model read it three times.
    expect(renewed.requests).toHaveLength(7);
    const same = fails('bad shape');
    expect(notes(same)).toHaveLength(1);
    expect(same.requests).toHaveLength(4);
  });

  test('is about the error that came most often, not about the newest error', () => {
    const driver = unplanned(
      (call) => ({ name: call === 4 ? 'assign_ticket' : 'book', input: { call } }),
      ({ name }) => ({ error: anAgentError({ toolName: name, message: `no ${name}` }) }),
    );
    expect(notes(driver)[0]).toContain('"no book"');
  });

  test('quotes a refused call when it comes again, so that no request equals the one before', () => {
    const error = anAgentError({
      code: 'invalid_params',
      toolName: 'book',
      message: 'day: required',
    });
    const driver = new RunDriver({
      prepare: () => aSnapshot({ tools: [aTool('book')] }),
      model: (_request, call) =>
        call > 3
          ? { text: 'done' }
          : { calls: [{ name: 'book', input: {}, error, said: 'book {"date":1}' }] },
    }).run();
    const sent = driver.requests.map(({ input }) => input.note);
    expect(sent[1]).not.toContain('You called');
    expect(sent[2]).toContain(
      'for the 2nd time in a row; the same call will fail again. You called: book {"date":1}',
    );
    expect(new Set(sent).size).toBe(4);
  });
});

test('the blockers that a model named are in the question to a person', () => {
  const blockers = ['no account', 'the shop is closed'];
  const estimate = { progressPercent: 40, reasoning: 'r', nextMilestone: 'm', blockers };
  const driver = stuckRun(
    (count) =>
      count === 1
        ? { estimate: { ...estimate, isStuck: false } }
        : { action: action({ strategy: 'escalate' }) },
    { estimateEvery: 1 },
  );
  while (pendingItems(driver.state).length === 0 && driver.step());
  expect(pendingItems(driver.state)[0]).toMatchObject({
    question: expect.stringContaining(
      'What stands in the way: no account; the shop is closed',
    ) as string,
  });
});
