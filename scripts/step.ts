/**
 * Steps through a recorded history and prints what the core makes of it: `npm run step -- HISTORY.json`.
 *
 * After each event: the parts of the state that changed, the commands, and the entries of the timeline.
 */
import { readFileSync } from 'node:fs';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { DefaultFailureConverter, defaultPayloadConverter } from '@temporalio/common';
import { historyFromJSON } from '@temporalio/common/lib/proto-utils';
import { temporal } from '@temporalio/proto';
import { HistoryReader } from '../client/history/facts';
import { SegmentFold } from '../client/history/fold';
import type { RunEvent } from '../workflows/core/run/protocol';
import type { RunState } from '../workflows/core/run/state';
import type { Transition } from '../workflows/core/run/transition';

/** One event as the core took it. */
export interface Step {
  /** From 1. */
  readonly number: number;
  readonly event: RunEvent;
  readonly before: RunState | undefined;
  readonly after: RunState;
  readonly commands: Transition[1];
}

/** Every event of a segment's history (as Temporal exports it), in the order in which the core takes them. */
export async function stepsOf(historyJson: unknown): Promise<readonly Step[]> {
  const { History } = temporal.api.history.v1;
  // As a client receives it: JSON has no 64-bit numbers.
  const { events } = History.decode(History.encode(historyFromJSON(historyJson)).finish());
  const workflowId = events[0]?.workflowExecutionStartedEventAttributes?.workflowId ?? '';
  const steps: Step[] = [];
  const fold = new SegmentFold(workflowId, (event, [after, commands]) => {
    const before = steps.at(-1)?.after;
    steps.push({ number: steps.length + 1, event, before, after, commands });
  });
  const loadedDataConverter = {
    payloadConverter: defaultPayloadConverter,
    failureConverter: new DefaultFailureConverter(),
    payloadCodecs: [],
  };
  const reader = new HistoryReader({ loadedDataConverter, namespace: 'default' }, workflowId);
  for (const event of events) {
    const fact = await reader.read(event);
    if (fact !== undefined) fold.take(fact);
  }
  fold.settle();
  return steps;
}

/** The parts of the state that the event changed; all parts of the first state. */
export function changedParts({ before, after }: Step): Partial<RunState> {
  const parts = Object.entries(after).filter(
    ([name, part]) => !isDeepStrictEqual(part, before?.[name as keyof RunState]),
  );
  return Object.fromEntries(parts);
}

function printed(step: Step, isWhole: boolean): string {
  const entries = step.commands.flatMap((command) =>
    command.type === 'publish' ? [command.entry] : [],
  );
  const commands = step.commands.filter(({ type }) => type !== 'publish');
  const json = (value: unknown): string => JSON.stringify(value, null, 2);
  return [
    `== ${step.number}. ${step.event.type} at ${new Date(step.event.atMs).toISOString()}`,
    `event ${json(step.event)}`,
    `${isWhole ? 'state' : 'changed'} ${json(isWhole ? step.after : changedParts(step))}`,
    ...commands.map((command) => `command ${json(command)}`),
    ...entries.map((entry) => `timeline ${json(entry)}`),
    '',
  ].join('\n');
}

async function main(): Promise<void> {
  const { positionals, values } = parseArgs({
    allowPositionals: true,
    options: { at: { type: 'string' }, state: { type: 'boolean', default: false } },
  });
  const [file] = positionals;
  if (file === undefined)
    throw new Error('Usage: npm run step -- HISTORY.json [--at NUMBER] [--state]');
  for (const step of await stepsOf(JSON.parse(readFileSync(file, 'utf8'))))
    if (values.at === undefined || Number(values.at) === step.number)
      process.stdout.write(printed(step, values.state));
}

if (require.main === module) void main();
