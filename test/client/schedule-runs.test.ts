/** Each wrong schedule is refused before anything is made, with the option, its value and the remedy. */
import type { ScheduleOptions } from '@temporalio/client';
import type { AgentClient } from '../../client/agent-client';
import { ClientError } from '../../client/client-error';
import { listQuery } from '../../client/list-runs';
import { checkSchedule } from '../../client/start/schedule-runs';
import { supportAgent } from '../support/support-agent';

type RunSchedule = Omit<ScheduleOptions, 'action'>;
const schedule: RunSchedule = { scheduleId: 'daily', spec: { intervals: [{ every: '1 day' }] } };
const start = { agent: 'reporter', goal: 'Report.' };

function refusal(wrongStart: object, wrongSchedule: object): string {
  try {
    checkSchedule({ ...start, ...wrongStart }, { ...schedule, ...wrongSchedule });
  } catch (thrown) {
    if (thrown instanceof ClientError && thrown.code === 'invalid-input') return thrown.message;
    throw thrown;
  }
  return 'not refused';
}

test.each<readonly [string, object, object, string]>([
  ['an id for all runs', { runId: 'r1' }, {}, 'takes no runId: each of its runs is a new one'],
  ['a run to continue each time', { continueFrom: 'r1' }, {}, 'takes no continueFrom'],
  ['what to do with a taken id', { ifExists: 'use' }, {}, 'takes no ifExists'],
  ['an action', {}, { action: { type: 'startWorkflow' } }, 'Unknown option "action" of a schedule'],
  ['a misspelled option', {}, { policy: {} }, 'Unknown option "policy"'],
  ['no id', {}, { scheduleId: undefined }, 'The schedule id must be a string'],
  ['an empty id', {}, { scheduleId: ' ' }, 'The schedule id is empty'],
  ['an id with spaces', {}, { scheduleId: 'my report' }, 'must not hold spaces'],
  ['a long id', {}, { scheduleId: 'x'.repeat(201) }, 'The schedule id has 201 characters'],
  ['no times', {}, { spec: undefined }, 'The schedule has no spec: give { calendars }'],
])('%s', (_name, wrongStart, wrongSchedule, message) => {
  const said = refusal(wrongStart, wrongSchedule);
  expect(said).toContain(message);
  expect(said).toContain('No schedule was made.');
});

test('a right schedule is taken, with what Temporal has beside its action', () => {
  const more = { policies: { overlap: 'SKIP' }, state: { paused: true }, memo: { by: 'ops' } };
  expect(refusal({}, more)).toBe('not refused');
});

test('runs of a schedule are found by the attribute that Temporal gives them', () => {
  expect(listQuery({ scheduleId: "o'clock" })).toContain("TemporalScheduledById = 'o\\'clock'");
});

test('options have the types of a start and of a schedule', () => {
  const compiled = (client: AgentClient): readonly unknown[] => [
    client.schedule(supportAgent, { goal: 'x', context: { customerId: 'C-1' } }, schedule),
    client.schedule<typeof supportAgent>(
      'support',
      { goal: 'x', context: { customerId: 'C-1' } },
      schedule,
    ),
    // @ts-expect-error the agent's context is missing
    client.schedule(supportAgent, { goal: 'x' }, schedule),
    // @ts-expect-error a schedule makes its runs' ids
    client.schedule('reporter', { goal: 'x', runId: 'r' }, schedule),
    // @ts-expect-error the action is the start
    client.schedule('reporter', { goal: 'x' }, { ...schedule, action: {} }),
  ];
  expect(typeof compiled).toBe('function');
});
