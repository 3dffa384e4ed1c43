/** Guardrails in the core: nothing is asked and nothing is answered without their verdict. */
import type { GuardrailVerdict } from '../../workflows/core/guardrails/ports';
import { anInfraError, aSnapshot, aTool } from '../support/builders';
import type { DrivenWorld } from '../support/run-driver';
import { drive, RunDriver } from '../support/run-driver';

const policy = (name: string) => ({ names: [name], timeoutMs: 30_000 });
const both = { input: policy('asks_politely'), output: policy('no_secrets') };

/** A world whose guardrails say one after the other what is listed, and pass after that. */
function checking(
  guardrails: typeof both | Partial<typeof both>,
  ...said: readonly (GuardrailVerdict | 'down' | 'broken')[]
): Omit<DrivenWorld, 'model'> {
  return {
    prepare: () => aSnapshot({ guardrails }),
    guardrails: ({ stage }, check) => {
      const verdict = said[check - 1];
      if (verdict === 'down') return anInfraError('store_unavailable');
      if (verdict === 'broken') return anInfraError('guardrail_failed');
      const name = guardrails[stage]?.names[0] ?? '';
      return [verdict ?? { name, verdict: 'passed' }];
    },
  };
}

const correct = {
  name: 'no_secrets',
  verdict: 'corrected',
  message: 'Leave the key out.',
} as const;
const stop = { name: 'no_secrets', verdict: 'stopped', message: 'it holds a key' } as const;

const checksOf = (run: RunDriver): readonly unknown[] =>
  run.commands.flatMap((command) =>
    command.type === 'check-guardrails' ? [[command.callId, command.input.stage]] : [],
  );

test('the first call and the answer wait for their checks, and the timeline names each', () => {
  const run = drive([{ text: 'done' }], checking(both));
  expect(run.outcome).toMatchObject({ status: 'completed', answer: 'done' });
  expect(checksOf(run)).toEqual([
    ['g0', 'input'],
    ['g1', 'output'],
  ]);
  expect(run.entries.filter(({ type }) => type === 'GuardrailEvent')).toMatchObject([
    { stage: 'input', name: 'asks_politely', verdict: 'passed' },
    { stage: 'output', name: 'no_secrets', verdict: 'passed' },
  ]);
  // Each check is an event of the run, so that the guard's limit counts it.
  expect(run.outcome.report.events).toBe(drive([{ text: 'done' }]).outcome.report.events + 2);
});

test('an agent without guardrails has no activity for them', () => {
  expect(checksOf(drive([{ text: 'done' }]))).toEqual([]);
});

test('a stop before the first call ends the run, and no model is asked', () => {
  const said = { name: 'asks_politely', verdict: 'stopped', message: 'it is rude' } as const;
  const run = drive([], checking(both, said));
  expect(run.outcome).toMatchObject({
    status: 'failed',
    reason: 'guardrail',
    message:
      'The guardrail "asks_politely" stopped the run before its first model call: it is rude',
  });
});

test('a correction before the first call is read with that call only', () => {
  const said = { name: 'asks_politely', verdict: 'corrected', message: 'Be brief.' } as const;
  const run = drive([{ calls: [{ name: 'search' }] }, { text: 'ok' }], checking(both, said));
  expect(run.requests.map(({ input }) => input.note?.includes('Be brief.') ?? false)).toEqual([
    true,
    false,
  ]);
});

test('a corrected answer leaves no trace but a note, and the next answer ends the run', () => {
  const run = drive(
    [{ text: 'the key is k' }, { text: 'done' }],
    checking({ output: both.output }, correct),
  );
  expect(run.outcome).toMatchObject({ status: 'completed', answer: 'done' });
  const [, second] = run.requests;
  expect(second?.input.note).toContain('The answer was not accepted by the check "no_secrets".');
  expect(second?.input.note).toContain('Hint: Leave the key out.');
  expect(JSON.stringify(second?.messages)).not.toContain('the key is k');
  expect(run.outcome.report.healed).toEqual({ guardrail: 1 });
});

test('an answer that is never accepted ends the run like any error that repeats', () => {
  const answers = Array.from({ length: 5 }, () => ({ text: 'the key is k' }));
  const said = answers.map((_answer, index) => ({ ...correct, message: `Hint ${index}.` }));
  const run = drive(answers, checking({ output: both.output }, ...said));
  expect(run.outcome).toMatchObject({ status: 'failed', reason: 'circuit_breaker' });
});

