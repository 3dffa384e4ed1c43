/** A reply that arrived whole: what of it is charged, told once, and remembered for the next request. */
import { routeName } from '../../workflows/core/failover/provider-health';
import {
  keepReply,
  lowerOutput,
  raiseOutput,
  takeReply,
  windowFull,
} from '../../workflows/core/model-call/reply';
import type { CallModelResult } from '../../workflows/core/model-call/ports';
import { noUsage } from '../../workflows/core/budget/spend';
import type { RunState } from '../../workflows/core/run/state';
import { aPreparedRun, aReply, aRoute, aToolReply, aCall, startMs } from '../support/builders';

const route = aRoute({ windowTokens: 100_000, maxOutputTokens: 8_000 });
const other = aRoute({ provider: 'beta' });
const [name, otherName] = [routeName(route), routeName(other)];
const fresh = aPreparedRun({ chain: [route, other] });
const usage = { ...noUsage, inputTokens: 100, outputTokens: 10 };

/** The state after a reply, and what people read of it. */
function reply(state: RunState, changes: Partial<CallModelResult>, routeIndex = 0) {
  const call = { type: 'calling-model', callId: 'm1', routeIndex, sentTexts: 0 } as const;
  const { state: after, commands } = takeReply(state, call, aReply({ usage, ...changes }), startMs);
  const entries = commands.flatMap((each) => (each.type === 'publish' ? [each.entry] : []));
  const of = (type: string) => entries.filter((entry) => entry.type === type);
  return { after, of };
}

test('people read the text, the calls, the tokens, and what was paid or cached, if anything was', () => {
  const calls = aToolReply([aCall('c1'), aCall('c2', { name: 'calculator' })]).toolCalls;
  const plain = reply(fresh, { toolCalls: calls, contextTokens: 200 });
  expect(plain.of('ModelRepliedEvent')).toEqual([
    { type: 'ModelRepliedEvent', text: 'done', toolCalls: ['search', 'calculator'], tokens: 210 },
  ]);
  const cached = { ...usage, cacheReadTokens: 300 };
  const spend = { usage: cached, nanoUsd: 2_000_000 };
  expect(reply(fresh, { usage: cached, spend }).of('ModelRepliedEvent')).toMatchObject([
    { cachedShare: 0.75, usd: 0.002 },
  ]);
  const free = reply(fresh, { spend: { usage, nanoUsd: 0 } });
  expect(free.of('ModelRepliedEvent')[0]).not.toHaveProperty('usd');
  expect(free.of('ModelRepliedEvent')[0]).not.toHaveProperty('cachedShare');
});

test('what a retry or another route healed is told with what healed it', () => {
  const failed = { ...fresh, failedOver: ['overloaded'] };
  const { after, of } = reply(failed, { healedRetries: ['stream_stalled'] }, 1);
  expect(of('HealedEvent')).toMatchObject([
    { code: 'stream_stalled', by: 'retry', how: 'the call was retried on the same route' },
    { code: 'overloaded', by: 'failover', how: `${otherName} answered` },
  ]);
  expect(after.failedOver).toEqual([]);
  expect(after.healed).toEqual({ overloaded: 1, stream_stalled: 1 });
});

test('the newest text stays, also over a reply without one', () => {
  const { after } = reply(fresh, { textPreview: 'first' });
  expect(after.lastText).toBe('first');
  expect(reply(after, { textPreview: '' }).after.lastText).toBe('first');
  const kept = keepReply(after, 'm2', aReply({ textPreview: 'last', usage }), 0);
  expect(kept.lastText).toBe('last');
  expect(kept.usage.outputTokens).toBe(20);
  expect(keepReply(after, 'm2', aReply({ textPreview: '' }), 0).lastText).toBe('first');
});

test('a conversation near its window is told once, and again after it was smaller', () => {
  const warned = reply(fresh, { contextTokens: 90_000 });
  expect(warned.of('ContextWarningEvent')).toEqual([
    { type: 'ContextWarningEvent', tokens: 90_000, windowTokens: 100_000 },
  ]);
  expect(warned.after.context.warned).toBe(true);
  expect(reply(warned.after, { contextTokens: 91_000 }).of('ContextWarningEvent')).toEqual([]);
  const smaller = reply(warned.after, { contextTokens: 100 });
  expect(smaller.of('ContextWarningEvent')).toEqual([]);
  expect(smaller.after.context.warned).toBe(false);
  expect(reply(smaller.after, { contextTokens: 90_000 }).of('ContextWarningEvent')).toHaveLength(1);
});

