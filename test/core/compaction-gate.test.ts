/** Before a model call: what the gate decides about a request that may not fit, and what it asks for. */
import { gateCall, skipsRoute } from '../../workflows/core/context/gate';
import { routeName } from '../../workflows/core/failover/provider-health';
import type { ContextMeasure } from '../../workflows/core/context/measure';
import type { ContextState } from '../../workflows/core/context/state';
import type { AgentSnapshot } from '../../workflows/core/run/ports';
import type { RunState } from '../../workflows/core/run/state';
import { aMeasure, aPreparedRun, aRoute, startMs } from '../support/builders';

const small = aRoute({ windowTokens: 100_000, maxOutputTokens: 8_000 });
const large = aRoute({ provider: 'beta', model: 'model-2', windowTokens: 400_000 });
const [smallName, largeName] = [routeName(small), routeName(large)];
const chain = [small, large];
const matters = { goal: 'search', approvals: [], errors: [] };

function aRun(context: Partial<ContextState>, snapshot: Partial<AgentSnapshot> = {}): RunState {
  const run = aPreparedRun({ chain, ...snapshot });
  return { ...run, context: { ...run.context, ...context } };
}

const cooling = (state: RunState, name: string, forMs: number): RunState => {
  const atMs = startMs + forMs;
  const rest = { status: 'down', errorCount: 1, cooldownUntilMs: atMs, probeFromMs: atMs } as const;
  return { ...state, health: { routes: { [name]: rest } } };
};

const gate = (state: RunState) => gateCall(state, 0, () => matters, startMs);

/** What happens instead of the call: its state, its command, and what comes next. */
function instead(state: RunState) {
  const decision = gate(state);
  if (decision.type === 'send') throw new Error('the request is sent');
  const { state: after, commands, next } = decision.move;
  const [command] = commands;
  return { after, command, next, input: command?.type === 'compact' ? command.input : undefined };
}

const tooLarge = aMeasure({ tokens: 95_000 });
/** Nothing of it can be summarized or stripped. */
const solid = aMeasure({ tokens: 95_000, fixedTokens: 95_000, tailTokens: 0 });
const counted = (tokens: number): Partial<ContextState> => ({
  counted: {
    ...{ head: 'head-0', headBefore: 'head-', replyTokens: 0 },
    context: { messages: 7, tokens, route: smallName },
  },
});

describe('a request is sent', () => {
  test.each<[string, RunState]>([
    ['if nothing is known of its size', aRun({})],
    ['if it is measured to fit', aRun({ due: aMeasure({ tokens: 50_000 }) })],
    ['if the last count fits', aRun({ ...counted(50_000), prepared: tooLarge })],
    ['if only a count is known, and no measure', aRun(counted(95_000))],
    [
      'if the run has no snapshot yet',
      { ...aRun({ due: tooLarge }), snapshot: undefined as never },
    ],
  ])('%s', (_, state) => {
    expect(gate(state)).toMatchObject({ type: 'send' });
  });

  test('without the measure that was decided about', () => {
    const state = aRun({ due: aMeasure({ tokens: 50_000 }) });
    expect(gate(state).type === 'send' && gate(state)).toMatchObject({ state: aRun({}) });
    expect(JSON.stringify(gate(state))).not.toContain('"due"');
  });
});

