/** Caps hold at their value, and the forced stop has its fixed form (R-GUARD-7). */
import {
  forcedStop,
  guardBeforeCall,
  guardBeforeIteration,
  guardBeforeTools,
} from '../../workflows/core/guard/hard-limits';
import { aPreparedRun } from '../support/builders';

const run = aPreparedRun();
const counted = (counters: Partial<typeof run.counters>, activeMs = 0): typeof run => ({
  ...run,
  counters: { ...run.counters, events: 1_247, toolCalls: 400, iterations: 9, ...counters },
  activeMs,
});

test('says what was reached, with counters and time (R-GUARD-7)', () => {
  const what = 'reached maximum of 400 tool invocations';
  expect(forcedStop(counted({}, 443_000), 'guard_tool_calls', what).message).toBe(
    'Forced stop: reached maximum of 400 tool invocations.\nEvents processed: 1,247 | Tool calls: 400 | Elapsed: 7m 23s.\nPlease review the work completed so far.',
  );
});

test('lets through what is below each cap and stops at it', () => {
  expect(guardBeforeIteration(counted({}))).toBeUndefined();
  expect(guardBeforeIteration(counted({ iterations: 10 }))?.reason).toBe('max_iterations');
  expect(guardBeforeCall(counted({ events: 2_000 }))?.reason).toBe('guard_events');
  expect(guardBeforeCall(counted({}, 600_000))?.reason).toBe('guard_active_time');
  expect(guardBeforeCall(counted({}, 599_999))).toBeUndefined();
  expect(guardBeforeTools(counted({ toolCalls: 399 }), 1)).toBeUndefined();
  expect(guardBeforeTools(counted({}), 1)?.reason).toBe('guard_tool_calls');
});
