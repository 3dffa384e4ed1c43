/** A remedy on trial: which steps prove it, refute it, or say nothing, and what a step's calls leave behind. */
import type { RecoveryTrouble } from '../../workflows/core/recovery/action';
import {
  closeTrial,
  endRefusedStep,
  endToolStep,
  noteCallResult,
  startTrial,
} from '../../workflows/core/recovery/trial';
import type { RunState } from '../../workflows/core/run/state';
import type { ProposedToolCall, RunToolResult } from '../../workflows/core/tools/ports';
import { askUserTool } from '../../workflows/core/tools/ports';
import type { SettledStatus, ToolCallProgress } from '../../workflows/core/tools/state';
import { settle } from '../../workflows/core/tools/state';
import {
  aCall,
  anAgentError,
  aPreparedRun,
  aRecoveryPolicy,
  aTool,
  aToolResult,
} from '../support/builders';

const error = anAgentError({ message: 'no row at 2026-01-01T10:00:00Z', toolName: 'search' });
const call = aCall('c1', { label: 'test' });
const trouble: RecoveryTrouble = {
  ...{
    tool: 'search',
    code: error.code,
    message: 'no row at 2026-01-01T10:07:00Z',
    input: { query: 'other' },
  },
};
const tools = [aTool('search'), aTool('write', { effect: 'keyed', editsFile: 'path' })];
const aRun = (mode: 'auto' | 'observe' = 'auto'): RunState =>
  aPreparedRun({ tools, recovery: aRecoveryPolicy({ mode }) });
const fresh = aRun();
const onTrial = startTrial(fresh, { summary: 'retry search', trouble });

const settled = (of: ProposedToolCall, how: Partial<SettledStatus> = {}): ToolCallProgress => {
  const progress = settle(of, 'text', undefined, true);
  return { ...progress, status: { ...progress.status, ...how } as SettledStatus };
};

/** A step of one call. */
function step(state: RunState, output: RunToolResult, of = call): RunState {
  return endToolStep(noteCallResult(state, of, output), [settled(of)]).state;
}
const news = (fingerprint: string): RunToolResult => aToolResult({ fingerprint });
const failed = (changes = {}): RunToolResult => aToolResult({ error: { ...error, ...changes } });
const ends = ({ recovery }: RunState): readonly unknown[] => [
  ...[recovery.healed, recovery.failed, recovery.trial === undefined],
];

test('closing a trial counts it, tells it, and remembers what did not help, the newest six', () => {
  expect(closeTrial(fresh, true)).toEqual({ state: fresh, commands: [] });
  const healed = closeTrial(onTrial, true);
  expect(ends(healed.state)).toEqual([1, 0, true]);
  expect(healed.state.recovery.tried).toEqual([]);
  expect(healed.commands).toEqual([
    {
      type: 'publish',
      entry: { type: 'RecoveryOutcomeEvent', summary: 'retry search', healed: true },
    },
  ]);
  let state = fresh;
  for (const summary of ['1', '2', '3', '4', '5', '6', '7'])
    state = closeTrial(startTrial(state, { summary, trouble }), false).state;
  expect(ends(state)).toEqual([0, 7, true]);
  expect(state.recovery.tried).toEqual(['2', '3', '4', '5', '6', '7']);
});

test('a trial knows its number and the newest call', () => {
  const after = step(fresh, news('a'));
  const counted = { ...after, recovery: { ...after.recovery, count: 4 } };
  expect(startTrial(counted, { summary: 's', trouble }).recovery.trial).toEqual({
    ...{ summary: 's', trouble, id: 4, stepsLeft: 3, stuckAction: 'search test' },
  });
  expect(onTrial.recovery.trial).toMatchObject({ id: 0, stuckAction: '' });
});

