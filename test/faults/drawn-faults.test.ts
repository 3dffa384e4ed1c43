/** The faults that a seed draws: the same for the same seed, of every kind, and judged as they are declared. */
import { callFaultNames } from '../../bench/scorecard/conversation/call-faults';
import { drawFaults } from '../../bench/scorecard/conversation/draw-faults';
import type { DrawnFault } from '../../bench/scorecard/conversation/drawn-fault';
import { rightOf } from '../../bench/scorecard/conversation/judge-drawn';
import { toolFaultNames } from '../../bench/scorecard/conversation/tool-faults';
import { wilsonInterval } from '../../bench/wilson';

test('the same seed draws the same faults, another one others', () => {
  expect(drawFaults(300, 5)).toEqual(drawFaults(300, 5));
  expect(drawFaults(300, 5)).not.toEqual(drawFaults(300, 6));
});

test('each value of each dimension is drawn, and no place lies outside of its conversation', () => {
  const drawn = drawFaults(480, 19);
  expect(new Set(drawn.map(({ id }) => id)).size).toBe(480);
  const names = drawn.map(({ strike }) => (strike.type === 'overflow' ? 'overflow' : strike.name));
  expect(new Set(names)).toEqual(new Set([...callFaultNames, ...toolFaultNames, 'overflow']));
  expect(new Set(drawn.map(({ wire }) => wire)).size).toBe(3);
  expect(new Set(drawn.map(({ chain }) => chain)).size).toBe(3);
  expect(new Set(drawn.map(({ travel }) => travel)).size).toBe(4);
  expect(new Set(drawn.map(({ effect }) => effect)).size).toBe(4);
  expect(new Set(drawn.map(({ batches }) => batches.length)).size).toBe(6);
  for (const { place, batches, strike } of drawn)
    expect(place).toBeLessThan(batches.length + (strike.type === 'tool' ? 0 : 1));
});

describe('what is right', () => {
  const [first] = drawFaults(1, 1);
  const right = (change: Partial<DrawnFault>) => rightOf({ ...(first as DrawnFault), ...change });
  const call = (name: (typeof callFaultNames)[number], stays: 'once' | 'for all tries' = 'once') =>
    ({ type: 'call', name, stays }) as const;
  const tool = (name: (typeof toolFaultNames)[number], effect: DrawnFault['effect']) =>
    ({ type: 'tool', name, effect }) as const;

  test.each<[string, Partial<DrawnFault>, 'recovers' | 'stops', number]>([
    ['a retry', { strike: call('overloaded'), chain: 'one route' }, 'recovers', 1],
    [
      'all tries spent',
      { strike: call('overloaded', 'for all tries'), chain: 'one route' },
      'stops',
      3,
    ],
    [
      'a wait',
      { strike: call('overloaded', 'for all tries'), chain: 'one route that rests' },
      'recovers',
      3,
    ],
    ['a failover', { strike: call('wrong key'), chain: 'two routes' }, 'recovers', 1],
    ['no failover', { strike: call('wrong key'), chain: 'one route that rests' }, 'stops', 1],
    ['the model told', { strike: call('unknown tool'), chain: 'one route' }, 'recovers', 1],
    ['the model declining', { strike: call('refusal'), chain: 'two routes' }, 'stops', 1],
    ['a key', { strike: tool('connection lost before the effect', 'keyed') }, 'recovers', 0],
    [
      'a probe',
      { strike: tool('connection lost after the effect', 'reconcilable') },
      'recovers',
      0,
    ],
    [
      'no trace',
      { strike: tool('connection lost before the effect', 'irreversible') },
      'recovers',
      1,
    ],
    ['a service that is gone', { strike: tool('broken for good', 'read') }, 'stops', 0],
  ])('after %s', (_what, change, type, calls) => {
    expect(right(change)).toMatchObject({ type, calls });
  });
});

test.each([
  [0, 0, 0, 1],
  [10, 10, 0.7225, 1],
  [0, 10, 0, 0.2775],
  [50, 100, 0.4038, 0.5962],
])('the interval of %i of %i', (hits, count, low, high) => {
  const [from, to] = wilsonInterval(hits, count);
  expect(from).toBeCloseTo(low, 4);
  expect(to).toBeCloseTo(high, 4);
});