test('a stop before the answer ends the run, and the answer is nowhere', () => {
  const run = drive([{ text: 'the key is k' }], checking({ output: both.output }, stop));
  expect(run.outcome).toMatchObject({
    status: 'failed',
    reason: 'guardrail',
    message: 'The guardrail "no_secrets" stopped the run before its answer: it holds a key',
  });
  expect(run.outcome).not.toHaveProperty('answer');
  expect(run.transcript.map(({ role }) => role)).toEqual(['user']);
});

test.each(['input', 'output'] as const)(
  'a check of the %s that gives no verdict never passes: the run ends with the cause',
  (stage) => {
    const run = drive([{ text: 'done' }], checking({ [stage]: both[stage] }, 'broken'));
    expect(run.outcome).toMatchObject({ status: 'failed', failure: { code: 'guardrail_failed' } });
  },
);

test.each(['input', 'output'] as const)(
  'a store that is down is waited for; then the %s is checked',
  (stage) => {
    const run = drive([{ text: 'done' }], {
      ...checking({ [stage]: both[stage] }, 'down', 'down'),
      wantsRollOver: () => true,
    });
    expect(checksOf(run)).toHaveLength(3);
    expect(run.rollOvers).toBeGreaterThan(0);
    expect(run.outcome).toMatchObject({ status: 'completed', answer: 'done' });
  },
);

test.each([
  ['a text', { text: 'done' }, 'text', ['user', 'assistant', 'user']],
  [
    'complete_task',
    { calls: [{ name: 'complete_task', input: { summary: 'done' } }] },
    'tool',
    ['user', 'assistant', 'tool', 'user'],
  ],
] as const)(
  'what a person says during the check comes before the end: %s',
  (_by, reply, completion, roles) => {
    const run = new RunDriver({
      ...checking({ output: both.output }),
      prepare: () => aSnapshot({ guardrails: { output: both.output }, completion }),
      model: () => reply,
    });
    while (run.state.phase.type !== 'checking-guardrails' && run.step());
    run.say({ type: 'message-added', text: 'one more thing' });
    run.run();
    expect(run.outcome).toMatchObject({ status: 'completed', answer: 'done' });
    expect(run.requests[1]?.messages.map(({ role }) => role)).toEqual(roles);
  },
);

test('a cancel during the check ends the run as cancelled, whatever the check says', () => {
  const run = new RunDriver({
    ...checking({ output: both.output }),
    completesWhenCancelled: () => true,
    model: () => ({ text: 'done' }),
  });
  while (run.state.phase.type !== 'checking-guardrails' && run.step());
  run.say({ type: 'cancel-requested', reason: 'enough' });
  run.run();
  expect(run.outcome).toMatchObject({ status: 'cancelled' });
});

test('the agent that takes over has its own input checked before its first call', () => {
  const tools = [aTool('transfer_to_billing', { handoff: 'billing' })];
  const run = drive([{ calls: [{ name: 'transfer_to_billing' }] }, { text: 'done' }], {
    ...checking(both),
    prepare: () => aSnapshot({ tools }),
    handOver: (agent) => aSnapshot({ agent, guardrails: { input: both.input } }),
  });
  expect(checksOf(run)).toEqual([['g1', 'input']]);
});

test('an answer that a person overtakes while its check waits for the store is not checked later', () => {
  const driver = new RunDriver({
    ...checking({ output: both.output }, 'down'),
    model: (_request, call) => ({ text: call === 1 ? 'draft' : 'done' }),
    guardrails: (_input, check) =>
      check === 1 ? anInfraError('store_unavailable') : [{ name: 'no_secrets', verdict: 'passed' }],
  });
  while (checksOf(driver).length === 0) driver.step();
  driver.say({ type: 'escalation-requested', reason: 'let me look' });
  driver.run();
  expect(driver.state.phase).toMatchObject({ type: 'waiting', on: 'person' });
  driver.say({ type: 'question-answered', questionId: 'escalation', answer: 'go on' });
  expect(driver.run().outcome).toMatchObject({ status: 'completed', answer: 'done' });
});
