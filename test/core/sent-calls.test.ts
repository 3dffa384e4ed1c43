/** What history has of calls and replies: the whole comes back, and nothing of the run's facts is repeated (ADR 0052). */
import type { CallModelInput, CallModelResult } from '../../workflows/core/model-call/ports';
import {
  idPrefixOf,
  sentModelCall,
  sentReply,
  wholeModelCall,
  wholeReply,
} from '../../workflows/core/model-call/sent-call';
import type { RunFacts } from '../../workflows/core/run/ports';
import { sentToolCall, toolCallIdOf, wholeToolCall } from '../../workflows/core/tools/lineage';
import type { RunToolInput } from '../../workflows/core/tools/ports';
import { aCall, aReply } from '../support/builders';
import { fc } from '../support/properties';

const facts: RunFacts = {
  storeId: 'the-store',
  definition: 'the-definition',
  runKey: 'wf-1/run-1',
  callers: [{ key: 'wf-0/run-0/x_3_0', iteration: 3 }],
  origins: [{ runKey: 'wf-9/run-9', iteration: 4 }],
};
const { storeId, definition, runKey, ...lineage } = facts;
const idPrefix = idPrefixOf(runKey);
const run = 'the-run';

/** As it is after a trip through history. */
function told<Value>(value: Value): Value {
  return JSON.parse(JSON.stringify(value)) as Value;
}

const iterations = fc.integer({ min: 1, max: 5_000 });
const ids = fc.oneof(
  fc.tuple(fc.constant(idPrefix), iterations, fc.nat(3)),
  fc.tuple(fc.constantFrom(`${idPrefix}_r1`, 'other', ''), iterations, fc.nat(3)),
);
const callIds = fc.oneof(
  ids.map(([prefix, iteration, index]) => toolCallIdOf({ idPrefix: prefix, iteration }, index)),
  fc.constantFrom('c', '', 'a_b_c'),
);

test('a tool call comes back whole, under its own key and iteration', () => {
  fc.assert(
    fc.property(callIds, iterations, (toolCallId, iteration) => {
      const input: RunToolInput = {
        storeId,
        definition,
        run,
        toolCallId,
        name: 'look',
        input: { n: 1 },
        idempotencyKey: `${runKey}/${toolCallId}`,
        lineage: { iteration, ...lineage },
      };
      const sent = told(sentToolCall(input));
      expect(JSON.stringify(sent)).not.toMatch(/the-store|the-definition|wf-/);
      expect('run' in sent && 'storeId' in sent).toBe(false);
      expect(wholeToolCall(sent as Parameters<typeof wholeToolCall>[0], facts)).toEqual(input);
    }),
  );
});

test('a model call comes back whole, whatever waits for it', () => {
  const pending = fc.record({
    toolCallId: callIds,
    name: fc.constant('look'),
    result: fc.constant('blob'),
    isError: fc.boolean(),
  });
  fc.assert(
    fc.property(
      iterations,
      fc.nat(2),
      fc.option(fc.array(pending, { minLength: 1, maxLength: 3 }), { nil: undefined }),
      (iteration, routeIndex, pendingResults) => {
        const input: CallModelInput = {
          storeId,
          definition,
          run,
          head: 'head',
          routeIndex,
          iteration,
          idPrefix,
          ...(pendingResults === undefined ? {} : { pendingResults }),
        };
        const sent = told(sentModelCall(input));
        expect(JSON.stringify(sent)).not.toMatch(/the-store|the-definition|wf-/);
        expect(wholeModelCall(sent as Parameters<typeof wholeModelCall>[0], facts)).toEqual(input);
      },
    ),
  );
});

test('a reply comes back whole', () => {
  const tokens = fc.constantFrom(0, 7, 1_000);
  const usage = fc.record({
    inputTokens: tokens,
    outputTokens: tokens,
    cacheReadTokens: tokens,
    cacheWriteTokens: tokens,
  });
  const estimated = fc.record({
    nanoUsd: tokens,
    tokens,
    mostNanoUsd: tokens,
    mostTokens: tokens,
  });
  const spend = fc.record({ usage, nanoUsd: tokens, estimated }, { requiredKeys: ['usage'] });
  const reply = fc.record({
    usage,
    stopReason: fc.constantFrom<CallModelResult['stopReason']>('end', 'tool-use', 'pause'),
    textPreview: fc.constantFrom('', 'so'),
    contextTokens: tokens,
    toolCalls: fc.array(
      callIds.map((toolCallId) => ({ ...aCall('look'), toolCallId })),
      { maxLength: 2 },
    ),
  });
  fc.assert(
    fc.property(
      reply,
      fc.option(spend, { nil: undefined }),
      iterations,
      (made, spent, iteration) => {
        const whole: CallModelResult = {
          ...aReply(),
          ...made,
          ...(spent === undefined ? {} : { spend: spent }),
        };
        const place = { idPrefix, iteration };
        expect(wholeReply(told(sentReply(whole, place)), place)).toEqual(whole);
        // A history may have it whole.
        expect(wholeReply(whole, place)).toEqual(whole);
      },
    ),
  );
});
