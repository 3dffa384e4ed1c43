/** When a run's reports leave the sandbox. */
import { GatheredReports, isAtWork } from '../../telemetry/workflow/gathered-reports';
import type { StepReport } from '../../telemetry/workflow/step-report';
import type { RunStep } from '../../workflows/run-observer';

const iteration: StepReport = {
  spans: [],
  counts: [{ name: 'agent_iterations', value: 1, tags: {} }],
};

/** How many counts each report had that left, if these steps were taken: milliseconds, and whether the run is at work. */
function sentOf(steps: readonly (readonly [atMs: number, isAtWork: boolean])[]): readonly number[] {
  const sent: number[] = [];
  const reports = new GatheredReports(({ counts }) => sent.push(counts.length));
  for (const [atMs, isAtWork] of steps) reports.take(iteration, atMs, isAtWork);
  return sent;
}

test('the first one is sent at once, and those of the next second together', () => {
  expect(
    sentOf([
      [5_000, true],
      [5_400, true],
      [5_999, true],
      [6_000, true],
    ]),
  ).toEqual([1, 3]);
});

test('none waits for the next step of a run that is not at work', () => {
  expect(
    sentOf([
      [5_000, true],
      [5_100, true],
      [5_200, false],
      [5_300, false],
    ]),
  ).toEqual([1, 2, 1]);
});

test('steps that bring nothing send nothing', () => {
  const send = jest.fn();
  new GatheredReports(send).take({ spans: [], counts: [] }, 5_000, false);
  expect(send).not.toHaveBeenCalled();
});

const ended = (work?: object) => ({ type: 'tool-call-completed', result: { work } });

test.each([
  ['a model call', true, 'calling-model', ended(), 'call-model'],
  ['tool calls', true, 'running-tools', ended(), 'run-tool'],
  ['a subagent', false, 'running-tools', ended(), 'run-subagent'],
  ['Temporal work', false, 'running-tools', ended({ type: 'workflow' }), 'start-timer'],
  ['a person', false, 'waiting', ended(), 'start-timer'],
  ['nothing any more', false, 'ended', ended(), 'end-run'],
])('a run that waits for %s: %s', (_what, expected, phase, event, command) => {
  // Of a step, no more is looked at.
  const step = { event, decided: [{ phase: { type: phase } }, [{ type: command }]] };
  expect(isAtWork(step as unknown as RunStep)).toBe(expected);
});
