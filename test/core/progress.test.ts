/** Progress: what is news, when a run is stuck, and that a run which gets on never is. */
import {
  correctPath,
  newsIdentity,
  recount,
  rememberFailure,
  rememberSuccess,
} from '../../workflows/core/recovery/memory';
import { initialProgress } from '../../workflows/core/recovery/state';
import type { ExecutionMemory, ProgressState } from '../../workflows/core/recovery/state';
import {
  endStep,
  estimateProgress,
  noteFailure,
  noteSuccess,
  restartCount,
} from '../../workflows/core/recovery/progress';
import { stuckReason } from '../../workflows/core/recovery/stuck';
import { anAgentError } from '../support/builders';
import { fc } from '../support/properties';

function succeed(state: ProgressState, preview: string, tool = 'read'): ProgressState {
  return endStep(
    noteSuccess(state, { tool, summary: tool, preview, fingerprint: preview, toolCallId: preview }),
  );
}

function fail(state: ProgressState, message: string, toolName = 'read'): ProgressState {
  return endStep(noteFailure(state, anAgentError({ message, toolName }), { path: 'a.ts' }));
}

function times(count: number, state: ProgressState, next: typeof step): ProgressState {
  let current = state;
  for (let index = 0; index < count; index += 1) current = next(current);
  return current;
}
const step = (state: ProgressState): ProgressState => succeed(state, 'the same');

test('three steps without anything new are stuck, two are not', () => {
  const first = succeed(initialProgress, 'the same');
  expect(stuckReason(times(2, first, step), undefined)).toBeUndefined();
  expect(stuckReason(times(3, first, step), undefined)).toMatchObject({ code: 'no_progress' });
});

test('one error of one tool in three steps is a blocker, whatever else works', () => {
  let state = initialProgress;
  for (const news of ['a', 'b', 'c']) state = succeed(fail(state, 'no such file'), news, 'search');
  expect(stuckReason(state, undefined)?.reason).toContain('read failed: tool_execution_failed');
  expect(estimateProgress(state, undefined)).toMatchObject({
    isStuck: true,
    blockers: ['read failed: tool_execution_failed: no such file'],
  });
  expect(stuckReason(restartCount(state), undefined)).toBeUndefined();
});

test('few new things over many steps are low progress', () => {
  let state = initialProgress;
  for (let round = 1; round <= 4; round += 1)
    state = times(2, succeed(state, `news ${round}`), (before) => succeed(before, 'news 1'));
  expect(stuckReason(state, undefined)).toBeUndefined();
  state = times(2, succeed(state, 'news 5'), (before) => succeed(before, 'news 1'));
  expect(stuckReason(state, undefined)).toMatchObject({ code: 'low_progress' });
});

test('a loop is stuck at once, and its description is a blocker', () => {
  const state = succeed(initialProgress, 'a');
  const loop = { description: 'read a.ts (same result)', period: 1 };
  expect(stuckReason(state, loop)).toMatchObject({ code: 'loop' });
  expect(estimateProgress(state, loop)).toMatchObject({
    isStuck: true,
    nextMilestone: 'Break the loop.',
    blockers: ['read a.ts (same result)'],
  });
});

test('what a model names as a blocker makes a run stuck until it is dealt with, and stays with the estimate', () => {
  const named = {
    progressPercent: 40,
    reasoning: 'It waits for a key.',
    nextMilestone: 'The deploy.',
    blockers: ['the deploy key is missing'],
    isStuck: false,
  };
  const state = { ...succeed(initialProgress, 'a'), modelEstimate: named };
  expect(stuckReason(state, undefined)).toMatchObject({
    code: 'no_progress',
    reason: expect.stringContaining('the deploy key is missing') as string,
  });
  expect(stuckReason(succeed(state, 'b'), undefined)).toBeDefined();
  const failed = fail(state, 'no such file');
  expect(estimateProgress(failed, undefined)).toMatchObject({
    progressPercent: 40,
    isStuck: true,
    blockers: ['the deploy key is missing', 'read failed: tool_execution_failed: no such file'],
  });
  const handled = restartCount(state);
  expect(stuckReason(handled, undefined)).toBeUndefined();
  expect(estimateProgress(handled, undefined)).toEqual(named);
  const next = { ...handled, modelEstimate: { ...named, blockers: [], isStuck: true } };
  expect(stuckReason(next, undefined)).toMatchObject({ reason: named.reasoning });
});

test('waits and outages make no run stuck', () => {
  const waited = times(9, succeed(initialProgress, 'a'), (state) => endStep(state, true));
  expect(stuckReason(waited, undefined)).toBeUndefined();
});

