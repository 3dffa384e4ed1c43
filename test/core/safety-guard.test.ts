/** Caps hold at their value, and the forced stop has its fixed form (R-GUARD-7). */
import {
  forcedStopMessage,
  guardBeforeCall,
  guardBeforeIteration,
  guardBeforeTools,
} from '../../workflows/core/guard/hard-limits';
import { aLimits, aPreparedRun } from '../support/builders';

const counters = { ...aPreparedRun().counters, events: 1_247, toolCalls: 400, iterations: 9 };
const limits = aLimits();

test('says what was reached, with counters and time (R-GUARD-7)', () => {
  expect(forcedStopMessage('reached maximum of 400 tool invocations', counters, 443_000)).toBe(
    'Forced stop: reached maximum of 400 tool invocations.\nEvents processed: 1,247 | Tool calls: 400 | Elapsed: 7m 23s.\nPlease review the work completed so far.',
  );
});

test('lets through what is below each cap and stops at it', () => {
  expect(guardBeforeIteration(limits, counters, 0)).toBeUndefined();
  const at = { ...counters, iterations: 10 };
  expect(guardBeforeIteration(limits, at, 0)?.reason).toBe('max_iterations');
  expect(guardBeforeCall(limits, { ...counters, events: 2_000 }, 0)?.reason).toBe('guard_events');
  expect(guardBeforeCall(limits, counters, 600_000)?.reason).toBe('guard_active_time');
  expect(guardBeforeCall(limits, counters, 599_999)).toBeUndefined();
  expect(guardBeforeTools(limits, { ...counters, toolCalls: 399 }, 0, 1)).toBeUndefined();
  expect(guardBeforeTools(limits, counters, 0, 1)?.reason).toBe('guard_tool_calls');
});
