/** What people see of what they decide on: the action, its arguments, why, how sure, and what follows. */
import type { RecoveryAction } from '../../workflows/core/recovery/action';
import { pendingLines } from '../../workers/cli/display/timeline-lines';
import { resolveRecovery } from '../../activities/definitions/recovery-policy';
import { pendingItems } from '../../workflows/core/view/pending';
import { aCall, aSnapshot, aTool, markdownOf } from '../support/builders';
import { RunDriver } from '../support/run-driver';

const planned = (confidence: number, changes: Partial<RecoveryAction> = {}): RecoveryAction => ({
  strategy: 'alternative-tool',
  reasoning: 'The calculator knows the sum, token sk-ant-api03-AAAAAAAAAAAAAAAAAAAAAAAA.',
  action: { toolName: 'calculator', parameters: { a: 4, b: 5 } },
  expectedOutcome: 'a sum',
  confidence,
  ...changes,
});

/** A run that searches in vain until a person is asked about this plan. */
function askedAbout(action: RecoveryAction, call = true): RunDriver {
  const driver = new RunDriver({
    prepare: () =>
      aSnapshot({
        tools: [aTool('search'), aTool('calculator')],
        recovery: resolveRecovery('Agent "x"', { escalate: 'wait' }),
      }),
    model: () => ({ calls: [{ name: 'search', input: { q: 'x' } }] }),
    tool: () => ({ output: 'nothing new' }),
    plan: () => ({
      action,
      digest: 'd',
      ...(call ? { call: aCall('r', { name: 'calculator', input: { a: 4, b: 5 } }) } : {}),
    }),
  });
  while (pendingItems(driver.state).length === 0 && driver.step());
  return driver;
}

/** Everything that the command line and the Web UI show. */
const shown = (driver: RunDriver): readonly string[] => [
  pendingItems(driver.state)
    .flatMap((item) => pendingLines('run-1', item, driver.nowMs))
    .map(({ text }) => text)
    .join('\n'),
  markdownOf(driver.state),
];

test.each([0.5099506109098318, 0.62, 0.7999])('an approval at %d says all of it', (confidence) => {
  const driver = askedAbout(planned(confidence));
  expect(pendingItems(driver.state)).toMatchObject([
    {
      type: 'approval',
      tool: 'calculator',
      input: { a: 4, b: 5 },
      proposal: { strategy: 'alternative-tool', confidence, expectedOutcome: 'a sum' },
      ifApproved: expect.stringContaining('makes this call') as string,
      ifRejected: expect.stringContaining('looks for another way') as string,
    },
  ]);
  for (const text of shown(driver)) {
    expect(text).toMatch(/a: 4`?\n.*b: 5/);
    expect(text).toContain('The calculator knows the sum');
    expect(text).toContain(`confidence ${confidence.toFixed(2)})`);
    expect(text).toContain('Expected: a sum');
    expect(text).toContain('looks for another way');
    expect(text).not.toContain('sk-ant-api03');
  }
  const timer = driver.commands.findLast((command) => command.type === 'start-timer');
  expect(timer).toMatchObject({
    summary: expect.stringContaining('approval of alternative-tool calculator') as string,
  });
  expect(JSON.stringify(timer)).not.toContain('sk-ant-api03');
});

test.each([0.1, 0.3333333, 0.49])('a question at %d holds what was planned', (confidence) => {
  const driver = askedAbout(planned(confidence));
  expect(pendingItems(driver.state)).toMatchObject([
    { type: 'question', proposal: { action: { parameters: { a: 4, b: 5 } }, confidence } },
  ]);
  for (const text of shown(driver)) {
    expect(text).toContain('calculator {"a":4,"b":5}');
    expect(text).toContain(`(confidence ${confidence.toFixed(2)}): The calculator knows`);
    expect(text).not.toContain('sk-ant-api03');
  }
});

test('says what follows a yes to each kind of plan', () => {
  const yes = (driver: RunDriver): unknown => pendingItems(driver.state)[0];
  expect(yes(askedAbout(planned(0.6), false))).toMatchObject({
    ifApproved: 'The model reads it as advice with its next call.',
  });
  expect(yes(askedAbout(planned(0.6, { strategy: 'give-up' })))).toMatchObject({
    ifApproved: expect.stringContaining('The run ends as failed') as string,
  });
  const driver = new RunDriver({
    model: () => ({ calls: [{ name: 'search', needsApproval: true }] }),
  });
  while (pendingItems(driver.state).length === 0 && driver.step());
  expect(yes(driver)).toMatchObject({
    ifApproved: expect.stringContaining('exactly these arguments') as string,
    ifRejected: expect.stringContaining('does not run') as string,
  });
});

test('a question without a plan proposes nothing', () => {
  const driver = askedAbout(planned(0.9, { strategy: 'escalate', action: { toolName: '' } }));
  expect(pendingItems(driver.state)[0]).not.toHaveProperty('proposal');
});