test('a server that cuts prompts is told once per route', () => {
  const cut = { cutToTokens: 4_000, contextTokens: 9_000 };
  const first = reply(fresh, cut);
  expect(first.of('PromptCutEvent')).toEqual([
    { type: 'PromptCutEvent', route: name, countedTokens: 4_000, measuredTokens: 9_000 },
  ]);
  expect(JSON.stringify(first.after.advice)).toContain(
    'counts 4000 tokens of a request of about 9000',
  );
  const second = reply(first.after, cut);
  expect(second.of('PromptCutEvent')).toEqual([]);
  const third = reply(second.after, cut, 1);
  expect(third.of('PromptCutEvent')).toHaveLength(1);
  expect(third.after.context.cutting).toEqual([name, otherName]);
  expect(reply(fresh, {}).after.context).not.toHaveProperty('cutting');
});

test('files that a model did not get are told again for other files, another model, or after a whole request', () => {
  const leftOut = { mediaLeftOut: ['image 1: a.png'] };
  const first = reply(fresh, leftOut);
  expect(first.of('MediaLeftOutEvent')).toEqual([
    { type: 'MediaLeftOutEvent', route: name, media: ['image 1: a.png'] },
  ]);
  const again = (changes: Partial<CallModelResult>, routeIndex = 0) =>
    reply(first.after, changes, routeIndex).of('MediaLeftOutEvent').length;
  expect([again(leftOut), again({ mediaLeftOut: ['b'] }), again(leftOut, 1), again({})]).toEqual([
    ...[0, 1, 1, 0],
  ]);
  const whole = reply(first.after, {}).after;
  expect(whole).not.toHaveProperty('mediaLeftOut');
  expect(reply(whole, leftOut).of('MediaLeftOutEvent')).toHaveLength(1);
});

test('a full window is believed from half of the known one on', () => {
  const full = (contextTokens: number) =>
    windowFull(fresh, aReply({ contextTokens, usage, stopReason: 'context-full' }));
  expect(full(49_990)).toEqual({
    ...{ kind: 'infra', code: 'context_overflow', route: name },
    message:
      'The reply was cut off because the window was full: 49990 tokens of the request and 10 of the reply.',
    overflow: { windowTokens: 50_000 },
  });
  expect(full(49_989)).toBeUndefined();
});

describe('the output limit after a cut reply', () => {
  const limits = (state: RunState): readonly unknown[] => [
    ...[state.next.maxOutputTokens, state.raisedOutputTokens],
  ];
  test('is doubled each time, up to half of the window', () => {
    const once = raiseOutput(fresh);
    expect(limits(once)).toEqual([16_000, 16_000]);
    const most = raiseOutput(raiseOutput(once));
    expect(limits(raiseOutput(once))).toEqual([32_000, 32_000]);
    expect(limits(most)).toEqual([32_000, 32_000]);
    const even = aPreparedRun({
      chain: [aRoute({ windowTokens: 32_000, maxOutputTokens: 8_000 })],
    });
    expect(limits(raiseOutput(even))).toEqual([16_000, 16_000]);
    const large = aPreparedRun({
      chain: [aRoute({ windowTokens: 31_999, maxOutputTokens: 8_000 })],
    });
    expect(raiseOutput(large)).toBe(large);
  });
  test('stays below one that the vendor refused', () => {
    expect(limits(raiseOutput({ ...fresh, refusedOutputTokens: 16_001 }))).toEqual([
      16_000, 16_000,
    ]);
    const refused = { ...fresh, refusedOutputTokens: 16_000 };
    expect(raiseOutput(refused)).toBe(refused);
    const lowered = lowerOutput(raiseOutput(fresh));
    expect(lowered.next).not.toHaveProperty('maxOutputTokens');
    expect(raiseOutput(lowered).next).not.toHaveProperty('maxOutputTokens');
  });
  test('is the usual one again after a reply that was not cut', () => {
    const raised = raiseOutput(fresh);
    const after = (stopReason: CallModelResult['stopReason']) =>
      reply(raised, { stopReason }).after;
    expect(after('end')).not.toHaveProperty('raisedOutputTokens');
    expect(after('truncated').raisedOutputTokens).toBe(16_000);
    expect(after('context-full').raisedOutputTokens).toBe(16_000);
  });
});
