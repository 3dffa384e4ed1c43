/** `holdfast setup`: creates in the namespace what Holdfast needs there. */
import type { CommandContext, CommonOptions } from '../command-context';
import { print } from '../command-context';
import { schedulePatterns, scheduleText } from '../../../client/pattern-schedule';
import { defined } from '../../../workflows/core/json';
import { readEnvironment } from '../../env';
import { registerSearchAttributes } from '../../search-attributes';
import { withTemporal } from '../reach-temporal';

/** Registers the search attributes and creates the schedule of learned patterns. */
export async function setup(
  context: CommandContext,
  options: CommonOptions & {
    readonly taskQueue?: string;
    readonly schedule: boolean;
    readonly every?: number;
  },
): Promise<void> {
  const environment = readEnvironment(context.variables, context.directory);
  const { taskQueue = environment.taskQueue, every } = options;
  const everyMs = every && every * 60_000;
  await withTemporal(environment, async ({ client, connection, server }) => {
    const { address, namespace } = server;
    const registered = await registerSearchAttributes(connection, namespace);
    const schedule = options.schedule
      ? await schedulePatterns(client, { address, taskQueue, ...defined({ everyMs }) })
      : undefined;
    const text = [
      `namespace "${namespace}" at ${address}`,
      attributesText(registered),
      ...(schedule === undefined ? [] : [scheduleText(schedule)]),
    ].join('\n');
    print(context, options, { address, namespace, ...registered, schedule }, text);
  });
}

function attributesText({
  added,
  present,
}: Awaited<ReturnType<typeof registerSearchAttributes>>): string {
  const known = present.length === 0 ? '' : `${present.length} were there`;
  const made = added.length === 0 ? '' : `added ${added.join(', ')}`;
  return `search attributes: ${[made, known].filter((part) => part !== '').join('; ')}`;
}