describe('a compaction', () => {
  test('is foreseen by the last count, with what is new since', () => {
    const { after } = instead(aRun({ ...counted(95_000), prepared: aMeasure({ tokens: 10 }) }));
    expect(after.context.due).toEqual(aMeasure({ tokens: 95_000, messages: 41 }));
    expect(after.phase).toMatchObject({ why: '95000 of 100000 tokens' });
  });

  test('asks the route that is called for the summary, with what it must hold', () => {
    const { after, command, input } = instead(aRun({ due: tooLarge }));
    expect(after.phase).toEqual({
      ...{ type: 'compacting', callId: 'c1', tier: 3, summaryRouteIndex: 0 },
      why: '95000 of 100000 tokens',
    });
    expect(after.context).toMatchObject({ due: tooLarge, issued: { iteration: 1, count: 1 } });
    expect(command).toMatchObject({
      ...{ type: 'compact', callId: 'c1', summary: 'compact the conversation, tier 3' },
    });
    expect(input).toEqual({
      ...{ storeId: 'store-1', definition: 'definition-hash', head: 'head-0', routeIndex: 0 },
      ...{ tier: 3, isDue: true, matters, holder: 'wf-1/run-1/1' },
      bounds: { windowTokens: 100_000, ...bounds },
      summary: { routeIndex: 0, windowTokens: 100_000 },
    });
  });
  const bounds = {
    reserveTokens: 8_000,
    warnTokens: expect.any(Number) as number,
    compactTokens: expect.any(Number) as number,
  };

  test('strips without a model where that is enough: no summary, and nothing that one must hold', () => {
    const { after, input } = instead(
      aRun({ due: aMeasure({ ...tooLarge, strippableTokens: 60_000 }) }),
    );
    expect(after.phase).toMatchObject({ tier: 1 });
    expect(after.phase).not.toHaveProperty('summaryRouteIndex');
    expect(input).not.toHaveProperty('summary');
    expect(input).not.toHaveProperty('matters');
    expect(input).not.toHaveProperty('trimTail');
  });

  test('takes along what waits, the count, and the factors of both routes', () => {
    const factors = { [smallName]: 1 as never, [largeName]: 2 as never };
    const run = aRun({ ...counted(95_000), prepared: tooLarge, factors, noSummary: [smallName] });
    const pendingResults = [{ toolCallId: 'c1', name: 'search', text: 'r', isError: false }];
    const { input } = instead({ ...run, next: { ...run.next, pendingResults } });
    expect(input).toMatchObject({
      ...{ pendingResults, counted: { tokens: 95_000 }, tokenFactors: 1 },
      summary: { routeIndex: 1, windowTokens: 400_000, tokenFactors: 2 },
    });
    expect(input).not.toHaveProperty('isDue');
  });

  test('has an id of its own in its iteration', () => {
    const idOf = (iteration: number): unknown =>
      instead(aRun({ due: tooLarge, issued: { iteration, count: 2 } })).command;
    expect(idOf(1)).toMatchObject({ callId: 'c1.2' });
    expect(idOf(0)).toMatchObject({ callId: 'c1' });
    const { after } = instead(aRun({ due: tooLarge, issued: { iteration: 1, count: 2 } }));
    expect(after.context.issued).toEqual({ iteration: 1, count: 3 });
  });

  test.each<[string, Partial<ContextState>, string]>([
    ['refused', { due: tooLarge, refused: true }, `${smallName} refused the request as too long`],
    [
      'over a limit',
      { due: { ...tooLarge, over: 'images' } },
      "the request breaks the vendor's limit of images",
    ],
  ])('says why: %s', (_, context, why) => {
    expect(instead(aRun(context)).after.phase).toMatchObject({ why });
  });

  test('is written by the next route that has not failed at it, is not refused, and has not to rest', () => {
    const routeOf = (state: RunState): unknown => instead(state).input?.summary?.routeIndex;
    const failed = aRun({ due: tooLarge, noSummary: [smallName] });
    expect(routeOf(failed)).toBe(1);
    expect(routeOf(cooling(aRun({ due: tooLarge }), smallName, 1))).toBe(1);
    expect(routeOf(cooling(aRun({ due: tooLarge }), smallName, 0))).toBe(0);
    const nobody = cooling(failed, largeName, 60_000);
    expect(instead(nobody).after.phase).toMatchObject({ tier: 4 });
    expect(routeOf(nobody)).toBeUndefined();
    expect(instead(nobody).input?.matters).toEqual(matters);
  });

  test('reserves what is left of the budget for a model, and nothing without one', () => {
    const compacting = (due: ContextMeasure) => {
      const run = aRun({ due }, { budget: { nanoUsd: 7_000, tokens: 1_000_000 } });
      const { after, input } = instead({ ...run, budget: { ...run.budget, reserved: {} } });
      return [after.budget.reserved, input?.allowance];
    };
    const all = { nanoUsd: 7_000, tokens: 1_000_000 };
    expect(compacting(tooLarge)).toEqual([{ c1: all }, all]);
    expect(compacting(aMeasure({ ...tooLarge, strippableTokens: 60_000 }))).toEqual([
      { c1: { nanoUsd: 0, tokens: 0 } },
      undefined,
    ]);
  });
});

