/** `holdfast setup`: creates in the namespace what Holdfast needs there. */
import type { Client } from '@temporalio/client';
import { ScheduleAlreadyRunning, ScheduleOverlapPolicy } from '@temporalio/client';
import type { CommandContext, CommonOptions } from '../command-context';
import { print } from '../command-context';
import { asClientError } from '../../../client/temporal-failure';
import { extractPatternsWorkflow, patternScheduleId } from '../../../workflows/contract';
import { readEnvironment } from '../../env';
import { registerSearchAttributes } from '../../search-attributes';
import { withTemporal } from '../reach-temporal';

/** Milliseconds between two extractions of patterns: an hour (ADR 0027). */
const extractionIntervalMs = 3_600_000;

/** Registers the search attributes and creates the schedule of learned patterns. */
export async function setup(
  context: CommandContext,
  options: CommonOptions & { readonly taskQueue?: string; readonly schedule: boolean },
): Promise<void> {
  const environment = readEnvironment(context.variables, context.directory);
  const { taskQueue = environment.taskQueue } = options;
  await withTemporal(context, async ({ client, connection, server }) => {
    const { address, namespace } = server;
    const { added, present } = await registerSearchAttributes(connection, namespace);
    const attributes = [
      ...(added.length === 0 ? [] : [`added ${added.join(', ')}`]),
      ...(present.length === 0 ? [] : [`${present.length} were there`]),
    ];
    const scheduleId = patternScheduleId(taskQueue);
    const schedule = options.schedule
      ? { scheduleId, taskQueue, created: await schedulePatterns(client, taskQueue, address) }
      : undefined;
    const made = schedule?.created === true ? 'created' : 'is there';
    const text = [
      `namespace "${namespace}" at ${address}`,
      `search attributes: ${attributes.join('; ')}`,
      ...(schedule === undefined ? [] : [`schedule of learned patterns: ${scheduleId} ${made}`]),
    ].join('\n');
    print(context, options, { address, namespace, added, present, schedule }, text);
  });
}

/** Creates the schedule, one per task queue; false if it was there. What people made of it stays. */
async function schedulePatterns(
  { schedule, options: { namespace } }: Client,
  taskQueue: string,
  address: string,
): Promise<boolean> {
  const scheduleId = patternScheduleId(taskQueue);
  try {
    await schedule.create({
      scheduleId,
      spec: { intervals: [{ every: extractionIntervalMs }] },
      action: {
        type: 'startWorkflow',
        workflowType: extractPatternsWorkflow,
        workflowId: scheduleId,
        taskQueue,
        args: [],
      },
      // Missed extractions need no catch-up: each one reads all observations.
      policies: { overlap: ScheduleOverlapPolicy.SKIP, catchupWindow: '1 minute' },
    });
    return true;
  } catch (thrown) {
    if (thrown instanceof ScheduleAlreadyRunning) return false;
    throw asClientError(thrown, { address, namespace });
  }
}
