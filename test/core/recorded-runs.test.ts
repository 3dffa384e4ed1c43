/** The core of today decides again, to the last value, what a recorded history holds: what activities are given, and how the run ends. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Step } from '../../scripts/step';
import { stepsOf } from '../../scripts/step';
import { activityIdOf, isActivityCommand } from '../../workflows/activity-events';
import { sentModelCall } from '../../workflows/core/model-call/sent-call';
import { sentToolCall } from '../../workflows/core/tools/lineage';
import type { ActivityCommand } from '../../workflows/core/run/protocol';
import type { RunState } from '../../workflows/core/run/state';
import { prepareCallId } from '../../workflows/core/run/protocol';

interface Payloads {
  readonly payloads?: readonly { readonly data?: string }[];
}

interface RecordedEvent {
  readonly activityTaskScheduledEventAttributes?: {
    readonly activityId: string;
    readonly input?: Payloads;
  };
  readonly workflowExecutionCompletedEventAttributes?: { readonly result?: Payloads };
  readonly workflowExecutionFailedEventAttributes?: {
    readonly failure: { readonly applicationFailureInfo?: { readonly details?: Payloads } };
  };
  readonly workflowExecutionContinuedAsNewEventAttributes?: { readonly input?: Payloads };
  readonly timerStartedEventAttributes?: { readonly startToFireTimeout: string };
}

const directory = path.join(__dirname, '..', 'replay', 'histories');
const recordings = readdirSync(directory).filter((file) => file.endsWith('.json'));

function historyOf(file: string): { readonly events: readonly RecordedEvent[] } {
  const text = readFileSync(path.join(directory, file), 'utf8');
  return JSON.parse(text) as { readonly events: readonly RecordedEvent[] };
}

function valueOf(payloads: Payloads | undefined): unknown {
  const data = payloads?.payloads?.[0]?.data;
  return data === undefined ? undefined : JSON.parse(Buffer.from(data, 'base64').toString('utf8'));
}

const asJson = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

/** Without the words of a note to the model, which change from version to version. */
const withoutNotes = (value: unknown): unknown =>
  JSON.parse(JSON.stringify(value), (key, field: unknown) => (key === 'note' ? 'note' : field));

/** What activities were given, by their ids. */
function recordedInputs(events: readonly RecordedEvent[]): Record<string, unknown> {
  return Object.fromEntries(
    events.flatMap(({ activityTaskScheduledEventAttributes: scheduled }) =>
      scheduled === undefined ? [] : [[scheduled.activityId, valueOf(scheduled.input)]],
    ),
  );
}

/** As history has it; the shell adds to the first activity's. */
function sentInput(command: ActivityCommand): unknown {
  if (command.type === 'call-model') return sentModelCall(command.input);
  return command.type === 'run-tool' ? sentToolCall(command.input) : command.input;
}

function decidedInputs(steps: readonly Step[]): Record<string, unknown> {
  return Object.fromEntries(
    steps
      .flatMap(({ commands }) => commands)
      .filter(isActivityCommand)
      .map((command) => [activityIdOf(command), asJson(sentInput(command))]),
  );
}

/** How the last event of a history ends it, and the end that the core came to; the same where the shell writes what the core says. */
function endsOf(end: RecordedEvent | undefined, state: RunState | undefined): [unknown, unknown] {
  const outcome = state?.phase.type === 'ended' ? asJson(state.phase.outcome) : undefined;
  const completed = end?.workflowExecutionCompletedEventAttributes;
  if (completed !== undefined) return [valueOf(completed.result), outcome];
  const failed = end?.workflowExecutionFailedEventAttributes?.failure;
  if (failed !== undefined) return [valueOf(failed.applicationFailureInfo?.details), outcome];
  const continued = end?.workflowExecutionContinuedAsNewEventAttributes;
  if (continued !== undefined)
    return [valueOf(continued.input), asJson({ request: state?.request, state })];
  return [undefined, undefined];
}

describe.each(recordings)('%s', (file) => {
  test('gives each activity what it was given', async () => {
    const { events } = historyOf(file);
    const decided = decidedInputs(await stepsOf({ events }));
    for (const [id, input] of Object.entries(recordedInputs(events)))
      if (id !== prepareCallId)
        expect(withoutNotes([id, decided[id]])).toEqual(withoutNotes([id, input]));
  });

  test('ends as it ended', async () => {
    const { events } = historyOf(file);
    const [recorded, decided] = endsOf(events.at(-1), (await stepsOf({ events })).at(-1)?.after);
    expect(decided).toEqual(recorded);
  });

  test('starts the same timers', async () => {
    const { events } = historyOf(file);
    const recorded = events.flatMap(({ timerStartedEventAttributes: timer }) =>
      timer === undefined ? [] : [1_000 * Number.parseFloat(timer.startToFireTimeout)],
    );
    const decided = (await stepsOf({ events }))
      .flatMap(({ commands }) => commands)
      .flatMap((command) => (command.type === 'start-timer' ? [command.delayMs] : []));
    // One that is cancelled in the workflow task that starts it is not recorded.
    expect(decided).toEqual(expect.arrayContaining(recorded));
  });
});
