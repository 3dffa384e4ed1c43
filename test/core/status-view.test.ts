/** What people see of a run at one look: what it waits for, until when, how to answer, and how it ended. */
import { statusView } from '../../workflows/core/view/status';
import {
  aCall,
  aPreparedRun,
  aRoute,
  aRunWithCalls,
  aSnapshot,
  aTool,
  anInfraError,
  startMs,
  takeAll,
  markdownOf,
} from '../support/builders';
import type { AgentSnapshot } from '../../workflows/core/run/ports';
import type { DrivenWorld } from '../support/run-driver';
import { drive, RunDriver } from '../support/run-driver';

const lineOf = (markdown: string, label: string): string =>
  markdown.split('\n').find((line) => line.startsWith(`- **${label}:**`)) ?? '';

test('a wait for a provider says when the next try is, and why', () => {
  const [waiting] = takeAll(aPreparedRun({ chain: [aRoute()] }), {
    type: 'model-call-failed',
    callId: 'm1',
    failure: anInfraError('overloaded', { message: 'HTTP 529' }),
  });
  const { phase } = waiting;
  if (phase.type !== 'waiting' || phase.untilMs === undefined) throw new Error('it does not wait');
  const clock = new Date(phase.untilMs).toISOString().slice(11, 19);
  expect(phase.untilMs).toBeGreaterThan(startMs);
  const doing = lineOf(markdownOf(waiting), 'Doing');
  expect(doing).toContain(`waiting for provider, next try at ${clock} UTC: `);
  expect(doing).toContain('HTTP 529');
});

test('an approval that waits shows its arguments and the command that answers', () => {
  const [waiting] = aRunWithCalls([
    aCall('a', { approvalDigest: 'digest-a', input: { euros: 80 } }),
  ]);
  const shown = markdownOf(waiting);
  expect(shown).toContain('- **Wants approval:** `search`\n  - `euros: 80`\n');
  expect(lineOf(shown, 'Decide with')).toContain('`holdfast approve run-1 a`');
});

test('amounts of money are no formulas of the Web UI', () => {
  const run = aPreparedRun(aSnapshot({ budget: { nanoUsd: 1_000_000_000 } }));
  expect(lineOf(markdownOf(run), 'Cost')).toMatch(/`\$.* of \$1/);
});

test('a run that ended shows its answer, or in words what it failed of', () => {
  const done = drive([{ text: 'Paris' }]).state;
  expect(statusView(done)).toMatchObject({ status: 'completed', ending: 'Paris' });
  const [failed] = takeAll(aPreparedRun({ chain: [aRoute()] }), {
    type: 'model-call-failed',
    callId: 'm1',
    failure: anInfraError('auth', { message: 'HTTP 401' }),
  });
  expect(statusView(failed)).toMatchObject({ status: 'failed', reason: 'chain_exhausted' });
  expect(statusView(failed).ending).toContain('HTTP 401');
  expect(lineOf(markdownOf(failed), 'Message')).toContain('HTTP 401');
});

const long = 'x'.repeat(300);
const labeled: readonly [string, DrivenWorld, Partial<AgentSnapshot>, RegExp][] = [
  [
    'a provider',
    { model: () => anInfraError('overloaded', { message: long }) },
    { chain: [aRoute({ provider: 'acme', model: 'm1' })] },
    /^provider: overloaded at acme\/m1$/,
  ],
  [
    'the store',
    { model: () => anInfraError('store_unavailable', { message: long }) },
    {},
    /^store: x/,
  ],
  [
    'the store, for a call',
    {
      model: () => ({ calls: [{ name: 'search' }] }),
      tool: () => anInfraError('store_unavailable'),
    },
    {},
    /^store: search waits/,
  ],
  [
    'an approval',
    { model: () => ({ calls: [{ name: 'search', needsApproval: true }] }) },
    { approvals: { expiresAfterMs: 60_000, onExpiry: 'reject' } },
    /^approval of search$/,
  ],
];

test.each(labeled)(
  'the label of a wait for %s begins with what it is, and is short',
  (_what, world, changes, label) => {
    const driver = new RunDriver({
      prepare: () => aSnapshot({ tools: [aTool('search')], ...changes }),
      ...world,
    });
    const labels = (): readonly string[] =>
      driver.commands.flatMap((each) =>
        each.type === 'start-timer' && !each.summary.startsWith('limit of active')
          ? [each.summary]
          : [],
      );
    for (let step = 0; step < 30 && labels().length === 0; step++) driver.step();
    expect(labels()[0]).toMatch(label);
    for (const each of labels()) expect(each.length).toBeLessThanOrEqual(50);
  },
);