describe('what no compaction makes fit', () => {
  test('is sent where less is kept free for the reply', () => {
    const due = aMeasure({ tokens: 88_000, fixedTokens: 88_000, tailTokens: 0 });
    const { after, next } = instead(aRun({ due, refused: true, done: [] }, { compaction: roomy }));
    expect(next).toEqual({ type: 'call-model' });
    expect(after.context).toMatchObject({ lowered: [smallName], refused: false });
    expect(after.context).not.toHaveProperty('due');
  });
  const roomy = {
    ...aPreparedRun().snapshot?.compaction,
    compactShare: 1,
  } as AgentSnapshot['compaction'];

  test('goes to a route with a larger window', () => {
    const { after, command, next } = instead(aRun({ due: solid, refused: true }));
    expect(next).toEqual({ type: 'call-model' });
    expect(command).toMatchObject({
      entry: { type: 'FailoverEvent', from: smallName, to: largeName, reason: 'context_overflow' },
    });
    expect(after.context).toMatchObject({ tooSmall: [smallName], refused: false });
    expect(after.context).not.toHaveProperty('due');
    expect(after.counters.failovers).toBe(1);
  });

  test.each<[string, RunState]>([
    ['is too small itself', aRun({ due: solid, tooSmall: [largeName] })],
    ['is none of the chain', aRun({ due: solid }, { chain: [small] })],
    [
      'does not take it either',
      aRun({ due: aMeasure({ ...solid, tokens: 399_000, fixedTokens: 399_000 }) }),
    ],
    ['has to rest', cooling(aRun({ due: solid }), largeName, 60_000)],
  ])('ends the run if a larger route %s', (_, state) => {
    expect(instead(state).next).toMatchObject({ type: 'fail', reason: 'context_overflow' });
  });

  test('ends the run with the numbers, and with the last refusal if there was one', () => {
    const { next } = instead(aRun({ due: solid }, { chain: [small] }));
    const message = next?.type === 'fail' ? next.message : '';
    expect(message).toContain(
      `System error: The conversation does not fit ${smallName}: the next request has about 95000 tokens (system prompt and tools 95000, newest messages 0) and 400000 bytes; the window has 100000 tokens, of which a request may fill `,
    );
    expect(message).not.toContain('The last refusal');
    expect(next).toMatchObject({
      failure: { kind: 'infra', code: 'context_overflow', route: smallName },
    });
    const refused = {
      ...aRun({ due: solid, overflows: 1 }, { chain: [small] }),
      lastError: 'too long',
    };
    expect(instead(refused).next).toMatchObject({
      message: expect.stringMatching(/ The last refusal: too long$/) as string,
    });
  });
});

describe('a route is passed over', () => {
  const skipped = (context: Partial<ContextState>): readonly boolean[] =>
    chain.map(skipsRoute(aRun(context)));
  test.each<[string, Partial<ContextState>, readonly boolean[]]>([
    ['never, as long as it takes the conversation', { due: tooLarge }, [false, false]],
    [
      'while the conversation is too large for it',
      { tooSmall: [smallName], due: tooLarge },
      [true, false],
    ],
    ['while nobody knows how large it is', { tooSmall: [smallName] }, [true, false]],
    ['by the last count', { tooSmall: [smallName], ...counted(95_000) }, [true, false]],
    [
      'no longer, once it fits again',
      { tooSmall: [smallName], ...counted(50_000) },
      [false, false],
    ],
    ['only if another one is left', { tooSmall: [smallName, largeName] }, [false, false]],
  ])('%s', (_, context, expected) => {
    expect(skipped(context)).toEqual(expected);
  });
});
