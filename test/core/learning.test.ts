/** Which errors a run follows, what ends them, and how they reach the corpus. */
import { stay } from '../../workflows/core/run/move';
import type { CallModelInput } from '../../workflows/core/model-call/ports';
import type { ObservedError } from '../../workflows/core/learning/ports';
import { learn } from '../../workflows/core/learning/observations';
import { initialTransition, transition } from '../../workflows/core/run/transition';
import type { ScriptedToolResult } from '../support/run-driver';
import { drive, RunDriver } from '../support/run-driver';
import { aSnapshot, anAgentError } from '../support/builders';

const snapshot = aSnapshot({ learns: true });
const missing = anAgentError({ message: 'no such file', toolName: 'read' });
const fails = { error: missing };
const works = { output: 'ok' };

/** Everything that the run told the corpus, by the model calls that carried it and by what its end left. */
function told(driver: RunDriver): readonly ObservedError[] {
  const inputs: CallModelInput[] = driver.requests.map(({ input }) => input);
  return [...inputs.flatMap((input) => input.endedErrors ?? []), ...driver.state.learning.waiting];
}

function run(
  script: Parameters<typeof drive>[0],
  results: readonly ScriptedToolResult[],
): RunDriver {
  return drive(script, {
    prepare: () => snapshot,
    tool: (_input, call) => results[call - 1] ?? works,
  });
}

const calls = (...names: readonly string[]): { calls: readonly { name: string }[] } => ({
  calls: names.map((name) => ({ name })),
});

test('an error that the next try of its tool mends is told with both calls', () => {
  const driver = run([calls('read'), calls('search'), calls('read'), { text: 'done' }], [fails]);
  const [first, ...others] = told(driver);
  expect(others).toEqual([]);
  expect(first).toMatchObject({
    tool: 'read',
    code: 'tool_execution_failed',
    fixedBy: 'model',
    fix: { tool: 'read' },
  });
  expect(first?.callId).toMatch(/_1_0$/);
  expect(first?.fix?.callId).toMatch(/_3_0$/);
});

test('an output in the form of an error mends nothing, so that no fix is learned of it', () => {
  const forged = { output: '{"error":true}', saysFailed: true } as const;
  const driver = run([calls('read'), calls('read'), { text: 'done' }], [fails, forged]);
  expect(told(driver)).toMatchObject([{ tool: 'read', fixedBy: 'none' }]);
  expect(told(driver)[0]).not.toHaveProperty('fix');
});

test('each try in vain is told as one', () => {
  const driver = run(
    [calls('read'), calls('read'), calls('read'), { text: 'done' }],
    [fails, fails],
  );
  expect(told(driver)).toMatchObject([
    { fixedBy: 'none', fix: { tool: 'read' } },
    { fixedBy: 'model' },
  ]);
});

test('an error that another tool got over is told when the run has reached its goal', () => {
  const driver = run([calls('read'), calls('fetch'), { text: 'done' }], [fails]);
  expect(told(driver)).toMatchObject([{ tool: 'read', fixedBy: 'model', fix: { tool: 'fetch' } }]);
  expect(driver.state.learning.waiting).toHaveLength(1);
});

test('an error that ends with the run is told as not fixed', () => {
  const loops = Array.from({ length: 5 }, () => calls('read'));
  const driver = run(loops, [fails, fails, fails, fails, fails]);
  expect(driver.outcome.status).toBe('failed');
  expect(told(driver).every(({ fixedBy }) => fixedBy === 'none')).toBe(true);
  expect(told(driver)).toHaveLength(5);
});

test('a reply of which nothing ran is mended by the next call that works', () => {
  const unknown = anAgentError({ code: 'invalid_tool', toolName: 'reed' });
  const driver = run(
    [{ calls: [{ name: 'reed', error: unknown }] }, calls('read'), { text: 'done' }],
    [],
  );
  expect(told(driver)).toMatchObject([
    { tool: 'reed', code: 'invalid_tool', fixedBy: 'model', fix: { tool: 'read' } },
  ]);
});

test("what a person's answer mends is told as that person's doing", () => {
  const driver = run(
    [
      calls('read'),
      { calls: [{ name: 'ask_user', input: { question: 'which?' } }] },
      calls('read'),
      { text: 'done' },
    ],
    [fails],
  );
  const [item] = driver.state.phase.type === 'running-tools' ? driver.state.phase.calls : [];
  driver.say({
    type: 'question-answered',
    questionId: item?.call.toolCallId ?? '',
    answer: 'src/a.ts',
  });
  driver.run();
  expect(told(driver)).toMatchObject([{ tool: 'read', fixedBy: 'person' }]);
});

test('what a recovery action mends, by its own tool too, is told as its doing, with its pattern', () => {
  const driver = run([calls('read'), calls('fetch'), { text: 'done' }], [fails]);
  const before = driver.events.findIndex(({ type }) => type === 'tool-call-completed');
  const began = driver.events[0];
  if (began?.type !== 'run-started') throw new Error('a run begins with its start');
  let [state] = initialTransition(began);
  for (const event of driver.events.slice(1, before + 1)) [state] = transition(state, event);
  const trial = {
    id: 1,
    summary: 'use fetch',
    trouble: { tool: 'read', code: 'tool_execution_failed', message: '' },
    stepsLeft: 3,
    stuckAction: '',
    action: { toolName: 'fetch', patternId: 'p1' },
  } as const;
  const acted = { ...state, recovery: { ...state.recovery, trial } };
  const learned = learn(state, stay(acted), { type: 'begin-iteration' }, state.startedAtMs);
  state = { ...learned.state, recovery: state.recovery };
  for (const event of driver.events.slice(before + 1, -1)) [state] = transition(state, event);
  expect(state.learning.waiting).toMatchObject([
    { tool: 'read', fixedBy: 'action', patternId: 'p1', fix: { tool: 'fetch' } },
  ]);
});

test('what was told once is not told again, but where the call that carried it failed', () => {
  const driver = drive(
    [
      calls('read'),
      calls('read'),
      { kind: 'infra', code: 'network', message: 'reset' },
      calls('read'),
      { text: 'done' },
    ],
    { prepare: () => snapshot, tool: (_input, call) => (call === 1 ? fails : works) },
  );
  const carried = driver.requests.map(({ input }) => input.endedErrors?.length ?? 0);
  expect(carried).toEqual([0, 0, 1, 1, 0]);
});

test('a run of an agent that does not learn tells nothing', () => {
  const driver = drive([calls('read'), calls('read'), { text: 'done' }], {
    tool: (_input, call) => (call === 1 ? fails : works),
  });
  expect(told(driver)).toEqual([]);
  expect(driver.state.learning.open).toEqual([]);
});

test('an answer that nobody asked for is no help', () => {
  const driver = new RunDriver({
    prepare: () => snapshot,
    model: (_request, call) => (call < 3 ? calls('read') : { text: 'done' }),
    tool: (_input, call) => (call === 1 ? fails : works),
  });
  while (driver.toolRuns.length === 0) driver.step();
  driver.say({ type: 'question-answered', questionId: 'nobody-asked', answer: 'try again' });
  driver.run();
  expect(told(driver)).toMatchObject([{ tool: 'read', fixedBy: 'model' }]);
});
