/** What recovery may not do on its own: double an effect, break a limit of the guard, mend an old trouble instead of the new one. */
import type { PlanRecoveryResult } from '../../workflows/core/recovery/ports';
import type { RecoveryAction } from '../../workflows/core/recovery/action';
import { pendingItems } from '../../workflows/core/view/pending';
import {
  aCall,
  aLimits,
  anAgentError,
  aRecoveryPolicy,
  aSnapshot,
  aTool,
} from '../support/builders';
import type { ScriptedToolResult } from '../support/run-driver';
import { RunDriver } from '../support/run-driver';

const policy = aRecoveryPolicy();

const timedOut = anAgentError({ code: 'tool_timeout', toolName: 'charge' });

/** A run that charges once, in vain, then looks for the same thing again and again. */
function stuckRun(
  plan: (fallback: RecoveryAction) => Partial<PlanRecoveryResult>,
  charge: ScriptedToolResult,
): RunDriver {
  const driver = new RunDriver({
    prepare: () =>
      aSnapshot({
        tools: [
          aTool('search'),
          aTool('charge', { effect: 'keyed', maxCalls: 1 }),
          aTool('transfer', { handoff: 'other' }),
        ],
        limits: aLimits({ maxIterations: 30 }),
        recovery: policy,
      }),
    model: (_request, call) =>
      call === 1
        ? { calls: [{ name: 'charge', input: { amount: 5 } }] }
        : { calls: [{ name: 'search', input: { query: 'x' } }] },
    tool: ({ name }) => (name === 'charge' ? charge : { output: 'nothing new' }),
    plan: ({ fallback }) => plan(fallback),
  });
  while (pendingItems(driver.state).length === 0 && driver.step());
  return driver;
}

function planned(
  strategy: RecoveryAction['strategy'],
  toolName: string,
): { readonly action: RecoveryAction } {
  const action = { toolName, parameters: { amount: 5 } };
  return { action: { strategy, reasoning: 'r', action, expectedOutcome: '', confidence: 0.95 } };
}

const charges = ({ toolRuns }: RunDriver): number =>
  toolRuns.filter(({ name }) => name === 'charge').length;

const decisions = ({ entries }: RunDriver): readonly string[] =>
  entries.flatMap((entry) => (entry.type === 'RecoveryEvent' ? [entry.decision] : []));

test('never hands the run over: a person is asked', () => {
  const plan = {
    ...planned('alternative-tool', 'transfer'),
    call: aCall('r', { name: 'transfer' }),
  };
  const driver = stuckRun(() => plan, { output: 'charged' });
  expect(decisions(driver)).toEqual(['escalates']);
  expect(driver.toolRuns.map(({ name }) => name)).not.toContain('transfer');
});

test.each(['retry', 'parameter-adjustment', 'alternative-tool'] as const)(
  'never repeats by %s a call that may have taken effect: a person is asked',
  (strategy) => {
    const plan = {
      ...planned(strategy, 'charge'),
      call: aCall('r', { name: 'charge', input: { amount: 5 } }),
    };
    const driver = stuckRun(() => plan, { error: timedOut });
    expect(decisions(driver)).toEqual(['escalates']);
    expect(charges(driver)).toBe(1);
    expect(driver.entries).toContainEqual(
      expect.objectContaining({
        type: 'RecoveryEvent',
        reasoning: expect.stringContaining('took effect') as string,
      }),
    );
  },
);

test('asks a person, instead of ending the run by the guard, where its own call would pass a cap', () => {
  const plan = { ...planned('alternative-tool', 'charge'), call: aCall('r', { name: 'charge' }) };
  const driver = stuckRun(() => plan, { output: 'charged' });
  expect(decisions(driver)).toEqual(['escalates']);
  expect(charges(driver)).toBe(1);
  expect(driver.state.phase.type).toBe('recovering');
});

test('advises no call that would pass a cap either', () => {
  const driver = stuckRun(() => planned('alternative-tool', 'charge'), { output: 'charged' });
  expect(decisions(driver)).toEqual(['escalates']);
});

test('tries no tool a third time, whatever the plan calls it', () => {
  const driver = stuckRun(() => planned('alternative-tool', 'search'), { output: 'charged' });
  expect(decisions(driver)).toEqual(['acts', 'acts', 'escalates']);
});

test('plans for what stops the run now, not for an older failure that it got past', () => {
  const seen: string[] = [];
  const driver = stuckRun(
    (fallback) => {
      seen.push(`${fallback.strategy} ${fallback.action.toolName}`);
      return {};
    },
    { error: anAgentError({ toolName: 'charge' }) },
  );
  expect(driver.plans[0]?.context.trouble).toMatchObject({ code: 'loop', tool: 'search' });
  expect(driver.plans[0]?.context.failures).toHaveLength(1);
  // The search worked, so no advice names it.
  expect(seen[0]).toBe('parameter-adjustment ');
});

test.each<[PlanRecoveryResult['source'], 'read' | 'keyed' | 'reconcilable', number, boolean]>([
  ['heuristic', 'read', 0.95, true],
  ['heuristic', 'keyed', 0.95, false],
  ['heuristic', 'reconcilable', 0.95, false],
  ['pattern', 'keyed', 0.95, false],
  ['model', 'keyed', 0.95, true],
  ['heuristic', 'keyed', 0.6, true],
])('of a plan by %s the runtime runs a %s tool at %d: %j', (source, effect, confidence, runs) => {
  let isPlanned = false;
  const driver = new RunDriver({
    prepare: () =>
      aSnapshot({
        tools: [aTool('search'), aTool('save', { effect })],
        limits: aLimits({ maxIterations: 30 }),
        recovery: policy,
      }),
    model: () => (isPlanned ? { text: 'done' } : { calls: [{ name: 'search', input: {} }] }),
    tool: () => ({ output: 'nothing new' }),
    plan: () => {
      isPlanned = true;
      const { action } = planned('alternative-tool', 'save');
      return {
        source,
        action: { ...action, confidence },
        call: aCall('planned', { name: 'save' }),
      };
    },
  });
  while (pendingItems(driver.state).length === 0 && driver.step());
  const [item] = pendingItems(driver.state);
  if (item?.type === 'approval')
    driver.say({ type: 'approval-resolved', approvalId: item.approvalId, decision: 'approve' });
  driver.run();
  expect(driver.toolRuns.some(({ name }) => name === 'save')).toBe(runs);
  expect(driver.requests.at(-1)?.input.note?.includes('Parameters to use') ?? false).toBe(!runs);
});

test('the same call with its keys in another order is the same trouble, whatever the error says', () => {
  const errors = ['no red', 'no green', 'no blue', 'no gold', 'no pink', 'no gray', 'no more'];
  const driver = new RunDriver({
    prepare: () => aSnapshot({ tools: [aTool('book')], recovery: policy }),
    model: (_request, call) => ({
      calls: [{ name: 'book', input: call % 2 === 0 ? { day: 1, room: 2 } : { room: 2, day: 1 } }],
    }),
    tool: (_input, call) => ({
      error: anAgentError({ toolName: 'book', message: errors[call - 1] ?? 'no' }),
    }),
    plan: ({ fallback }) => ({ action: fallback, source: 'heuristic' }),
  });
  while (driver.plans.length < 2 && driver.step());
  expect(driver.plans.map(({ context }) => context.steps)).toEqual([3, 4]);
});
