/** Whatever happens, in whatever order, a run keeps its promises. The driver checks round trip, ids, timers and wakes at each step. */
import { isDeepStrictEqual } from 'node:util';
import { isTripped } from '../../workflows/core/errors/circuit-breaker';
import { defaultCompaction } from '../../workflows/core/context/compaction-thresholds';
import type { CompactionTier } from '../../workflows/core/context/measure';
import type { RunState } from '../../workflows/core/run/state';
import type { RunCommand } from '../../workflows/core/run/protocol';
import { transition } from '../../workflows/core/run/transition';
import { noteProvenance } from '../../workflows/core/model-call/next-request';
import type { RandomRun } from '../support/random-runs';
import { playRun, randomRun, searchCap } from '../support/random-runs';
import { wireProblems } from '../support/wire-problems';
import { cases, fc } from '../support/properties';

/** Tiers as a run climbs them. */
const weakestFirst: readonly CompactionTier[] = [1, 3, 2, 4];

const runs = { ...cases(25), endOnFailure: true };

/** The same runs each time, so that what they contain does not depend on luck. */
test('random runs delegate, compact and roll over, so that the properties below test something', () => {
  const drivers = fc
    .sample(randomRun, { seed: 1, numRuns: 25 })
    .map((run) => playRun(run, { rollsOver: true }));
  const commands = drivers.flatMap((driver) => driver.commands);
  expect(commands.filter(({ type }) => type === 'run-subagent').length).toBeGreaterThan(5);
  expect(commands.filter(({ type }) => type === 'compact').length).toBeGreaterThan(10);
  expect(drivers.filter(({ rollOvers }) => rollOvers > 0).length).toBeGreaterThan(10);
});