test('news heals, three steps without news fail, and a wait decides nothing', () => {
  const healed = step(onTrial, news('a'));
  expect(ends(healed)).toEqual([1, 0, true]);
  const state = { ...step(fresh, news('a')), recovery: onTrial.recovery };
  const idle = (before: RunState): RunState => step(before, news('a'));
  expect(idle(state).recovery.trial).toMatchObject({ stepsLeft: 2 });
  expect(ends(idle(idle(state)))).toEqual([0, 0, false]);
  expect(ends(idle(idle(idle(state))))).toEqual([0, 1, true]);
  expect(idle(idle(idle(state))).recovery.refutedStep).toBe(-1);
  const asleep = endToolStep(state, [settled(aCall('c2', { alike: { idle: 'waits' } }))]).state;
  expect(asleep.recovery.trial).toEqual(state.recovery.trial);
  expect(asleep.progress.idleSteps).toBe(state.progress.idleSteps);
});

describe('a remedy is refuted', () => {
  const refuted = (state: RunState): unknown => [
    ...[state.recovery.failed, state.recovery.refutedStep, state.recovery.refutedTrouble],
  ];
  test.each<[string, RunToolResult, ProposedToolCall, boolean]>([
    ['by the same error, whatever its times', failed(), call, true],
    [
      'by another error for the same input',
      failed({ message: 'x' }),
      aCall('c', { input: { query: 'other' } }),
      true,
    ],
    ['not by another error for another input', failed({ message: 'x' }), call, false],
    ['not by another code', failed({ code: 'tool_timeout' }), call, false],
    ['not by another tool', failed(), aCall('c', { name: 'write' }), false],
  ])('%s', (_, output, of, isRefuted) => {
    expect(refuted(step(onTrial, output, of))).toEqual(
      isRefuted ? [1, 1, trouble.message] : [0, -1, undefined],
    );
  });

  test('by the call that the run was stuck on, with nothing new', () => {
    const again = startTrial(step(fresh, news('a')), { summary: 's', trouble });
    expect(refuted(step(again, news('a')))).toEqual([1, 2, trouble.message]);
    expect(refuted(step(again, news('b')))).toEqual([0, -1, undefined]);
    expect(refuted(step(again, news('a'), aCall('c', { label: 'else' })))).toEqual([
      0,
      -1,
      undefined,
    ]);
  });

  test('by a reply of which nothing ran, but not by an error of an earlier step', () => {
    const early = step(fresh, failed({ message: trouble.message }));
    const later = startTrial(early, { summary: 's', trouble });
    const other = anAgentError({ code: 'invalid_tool', message: 'no tool' });
    expect(refuted(endRefusedStep(later, [other]).state)).toEqual([0, -1, undefined]);
    expect(refuted(endRefusedStep(later, [other, error]).state)).toEqual([1, 2, trouble.message]);
  });
});

describe('the path of an earlier result', () => {
  const listed = noteCallResult(fresh, aCall('c0'), {
    ...news('a'),
    findings: { facts: [], paths: [{ path: 'src/a.ts', line: 1 }] },
  });
  const read = aCall('c1', { input: { query: 'a.ts' } });
  const noteOf = (state: RunState, changes = {}): string | undefined =>
    step(state, failed(changes), read).next.troubleNote;

  test('is named to the model once a call fails for less', () => {
    expect(noteOf(listed)).toMatch(
      /Hint: an earlier call names the full path src\/a\.ts; call search with "query" set to it\.$/,
    );
  });
  test.each<[string, RunState, object]>([
    ['after another code', listed, { code: 'tool_timeout' }],
    ['if the tool said it', listed, { hint: 'Did you mean src/a.ts?' }],
    ['if no path fits', fresh, {}],
    ['where recovery only observes', { ...aRun('observe'), progress: listed.progress }, {}],
  ])('is not named %s', (_, state, changes) => {
    expect(noteOf(state, changes)).toBeUndefined();
  });
  test('is not named in a later step', () => {
    const state = { ...step(listed, failed(), read), next: fresh.next };
    expect(step(state, news('b')).next.troubleNote).toBeUndefined();
    expect(endRefusedStep(state, [anAgentError({ code: 'invalid_tool' })]).state.next).toEqual(
      fresh.next,
    );
  });
});

