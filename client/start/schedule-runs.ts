/** Runs of an agent on a schedule of Temporal's: the action is a checked start, everything else is Temporal's own. */
import type { ScheduleClient, ScheduleHandle, ScheduleOptions } from '@temporalio/client';
import { ScheduleAlreadyRunning } from '@temporalio/client';
import { ValueError } from '@temporalio/common';
import { z } from 'zod';
import { check, scheduleIdSchema } from '../check-input';
import { ClientError } from '../client-error';
import type { StartOptions, StartPlace, StoredStart } from './start-run';
import { workflowOf } from './start-run';

/** When runs start, and what a schedule has beside its action, as `ScheduleClient.create` of `@temporalio/client` takes it. */
export type RunSchedule = Omit<ScheduleOptions, 'action'>;

/** Options of a start that a schedule decides itself, or that would let each of its runs continue one and the same run. */
const notScheduled = ['runId', 'ifExists', 'idempotencyKey', 'continueFrom'] as const;

const aList = (name: string): z.ZodType =>
  z.array(z.unknown(), { error: `The schedule's spec.${name} must be a list` }).optional();
const anything = z.unknown().optional();
const scheduleShape = z.strictObject(
  {
    scheduleId: scheduleIdSchema,
    spec: z.looseObject(
      {
        calendars: aList('calendars'),
        intervals: aList('intervals'),
        cronExpressions: aList('cronExpressions'),
      },
      {
        error: 'The schedule has no spec: give { calendars }, { intervals } or { cronExpressions }',
      },
    ),
    policies: anything,
    memo: anything,
    searchAttributes: anything,
    typedSearchAttributes: anything,
    state: anything,
  },
  {
    error: (issue) =>
      issue.code === 'unrecognized_keys'
        ? `Unknown option ${issue.keys.map((key) => JSON.stringify(key)).join(', ')} of a schedule; it takes scheduleId, spec, policies, state, memo, typedSearchAttributes, searchAttributes`
        : undefined,
  },
);

/**
 * Checks a schedule and what it starts.
 *
 * Errors: `invalid-input`, before anything is made.
 */
export function checkSchedule(start: StartOptions, schedule: RunSchedule): void {
  const given = notScheduled.filter((name) => start[name] !== undefined);
  if (given.length > 0)
    throw new ClientError(
      'invalid-input',
      `A schedule takes no ${given.join(', ')}: each of its runs is a new one, whose id is the schedule's with the time. Leave it out. No schedule was made.`,
    );
  check(scheduleShape, schedule, 'No schedule was made.');
}

/**
 * Makes the schedule. Each of its runs has the id `<scheduleId>-<time>`.
 *
 * Errors: `schedule-exists`; what Temporal says otherwise.
 */
export async function scheduleRuns(
  client: ScheduleClient,
  start: StoredStart,
  schedule: RunSchedule,
  place: StartPlace,
): Promise<ScheduleHandle> {
  const { scheduleId } = schedule;
  try {
    return await client.create({
      ...schedule,
      action: { type: 'startWorkflow', workflowId: scheduleId, ...workflowOf(start, place) },
    });
  } catch (thrown) {
    // What the SDK makes of a spec or a policy that it, or the server, refuses.
    if (thrown instanceof TypeError || thrown instanceof ValueError)
      throw new ClientError(
        'invalid-input',
        `Temporal refuses the schedule "${scheduleId}": ${thrown.message}. Correct its spec or policies. No schedule was made.`,
        { cause: thrown },
      );
    if (!(thrown instanceof ScheduleAlreadyRunning)) throw thrown;
    throw new ClientError(
      'schedule-exists',
      `There is a schedule "${scheduleId}" already. Choose another id, or change or delete that one: new Client({ connection }).schedule.getHandle("${scheduleId}") in @temporalio/client, or \`temporal schedule\`.`,
      { cause: thrown },
    );
  }
}
