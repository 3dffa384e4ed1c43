/** Recovery where nobody hears its questions: the run ends at once, and the circuit breaker keeps its five (R-REC-12). */
import { resolveRecovery } from '../../activities/definitions/recovery-policy';
import type { RecoveryAction, RecoveryPolicy } from '../../workflows/core/recovery/action';
import type { AgentSnapshot } from '../../workflows/core/run/ports';
import { pendingItems } from '../../workflows/core/view/pending';
import { aCall, aSnapshot, aTool, anAgentError, anInfraError } from '../support/builders';
import type { DrivenWorld } from '../support/run-driver';
import { RunDriver } from '../support/run-driver';

type Changes = Partial<RecoveryPolicy> & Pick<AgentSnapshot, 'notifiers'>;

/** An agent without any options, but for `changes`. */
function aRun(world: DrivenWorld, { notifiers, ...changes }: Changes = {}): RunDriver {
  return new RunDriver({
    prepare: () =>
      aSnapshot({
        tools: [aTool('search'), aTool('calculator')],
        recovery: resolveRecovery('Agent "plain"', changes),
        ...(notifiers === undefined ? {} : { notifiers }),
      }),
    ...world,
  });
}

/** Runs to the end, or until it waits for a person. */
function untilEndOrPerson(driver: RunDriver): RunDriver {
  while (pendingItems(driver.state).length === 0 && driver.step());
  return driver;
}

const notified = { names: ['log'], on: ['escalation' as const] };

const planned = (
  strategy: RecoveryAction['strategy'],
  confidence: number,
  toolName = 'search',
): Partial<{ readonly action: RecoveryAction }> => ({
  action: { strategy, reasoning: 'r', action: { toolName }, expectedOutcome: '', confidence },
});

const fails = (message: string, code: 'tool_execution_failed' | 'auth_failed') => () => ({
  error: anAgentError({ code, toolName: 'search', message }),
});
const searches: DrivenWorld['model'] = () => ({ calls: [{ name: 'search', input: { q: 'x' } }] });
const plans = {
  'the heuristic alone': () => anInfraError('worker_lost'),
  'no usable plan': () => ({}),
  'a planner that retries': () => planned('retry', 0.95),
  'a planner that hands over': () => planned('escalate', 0.9),
  'a planner that is unsure': () => planned('parameter-adjustment', 0.2),
  'a planner that would ask': () => ({ ...planned('retry', 0.6), digest: 'd' }),
} as const satisfies { readonly [name: string]: NonNullable<DrivenWorld['plan']> };

const worlds: readonly [string, DrivenWorld][] = [
  ['a tool that fails', { model: searches, tool: fails('no such index', 'tool_execution_failed') }],
  ['a tool without rights', { model: searches, tool: fails('401', 'auth_failed') }],
  [
    'an unknown tool',
    {
      model: () => ({
        calls: [
          {
            name: 'serch',
            error: anAgentError({ code: 'invalid_tool', message: 'there is no tool serch' }),
          },
        ],
      }),
    },
  ],
  ['an empty reply', { model: () => ({ text: '' }) }],
];

describe.each(worlds)('%s', (_what, world) => {
  test.each(Object.entries(plans))(
    'five times ends a run under the defaults, with %s',
    (_plan, plan) => {
      const driver = untilEndOrPerson(aRun({ ...world, plan }));
      expect(pendingItems(driver.state)).toEqual([]);
      expect(driver.outcome).toMatchObject({
        status: 'failed',
        reason: 'circuit_breaker',
        report: { iterations: 5 },
      });
    },
  );

  test.each(Object.entries(plans))(
    'is handed to a person before the fifth where a notifier tells one, with %s',
    (_plan, plan) => {
      const driver = untilEndOrPerson(aRun({ ...world, plan }, { notifiers: notified }));
      expect(pendingItems(driver.state)).toMatchObject([{ type: 'question' }]);
      expect(driver.state.counters.iterations).toBeLessThan(5);
    },
  );
});