test('polling that goes on is news, polling that counts its tries is not', () => {
  const poll = (preview: string): string => newsIdentity({ preview, fingerprint: 'f' });
  expect(poll('build: 12 % done')).not.toBe(poll('build: 34 % done'));
  expect(poll('3 of 9 files')).not.toBe(poll('4 of 9 files'));
  expect(poll('pending, attempt 3 of 9')).toBe(poll('pending, attempt 4 of 9'));
});

test('a run that gets something new at least every second step is never stuck, and its percentage only grows', () => {
  fc.assert(
    fc.property(
      fc.array(fc.tuple(fc.nat({ max: 1 }), fc.boolean()), { maxLength: 60 }),
      (rounds) => {
        let state = initialProgress;
        let percent = 0;
        rounds.forEach(([idle, fails], round) => {
          state = times(idle, state, (before) =>
            fails ? fail(before, `trouble ${round}`) : succeed(before, 'nothing'),
          );
          expect(stuckReason(state, undefined)).toBeUndefined();
          state = succeed(state, `news ${round}`);
          const estimate = estimateProgress(state, undefined);
          expect(estimate.isStuck).toBe(false);
          expect(estimate.progressPercent).toBeGreaterThanOrEqual(percent);
          expect(estimate.progressPercent).toBeLessThan(100);
          percent = estimate.progressPercent;
        });
      },
    ),
  );
});

function found(
  memory: ExecutionMemory,
  paths: readonly string[],
  toolCallId = 'c',
): ExecutionMemory {
  return rememberSuccess(memory, {
    tool: 'search',
    summary: 's'.repeat(50),
    preview: 'src/cut/from-a-preview.ts:1: x',
    fingerprint: toolCallId,
    toolCallId,
    result: `result-of-${toolCallId}`,
    findings: {
      paths: paths.map((path, at) => ({ path, line: at + 1 })),
      facts: paths.slice(0, 4),
    },
  }).memory;
}

test('memory stays bounded, and finds the only full path that a short name may mean, with its origin', () => {
  let { memory } = initialProgress;
  for (let index = 0; index < 500; index += 1)
    memory = found(memory, ['README.md', `src/f${index}/file${index}.ts`], `c${index}`);
  expect(JSON.stringify(memory).length).toBeLessThan(16_000);
  expect(JSON.stringify(memory)).not.toContain('preview');
  expect(correctPath(memory, { path: 'file499.ts' })).toEqual({
    path: 'src/f499/file499.ts',
    input: { path: 'src/f499/file499.ts' },
    origin: {
      parameter: 'path',
      instead: 'file499.ts',
      toolCallId: 'c499',
      result: 'result-of-c499',
      line: 2,
    },
  });
  expect(correctPath(memory, { path: 'src/f499/file499.ts:1' })?.path).toBe('src/f499/file499.ts');
  expect(correctPath(memory, { path: 'src/f499/file499.ts' })).toBeUndefined();
  expect(correctPath(memory, { path: 'other.ts' })).toBeUndefined();
  expect(memory.files.filter(({ path }) => path === 'README.md')).toMatchObject([
    { toolCallId: 'c499' },
  ]);
});

test.each([
  [['a/x.ts', 'b/x.ts'], 'x.ts', undefined],
  [['./a/x.ts', 'a/x.ts'], 'x.ts', 'a/x.ts'],
  [['a\\x.ts'], 'x.ts', 'a\\x.ts'],
  [['my notes/x y.ts', 'notes/z.ts'], 'x y.ts', 'my notes/x y.ts'],
  [['a/x.ts', 'b/a/x.ts'], 'a/x.ts:3', undefined],
  [['ab/x.ts'], 'b/x.ts', 'ab/x.ts'],
  [['a/x.ts'], '', undefined],
])('of %j, %j means %j', (paths, value, meant) => {
  expect(correctPath(found(initialProgress.memory, paths), { path: value })?.path).toBe(meant);
});

test.each([
  ['12 % done', '34 % done', true],
  ['3 of 10 files', '4 of 10 files', true],
  ['3/10 files', '4/10 files', true],
  ['1.5 % done', '2.5 % done', true],
  ['attempt 1 of 3', 'attempt 2 of 3', false],
  ['retries: 1/3', 'retries: 2/3', false],
  ['row 1', 'row 2', false],
  ['a of b', 'c of d', false],
])('"%s" and then "%s" is news: %s', (before, after, isNews) => {
  const identity = (preview: string): string => newsIdentity({ preview, fingerprint: 'same' });
  expect(identity(before) !== identity(after)).toBe(isNews);
});

