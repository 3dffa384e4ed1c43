/** The ring of five (R-BREAKER-1), on its own and in whole runs. */
import type { CircuitBreakerState } from '../../workflows/core/errors/circuit-breaker';
import {
  initialCircuitBreaker,
  isTripped,
  trackError,
} from '../../workflows/core/errors/circuit-breaker';
import { aLimits, aSnapshot, anAgentError, anInfraError } from '../support/builders';
import type { RunDriver, ScriptedToolResult } from '../support/run-driver';
import type { ScriptedReply } from '../support/scripted-reply';
import { drive } from '../support/run-driver';
import { cases, fc } from '../support/properties';

const track = (...errors: readonly string[]): CircuitBreakerState =>
  errors.reduce(trackError, initialCircuitBreaker);
const same = (count: number): string[] => Array.from({ length: count }, () => 'no tool call');

const divide: ScriptedReply = { calls: [{ name: 'calculator', input: { a: 100, b: 0 } }] };
const fails = (message: string): ScriptedToolResult => ({ error: anAgentError({ message }) });

/** A run whose tool gives these results, one per iteration, and whose model then answers. */
const runWith = (results: readonly ScriptedToolResult[]): RunDriver =>
  drive([...results.map(() => divide), { text: 'I cannot divide by zero.' }], {
    // No loop ends the run before the breaker.
    prepare: () => aSnapshot({ limits: aLimits({ maxIterations: 20, maxSameCalls: 20 }) }),
    tool: (_input, call) => results[call - 1] ?? { output: 'ok' },
  });

describe('TestErrorTracking', () => {
  test('TracksSingleError', () => {
    expect(track('one').ring).toEqual(['one']);
    expect(isTripped(track('one'))).toBe(false);
    expect(runWith([fails('one')]).state.phase.type).toBe('ended');
    expect(runWith([fails('one')]).outcome.status).toBe('completed');
  });

  test('TracksMultipleDifferentErrors', () => {
    const different = ['a', 'b', 'c', 'd', 'e', 'f'];
    expect(isTripped(track(...different))).toBe(false);
    expect(track(...different).ring).toHaveLength(5);
    expect(runWith(different.map((name) => fails(name))).outcome.status).toBe('completed');
    expect(isTripped(track(...same(4), 'another', ...same(4)))).toBe(false);
  });

  test('TriggersCircuitBreakerOn5IdenticalErrors', () => {
    expect(isTripped(track(...same(5)))).toBe(true);
    const run = runWith(Array.from({ length: 9 }, () => fails('division by zero')));
    expect(run.outcome).toMatchObject({
      status: 'failed',
      reason: 'circuit_breaker',
      message: expect.stringContaining('division by zero') as string,
      report: { iterations: 5, toolCallsFailed: 5, worked: [] },
    });
    expect(run.requests).toHaveLength(5);
  });

  test('ResetsAfterSuccessfulIteration', () => {
    expect(initialCircuitBreaker.ring).toEqual([]);
    const four = Array.from({ length: 4 }, () => fails('division by zero'));
    const run = runWith([...four, { output: 'ok' }, ...four]);
    expect(run.outcome).toMatchObject({ status: 'completed', report: { iterations: 10 } });
    expect(run.state.breaker.ring).toEqual([]);
    expect(run.state.healed).toEqual({ tool_execution_failed: 1 });
  });

  test('CircuitBreakerRequiresAllFiveSlotsFilled', () => {
    for (const count of [0, 1, 2, 3, 4]) expect(isTripped(track(...same(count)))).toBe(false);
    const four = Array.from({ length: 4 }, () => fails('division by zero'));
    expect(runWith(four).outcome.status).toBe('completed');
  });
});

describe('the breaker', () => {
  test('is not defeated by a clock, an id or a counter in the text', () => {
    const results = [1, 2, 3, 4, 5].map((n) =>
      fails(`12:00:0${n} request req_011CTESTaaaabbbb${n}000 failed, attempt ${n}`),
    );
    expect(runWith(results).outcome).toMatchObject({ reason: 'circuit_breaker' });
  });

  test('is not opened by different status codes', () => {
    const results = [400, 403, 404, 409, 500].map((status) => fails(`HTTP ${status}`));
    expect(runWith(results).outcome.status).toBe('completed');
  });

  test('takes the same mistake of parallel calls as one', () => {
    const parallel: ScriptedReply = {
      calls: Array.from({ length: 64 }, () => ({ name: 'search' })),
    };
    const run = drive([parallel, { text: 'sorry' }], { tool: () => fails('no index') });
    expect(run.outcome.status).toBe('completed');
    expect(run.toolRuns).toHaveLength(64);
  });

  test('does not count an error beside which another call succeeded', () => {
    const both: ScriptedReply = { calls: [{ name: 'search' }, { name: 'calculator' }] };
    const run = drive([both, divide, divide, divide, divide, { text: 'sorry' }], {
      tool: ({ name }) => (name === 'search' ? { output: 'ok' } : fails('division by zero')),
    });
    expect(run.outcome.status).toBe('completed');
  });

  test('never counts failures of providers', () => {
    const down = Array.from({ length: 6 }, () => anInfraError('overloaded'));
    const run = drive([...down, { text: 'done' }]);
    expect(run.outcome.status).toBe('completed');
    expect(run.state.breaker.ring).toEqual([]);
  });

  test('trips exactly when the last five errors are equal with no success between', () => {
    const fact = fc.constantFrom('a', 'b', 'success');
    fc.assert(
      fc.property(fc.array(fact, { maxLength: 14 }), (facts) => {
        const tail: string[] = [];
        let opensAt: number | undefined;
        facts.forEach((item, index) => {
          if (item === 'success') tail.length = 0;
          else tail.push(item);
          const five = tail.slice(-5);
          if (opensAt === undefined && five.length === 5 && new Set(five).size === 1)
            opensAt = index + 1;
        });
        const run = runWith(
          facts.map((item) => (item === 'success' ? { output: 'ok' } : fails(item))),
        );
        expect(run.outcome).toMatchObject(
          opensAt === undefined
            ? { status: 'completed' }
            : { reason: 'circuit_breaker', report: { iterations: opensAt } },
        );
      }),
      cases(60),
    );
  });
});