describe('what only a person could end', () => {
  const alternates: DrivenWorld = {
    model: searches,
    tool: (_input, call) => ({ error: anAgentError({ message: call % 2 === 0 ? 'even' : 'odd' }) }),
  };
  const nothingNew: DrivenWorld = { model: searches, tool: () => ({ output: 'nothing new' }) };

  test.each([
    ['errors that alternate', alternates],
    ['results that bring nothing new', nothingNew],
  ])('ends at once and says why: %s', (_what, world) => {
    const driver = untilEndOrPerson(aRun(world));
    expect(driver.outcome).toMatchObject({
      status: 'failed',
      reason: 'gave_up',
      message: expect.stringMatching(
        /^Gave up: .*Nobody was asked: .*recovery\.escalate/,
      ) as string,
    });
    expect(driver.state.counters.timers).toBe(0);
    expect(driver.entries.map(({ type }) => type)).not.toContain('EscalatedEvent');
    expect(driver.entries).toContainEqual(expect.objectContaining({ decision: 'cannot escalate' }));
  });

  test.each<[string, Changes]>([
    ['a notifier reports escalations', { notifiers: notified }],
    ['the policy says so on purpose', { escalate: 'wait' }],
  ])('waits where %s', (_why, changes) => {
    const driver = untilEndOrPerson(aRun(nothingNew, changes));
    expect(pendingItems(driver.state)).toMatchObject([{ type: 'question' }]);
  });

  test('ends where the notifiers report other waits only', () => {
    const notifiers = { names: ['log'], on: ['approval' as const, 'question' as const] };
    expect(untilEndOrPerson(aRun(nothingNew, { notifiers })).outcome).toMatchObject({
      reason: 'gave_up',
    });
  });

  test('ends with spent plans too', () => {
    const plan: DrivenWorld['plan'] = () => planned('alternative-tool', 0.9, 'calculator');
    const driver = untilEndOrPerson(aRun({ ...nothingNew, plan }, { maxPerRun: 1 }));
    expect(driver.plans).toHaveLength(1);
    expect(driver.outcome).toMatchObject({ reason: 'gave_up' });
  });

  test('goes on as after a question that nobody answered, where the policy says so', () => {
    const driver = untilEndOrPerson(aRun(nothingNew, { onExpiry: 'continue' }));
    expect(driver.outcome).toMatchObject({ status: 'failed', reason: 'guard_loop' });
    expect(driver.requests.some(({ input }) => input.note?.includes('no person answers'))).toBe(
      true,
    );
  });
});

describe('an action that a person would approve', () => {
  const nothingNew: DrivenWorld = {
    model: searches,
    tool: () => ({ output: 'nothing new' }),
  };
  const concrete = (confidence: number) => () => ({
    action: {
      strategy: 'alternative-tool' as const,
      reasoning: 'it may know',
      action: { toolName: 'calculator', parameters: { q: '6*7' } },
      expectedOutcome: '',
      confidence,
    },
    call: aCall('r1', { name: 'calculator', input: { q: '6*7' } }),
    digest: 'd',
  });

  test.each([0.5, 0.65, 0.79])(
    'is only suggested to the model at %s if nobody hears the question, and nothing waits',
    (confidence) => {
      const driver = untilEndOrPerson(aRun({ ...nothingNew, plan: concrete(confidence) }));
      expect(driver.entries).toContainEqual(
        expect.objectContaining({ type: 'RecoveryEvent', decision: 'suggests' }),
      );
      expect(driver.state.counters.timers).toBe(0);
      expect(driver.toolRuns.map(({ name }) => name)).not.toContain('calculator');
      expect(
        driver.requests.some(({ input }) => input.note?.includes('Parameters to use: {"q":"6*7"}')),
      ).toBe(true);
      expect(driver.outcome).toMatchObject({ status: 'failed', reason: 'gave_up' });
    },
  );

  test.each<[string, Changes]>([
    ['a notifier reports approvals', { notifiers: { names: ['log'], on: ['approval'] } }],
    ['the policy says so on purpose', { escalate: 'wait' }],
  ])('waits for the person where %s', (_why, changes) => {
    const driver = untilEndOrPerson(aRun({ ...nothingNew, plan: concrete(0.65) }, changes));
    expect(pendingItems(driver.state)).toMatchObject([{ type: 'approval', tool: 'calculator' }]);
  });

  test('is suggested if the notifiers report only escalations', () => {
    const on = ['escalation' as const];
    const driver = aRun(
      { ...nothingNew, plan: concrete(0.65) },
      { notifiers: { names: ['log'], on } },
    );
    expect(pendingItems(untilEndOrPerson(driver).state)).toMatchObject([{ type: 'question' }]);
    expect(driver.entries).toContainEqual(expect.objectContaining({ decision: 'suggests' }));
  });

  test('ends the run at once if the action is to give up', () => {
    const plan: DrivenWorld['plan'] = () => ({ ...planned('give-up', 0.6), digest: 'd' });
    const driver = untilEndOrPerson(aRun({ ...nothingNew, plan }));
    expect(driver.plans).toHaveLength(1);
    expect(driver.outcome).toMatchObject({ status: 'failed', reason: 'gave_up' });
  });
});

test("a person's own escalation and the approval of a call always wait", () => {
  const driver = aRun({ model: searches, tool: () => ({ output: 'found' }) });
  driver.say({ type: 'escalation-requested', reason: 'let me look' });
  expect(pendingItems(untilEndOrPerson(driver).state)).toMatchObject([{ type: 'question' }]);
  const asks = { name: 'search', needsApproval: true };
  const approving = untilEndOrPerson(aRun({ model: () => ({ calls: [asks] }) }));
  expect(pendingItems(approving.state)).toMatchObject([{ type: 'approval' }]);
});