describe('what is remembered of a success', () => {
  const { memory: empty } = initialProgress;
  const success = {
    ...{ tool: 'write', summary: 'wrote a.ts', preview: 'ok', fingerprint: 'f1' },
    ...{ toolCallId: 'c1', effect: 'e1', file: 'a.ts' },
  };

  test('is what is new in it', () => {
    const first = rememberSuccess(empty, success);
    expect(first.gains).toEqual(['new information', 'a new effect', 'new file a.ts']);
    expect(first.memory).toEqual({
      ...empty,
      files: [{ path: 'a.ts', toolCallId: 'c1' }],
      seen: ['f1'],
      effects: ['e1'],
      completedSteps: ['wrote a.ts'],
    });
    const second = rememberSuccess(first.memory, success);
    expect(second.gains).toEqual([]);
    expect(second.memory.completedSteps).toEqual(['wrote a.ts', 'wrote a.ts']);
    expect(second.memory.files).toHaveLength(1);
  });

  test('names no file and no effect of a call that has none', () => {
    const { effect: _, file: __, ...read } = success;
    const { memory, gains } = rememberSuccess(empty, read);
    expect(gains).toEqual(['new information']);
    expect(memory).toMatchObject({ files: [], effects: [] });
  });

  test('is where paths of its stored output come from, the newest last', () => {
    const findings = {
      facts: ['port 8080'],
      paths: [
        { path: 'b.ts', line: 1 },
        { path: 'a.ts', line: 2 },
      ],
    };
    const known = rememberSuccess(empty, success).memory;
    const read = { ...success, toolCallId: 'c2', fingerprint: 'f2', findings };
    const { file: _, ...listing } = read;
    const { memory } = rememberSuccess(known, { ...listing, result: 'r2' });
    expect(memory.facts).toEqual(['port 8080']);
    expect(memory.files).toEqual([
      { path: 'b.ts', line: 1, toolCallId: 'c2', result: 'r2' },
      { path: 'a.ts', line: 2, toolCallId: 'c2', result: 'r2' },
    ]);
    expect(rememberSuccess(known, listing).memory.files).toEqual(known.files);
  });

  test("clears the tool's failures, and only those", () => {
    const failed = [
      anAgentError({ toolName: 'write', message: 'full' }),
      anAgentError({ toolName: 'read', message: 'gone' }),
    ].reduce((memory, error) => rememberFailure(memory, error, {}, 1), empty);
    const { memory, gains } = rememberSuccess(failed, success);
    expect(gains).toContain('write works again');
    expect(memory.failures.map(({ tool }) => tool)).toEqual(['read']);
  });
});

describe('what is remembered of a failure', () => {
  const { memory: empty } = initialProgress;
  const error = anAgentError({ toolName: 'read', message: 'no file 17', hint: 'list first' });
  const counts = (memory: ExecutionMemory): readonly (readonly [string, number, number])[] =>
    memory.failures.map(({ tool, times: count, lastStep }) => [tool, count, lastStep]);

  test('is its tool, code, message, hint and input', () => {
    expect(rememberFailure(empty, error, { path: 'a' }, 3).failures).toEqual([
      {
        ...{ tool: 'read', code: error.code, message: 'no file 17', hint: 'list first' },
        ...{ input: { path: 'a' }, times: 1, lastStep: 3 },
      },
    ]);
    const [large] = rememberFailure(empty, error, { path: 'a'.repeat(10_000) }, 3).failures;
    expect(large).not.toHaveProperty('input');
  });

  test('counts once a step', () => {
    const once = rememberFailure(empty, error, {}, 1);
    expect(counts(rememberFailure(once, error, {}, 1))).toEqual([['read', 1, 1]]);
    expect(counts(rememberFailure(once, error, {}, 2))).toEqual([['read', 2, 2]]);
  });

  test.each([
    ['tool', { toolName: 'list' }],
    ['code', { code: 'tool_timeout' as const }],
    ['message', { message: 'no such key' }],
  ])('is another one with another %s', (_, change) => {
    const once = rememberFailure(empty, error, {}, 1);
    expect(rememberFailure(once, { ...error, ...change }, {}, 2).failures).toHaveLength(2);
  });

  test('is forgotten after many steps without it', () => {
    const once = rememberFailure(empty, error, {}, 1);
    const other = anAgentError({ toolName: 'list', message: 'broken' });
    expect(rememberFailure(once, other, {}, 1_000).failures).toHaveLength(1);
    expect(recount(once).failures).toMatchObject([{ tool: 'read', times: 0 }]);
  });
});
