/** Stepping through a recorded history shows what the core made of each event. */
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { Step } from '../../scripts/step';
import { changedParts, stepsOf } from '../../scripts/step';

const directory = path.join(__dirname, '..', 'replay', 'histories');

function stepsOfRecording(scenario: string): Promise<readonly Step[]> {
  const file = readdirSync(directory).find((name) => name.startsWith(`${scenario}-v`)) ?? '';
  return stepsOf(JSON.parse(readFileSync(path.join(directory, file), 'utf8')));
}

test('shows each event with the state before and after it', async () => {
  const steps = await stepsOfRecording('text-answer');
  expect(steps.map(({ event }) => event.type)).toEqual([
    'run-started',
    'run-prepared',
    'model-call-completed',
  ]);
  expect(steps.map(({ after }) => after.phase.type)).toEqual([
    'preparing',
    'calling-model',
    'ended',
  ]);
  for (const [index, step] of steps.entries()) expect(step.before).toBe(steps[index - 1]?.after);
});

test('shows the commands of an event, and only the parts of the state that it changed', async () => {
  const [, prepared] = await stepsOfRecording('text-answer');
  expect(prepared?.commands.map(({ type }) => type)).toContain('call-model');
  const changed = prepared === undefined ? {} : changedParts(prepared);
  expect(Object.keys(changed)).toEqual(expect.arrayContaining(['phase', 'snapshot']));
  expect(Object.keys(changed)).not.toContain('request');
});

test('goes on from the state that a segment began with', async () => {
  const [first] = await stepsOfRecording('rolled-over-2');
  expect(first?.event.type).toBe('segment-started');
  expect(first?.after.counters.segments).toBe(2);
});