describe('the result of a call', () => {
  const write = (input: Readonly<Record<string, string>>): ProposedToolCall =>
    aCall('w1', { name: 'write', input, fingerprint: 'w' });

  test('counts as an effect and an edit only for a tool that changes something', () => {
    const { memory } = noteCallResult(fresh, write({ path: 'a.ts' }), news('a')).progress;
    expect(memory).toMatchObject({ effects: ['w'], files: [{ path: 'a.ts', toolCallId: 'w1' }] });
    expect(noteCallResult(fresh, call, news('a')).progress.memory).toMatchObject({
      effects: [],
      files: [],
    });
    const unknown = noteCallResult(fresh, aCall('u', { name: 'gone' }), news('a'));
    expect(unknown.progress.memory.effects).toEqual([]);
    const files = [write({ path: 'a'.repeat(200) }), write({ path: 'a'.repeat(201) }), write({})];
    expect(
      files.map((each) => noteCallResult(fresh, each, news('a')).progress.memory.files.length),
    ).toEqual([1, 0, 0]);
  });

  test('that may have taken effect is uncertain until the tool answers again', () => {
    const lost = failed({ code: 'tool_timeout' });
    const uncertain = noteCallResult(fresh, write({}), lost);
    expect(uncertain.recovery.uncertain).toEqual(['write']);
    expect(noteCallResult(uncertain, write({}), lost).recovery.uncertain).toEqual(['write']);
    expect(noteCallResult(uncertain, call, news('a')).recovery.uncertain).toEqual(['write']);
    expect(noteCallResult(uncertain, write({}), news('a')).recovery).toEqual(fresh.recovery);
    expect(noteCallResult(fresh, call, lost).recovery).toEqual(fresh.recovery);
    expect(noteCallResult(fresh, write({}), failed()).recovery).toEqual(fresh.recovery);
    const two = { ...uncertain, recovery: { ...uncertain.recovery, uncertain: ['write', 'pay'] } };
    expect(noteCallResult(two, write({}), news('a')).recovery.uncertain).toEqual(['pay']);
  });

  test('that never ran is remembered at the end of the step, that of one that ran is not counted twice', () => {
    const bad = anAgentError({ code: 'invalid_params' });
    const end = (how: Partial<SettledStatus>): RunState =>
      endToolStep(fresh, [settled(call, how)]).state;
    expect(end({ ran: false, error: bad }).progress.memory.failures).toMatchObject([
      { tool: 'search', code: 'invalid_params', input: { query: 'test' }, lastStep: 1 },
    ]);
    expect(end({ ran: true, error: bad }).progress.memory.failures).toEqual([]);
    expect(end({ ran: false }).progress.memory.failures).toEqual([]);
  });
});

describe('a step counts as one without progress', () => {
  const idleAfter = (calls: readonly ToolCallProgress[], state = fresh): number =>
    endToolStep({ ...state, progress: { ...state.progress, idleSteps: 2 } }, calls).state.progress
      .idleSteps;
  const outage = { identity: { fingerprint: 'r', outage: true } } as const;
  const denied = { ran: false, error: anAgentError({ code: 'tool_denied' }) };
  const asked = aCall('a1', { name: askUserTool });

  test.each<[string, readonly ToolCallProgress[], number]>([
    ['unless a person answered', [settled(asked)], 0],
    ['unless a person refused a call', [settled(call), settled(call, denied)], 0],
    ['if the question never reached a person', [settled(asked, { ran: false })], 3],
    ['if a tool ran into a refusal', [settled(call, { ...denied, ran: true })], 3],
    ['unless every call met an outage', [settled(call, outage)], 2],
    ['if one of its calls was no outage', [settled(call, outage), settled(call)], 3],
    ['if a call is still running', [{ call, status: { type: 'running' } }], 3],
  ])('%s', (_, calls, idle) => {
    expect(idleAfter(calls)).toBe(idle);
  });

  test('unless the model waited before it looked again, in this reply', () => {
    const seen = { call: 'c', result: 'r', summary: 's' };
    const { iterations } = fresh.counters;
    const waitedIn = (reply: number, waited?: true): RunState => ({
      ...fresh,
      guard: { ...fresh.guard, evidence: [{ ...seen, reply, ...(waited && { waited }) }] },
    });
    const calls = [settled(call)];
    expect(idleAfter(calls, waitedIn(iterations, true))).toBe(2);
    expect(idleAfter(calls, waitedIn(iterations))).toBe(3);
    expect(idleAfter(calls, waitedIn(iterations - 1, true))).toBe(3);
  });
});
