/** Loops are found by calls and results: any period up to six, and nothing that brings something new. */
import type { CallEvidence } from '../../workflows/core/guard/state';
import { addEvidence, findLoop, maxLoopPeriod } from '../../workflows/core/guard/loop-detector';
import { cases, fc } from '../support/properties';

function evidence(call: string, changes: Partial<CallEvidence> = {}): CallEvidence {
  return { call, result: `result of ${call}`, summary: call, reply: 0, ...changes };
}

/** Evidence of calls that are made one per reply. */
function gather(
  calls: readonly Partial<CallEvidence>[],
  seen: (evidence: readonly CallEvidence[], calls: number) => void = () => undefined,
): readonly CallEvidence[] {
  let all: readonly CallEvidence[] = [];
  calls.forEach((call, index) => {
    all = addEvidence(all, [evidence(call.call ?? 'c', { ...call, reply: index })]);
    seen(all, index + 1);
  });
  return all;
}

const cycle = (length: number, calls: readonly string[]): readonly Partial<CallEvidence>[] =>
  Array.from({ length }, (_, index) => ({ call: calls[index % calls.length] ?? '' }));

test.each([1, 2, 3, 4, 5, 6])(
  'finds a cycle of %i calls when it was seen three times',
  (period) => {
    const calls = ['a', 'b', 'c', 'd', 'e', 'f'].slice(0, period);
    expect(findLoop(gather(cycle(period * 3 - 1, calls)))).toBeUndefined();
    const loop = findLoop(gather(cycle(period * 3, calls)));
    expect(loop).toMatchObject({ period, repeats: 3, fails: false });
    expect(loop?.description).toContain('a (same result)');
  },
);

test('sees no cycle of seven calls', () => {
  expect(findLoop(gather(cycle(70, ['a', 'b', 'c', 'd', 'e', 'f', 'g'])))).toBeUndefined();
});

test('takes the order within a round as it comes', () => {
  const shuffled = ['a', 'b', 'b', 'a', 'a', 'b', 'a', 'b'];
  expect(findLoop(gather(shuffled.map((call) => ({ call }))))).toMatchObject({
    period: 2,
    repeats: 4,
  });
});

test('counts equal calls of one reply once', () => {
  const once = addEvidence([], [evidence('a'), evidence('a'), evidence('a'), evidence('a')]);
  expect(once).toHaveLength(1);
});

test('finds a reply of many parallel calls that comes again and again', () => {
  let all: readonly CallEvidence[] = [];
  for (let reply = 0; reply < 4; reply += 1) {
    const calls = Array.from({ length: 40 }, (_, index) => evidence(`read ${index}`, { reply }));
    all = addEvidence(all, reply % 2 === 0 ? calls : calls.reverse());
  }
  expect(findLoop(all)).toMatchObject({ period: 1, repeats: 4 });
});

test('finds alternating replies whose calls are more than a round of calls may hold', () => {
  let all: readonly CallEvidence[] = [];
  for (let reply = 0; reply < 8; reply += 1) {
    const size = reply % 2 === 0 ? 3 : 4;
    const calls = Array.from({ length: size }, (_, at) => evidence(`${size}.${at}`, { reply }));
    all = addEvidence(all, calls);
  }
  expect(findLoop(all)).toMatchObject({ period: 2, repeats: 4 });
});

test('takes a poll that brings something new for no loop', () => {
  const poll = Array.from({ length: 40 }, (_, index) => ({ call: 'status', result: `${index} %` }));
  expect(findLoop(gather(poll))).toBeUndefined();
});

test('takes moved windows for a loop where the result is the same, or mostly the same lines', () => {
  const sketch = (from: number): readonly string[] =>
    Array.from({ length: 12 }, (_, index) => String(from + index).padStart(4, '0'));
  const window = { window: 'read a.ts' };
  const windows = (step: number): readonly Partial<CallEvidence>[] =>
    Array.from({ length: 4 }, (_, index) => ({
      call: `read a.ts from ${index}`,
      alike: window,
      result: `lines ${index}`,
      sketch: sketch(index * step),
    }));
  expect(findLoop(gather(windows(1)))).toMatchObject({ period: 1, repeats: 4 });
  expect(findLoop(gather(windows(12)))).toBeUndefined();
  const empty = windows(12).map((call) => ({ ...call, result: 'nothing more' }));
  expect(findLoop(gather(empty))).toMatchObject({ repeats: 4 });
});