describe('any run', () => {
  test('comes to an end that can be read, once', () => {
    fc.assert(
      fc.property(randomRun, (run) => {
        const driver = playRun(run, { rollsOver: true });
        const { outcome } = driver;
        const text = outcome.status === 'failed' ? outcome.message : 'readable';
        expect(text.trim()).not.toBe('');
        expect(driver.commands.filter((command) => command.type === 'end-run')).toHaveLength(1);
        expect(driver.entries.filter((entry) => entry.type === 'RunEndedEvent')).toHaveLength(1);
      }),
      runs,
    );
  });

  test('sends only requests that every wire takes, each call with its one result', () => {
    fc.assert(
      fc.property(randomRun, (run) => {
        for (const { messages } of playRun(run, { rollsOver: true }).requests)
          expect(wireProblems(messages)).toEqual([]);
      }),
      runs,
    );
  });

  test('never stores a note, and sends it once only', () => {
    fc.assert(
      fc.property(randomRun, (run) => {
        const { requests } = playRun(run);
        for (const { input, messages } of requests) {
          expect(JSON.stringify(messages)).not.toContain(noteProvenance);
          if (input.note !== undefined) expect(input.note).toContain(noteProvenance);
        }
      }),
      runs,
    );
  });

  test('passes no cap, whatever its subagents use up', () => {
    fc.assert(
      fc.property(randomRun, (run) => {
        const { limits } = run.snapshot;
        const check = ({ counters, guard }: RunState, commands: readonly RunCommand[]): void => {
          expect(guard.toolRuns['search'] ?? 0).toBeLessThanOrEqual(searchCap);
          expect(counters.iterations).toBeLessThanOrEqual(Math.max(limits.maxIterations, 0));
          expect(counters.toolCalls).toBeLessThanOrEqual(limits.maxToolCalls);
          if (commands.some((command) => command.type === 'call-model'))
            expect(counters.events).toBeLessThan(limits.maxEvents);
        };
        const driver = playRun(run, { rollsOver: true, watch: check });
        expect(new Set(driver.toolRuns.map((input) => input.toolCallId)).size).toBeLessThanOrEqual(
          driver.state.counters.toolCalls,
        );
      }),
      runs,
    );
  });

  test('compacts by a higher tier each time, or with another route, until the model replies', () => {
    fc.assert(
      fc.property(randomRun, (run) => {
        let asked: string[] = [];
        playRun(run, {
          rollsOver: true,
          watch: ({ context }, commands, event) => {
            if (event.type === 'model-call-completed' && event.result.stopReason !== 'context-full')
              asked = [];
            // The store is back: what it could not do is done again. Needless: nothing was done.
            const isUndone =
              event.type === 'compaction-failed'
                ? event.failure.code === 'store_unavailable'
                : event.type === 'compaction-completed' && event.result.isNeedless === true;
            if (isUndone) asked.pop();
            for (const command of commands) {
              if (command.type !== 'compact') continue;
              const { tier, trimTail = false, summary } = command.input;
              const request = JSON.stringify([tier, trimTail, summary?.routeIndex]);
              expect(asked).not.toContain(request);
              asked.push(request);
            }
            const { done } = context;
            const strengths = done
              .filter(({ trimmedTail }) => trimmedTail !== true)
              .map(({ tier }) => weakestFirst.indexOf(tier));
            expect(strengths).toEqual([...new Set(strengths)].sort());
            expect(done.length - strengths.length).toBeLessThanOrEqual(1);
            expect(done.length).toBeLessThanOrEqual(defaultCompaction.maxCompactions);
          },
        });
      }),
      runs,
    );
  });

  test('is tripped only at its end', () => {
    fc.assert(
      fc.property(randomRun, (run) => {
        playRun(run, {
          rollsOver: true,
          watch: ({ breaker, phase }) => {
            if (!isTripped(breaker)) return;
            expect(phase).toMatchObject({ outcome: { reason: 'circuit_breaker' } });
          },
        });
      }),
      runs,
    );
  });

  test('is deterministic: the same events give the same states and commands', () => {
    fc.assert(
      fc.property(randomRun, (run) => {
        const first = playRun(run, { rollsOver: true });
        const second = playRun(run, { rollsOver: true });
        expect(second.state).toEqual(first.state);
        expect(second.commands).toEqual(first.commands);
      }),
      cases(10),
    );
  });

  test('takes every event of another run, at any time and twice, without a throw', () => {
    fc.assert(
      fc.property(randomRun, randomRun, fc.infiniteStream(fc.nat()), (run, other, picks) => {
        const strange = playRun(other, { rollsOver: true }).events;
        playRun(run, {
          watch: (state) => {
            const event = strange[(picks.next().value ?? 0) % strange.length];
            if (event === undefined) return;
            const [once] = transition(state, event);
            const [twice] = transition(once, event);
            for (const after of [once, twice])
              if (!isDeepStrictEqual(JSON.parse(JSON.stringify(after)), after))
                expect(JSON.parse(JSON.stringify(after))).toStrictEqual(after);
          },
        });
      }),
      cases(15),
    );
  });
});

describe('a roll-over', () => {
  const forget = (state: RunState): unknown => ({
    ...state,
    counters: { ...state.counters, segments: 0 },
    guard: { ...state.guard, activeTimers: 0 },
  });

  /** Expiries and notifications run beside a run: which comes first of what lands in one moment may change with a roll-over. */
  const withoutRaces = (run: RandomRun): RandomRun => {
    const {
      approvals: _expiry,
      questions: _expires,
      notifiers: _beside,
      ...snapshot
    } = run.snapshot;
    return { ...run, snapshot, picks: [] };
  };

  test('changes nothing but the count of segments', () => {
    fc.assert(
      fc.property(randomRun.map(withoutRaces), (run) => {
        const whole = playRun(run);
        const parts = playRun(run, { rollsOver: true });
        const story = parts.entries.filter((entry) => entry.type !== 'SegmentStartedEvent');
        expect(story).toEqual(whole.entries);
        expect(forget(parts.state)).toEqual(forget(whole.state));
        expect(parts.requests).toEqual(whole.requests);
        expect(parts.state.counters.segments).toBe(1 + parts.rollOvers);
      }),
      runs,
    );
  });
});