test('takes different attempts at one target for a loop only while they fail alike', () => {
  const attempts = (changes: (index: number) => Partial<CallEvidence>) =>
    Array.from({ length: 5 }, (_, index) => ({
      call: `edit ${index}`,
      alike: { target: 'edit a.ts' },
      result: 'not found',
      ...changes(index),
    }));
  const failing = { failed: 'tool_execution_failed' };
  expect(findLoop(gather(attempts(() => failing)))).toMatchObject({ repeats: 5, fails: true });
  expect(findLoop(gather(attempts(() => ({}))))).toBeUndefined();
  const otherErrors = attempts((index) => ({ ...failing, result: `error ${index}` }));
  expect(findLoop(gather(otherErrors))).toBeUndefined();
});

test('lets rounds weigh less that are spaced with waits, or alike only in their gist', () => {
  const waited = Array.from({ length: 20 }, () => ({ call: 'status', waited: true as const }));
  expect(findLoop(gather(waited.slice(0, 14)))).toBeUndefined();
  expect(findLoop(gather(waited))).toMatchObject({ repeats: 4 });
  const gist = Array.from({ length: 12 }, (_, index) => ({
    call: `echo, mood ${index}`,
    alike: { gist: 'echo' },
    result: 'noop',
  }));
  expect(findLoop(gather(gist.slice(0, 8)))).toBeUndefined();
  expect(findLoop(gather(gist))).toMatchObject({ repeats: 4 });
});

const word = fc.string({ minLength: 1, maxLength: 6 });

test('never takes a run of distinct results for a loop', () => {
  const run = fc.uniqueArray(word, { minLength: 1, maxLength: 60 });
  const calls = fc.array(word, { minLength: 1, maxLength: 3 });
  fc.assert(
    fc.property(run, calls, (results, names) => {
      const made = results.map((result, index) => ({
        call: names[index % names.length] ?? '',
        alike: { window: 'w', gist: 'g', target: 't' },
        result,
      }));
      gather(made, (all) => {
        expect(findLoop(all, 2)).toBeUndefined();
      });
    }),
    cases(200),
  );
});

test('catches every periodic run within four periods, whatever came before', () => {
  const round = fc.array(word, { minLength: 1, maxLength: maxLoopPeriod });
  fc.assert(
    fc.property(fc.array(word, { maxLength: 30 }), round, (before, calls) => {
      const made = [
        ...before.map((call) => ({ call: `before ${call}` })),
        ...cycle(calls.length * 4, calls),
      ];
      const loop = findLoop(gather(made), 4);
      expect(loop?.repeats).toBeGreaterThanOrEqual(4);
      expect(loop?.period).toBeLessThanOrEqual(calls.length);
    }),
    cases(300),
  );
});

test('stays bounded, and finds a cycle all the same', () => {
  const all = gather(cycle(2_000, ['a', 'b', 'c', 'd', 'e', 'f']));
  expect(all.length).toBeLessThan(100);
  expect(findLoop(all, 16)).toMatchObject({ period: 6, repeats: 16 });
});

describe('the identity of a loop, by which the model is warned of it once,', () => {
  const identityOf = (calls: readonly Partial<CallEvidence>[]): string | undefined =>
    findLoop(gather(Array.from({ length: 16 }, () => calls).flat()))?.identity;
  const [a, b] = [{ call: 'a' }, { call: 'b' }];

  test('is that of its calls, in whatever order', () => {
    expect(identityOf([a])).toBeDefined();
    expect(identityOf([a])).not.toBe(identityOf([b]));
    expect(identityOf([a, b])).toBe(identityOf([b, a]));
    expect(identityOf([a, b])).not.toBe(identityOf([a]));
  });

  test('is that of the window of calls that work, and of the target of calls that fail', () => {
    const works = (call: string) => ({ call, alike: { window: 'w', target: call } });
    const fails = (call: string) => ({ call, failed: 'x', alike: { window: call, target: 't' } });
    expect(identityOf([works('a')])).toBe(identityOf([works('b')]));
    expect(identityOf([fails('a')])).toBe(identityOf([fails('b')]));
    expect(identityOf([works('a')])).not.toBe(identityOf([{ ...works('a'), failed: 'x' }]));
  });
});
