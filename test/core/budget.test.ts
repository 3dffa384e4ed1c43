/** The ledger: what is held before a call, charged after it, and what ends the run. */
import {
  budgetLeft,
  budgetStop,
  charge,
  chargeUnknown,
  costOf,
  reserve,
} from '../../workflows/core/budget/budget';
import type { ModelPrice } from '../../workflows/core/budget/spend';
import {
  costNanoUsd,
  costText,
  usdText,
  addSpend,
  estimatedSpend,
  noSpend,
  spendOf,
  noUsage,
  worstPromptNanoUsd,
  worstRequestNanoUsd,
} from '../../workflows/core/budget/spend';
import type { RunState } from '../../workflows/core/run/state';
import { endOfSubagent } from '../../workflows/core/subagents/outcome';
import type { UnstampedEvent } from '../support/builders';
import { aPreparedRun, aRoute, anInfraError, takeAll } from '../support/builders';

const price: ModelPrice = { input: 3, cacheRead: 0.3, cacheWrite: 3.75, output: 15 };
const usage = { inputTokens: 100, outputTokens: 10, cacheReadTokens: 1_000, cacheWriteTokens: 0 };

/** A broken call: 750,000 nanodollars expected, 900,000 possible. */
const guessed = estimatedSpend(price, {
  expected: usage,
  known: { ...noUsage, inputTokens: 100 },
  most: { nanoUsd: 900_000, tokens: 2_000 },
});

function run(budget: { nanoUsd?: number; tokens?: number }): RunState {
  const state = aPreparedRun({ budget, chain: [aRoute({ price })] });
  return { ...state, budget: { ...state.budget, reserved: {} } };
}

function endOf(state: RunState): { reason: string; message: string } {
  const { phase } = state;
  if (phase.type !== 'ended' || phase.outcome.status !== 'failed')
    throw new Error(`the run is ${phase.type}`);
  return phase.outcome;
}

describe('prices', () => {
  test('each class of token at its own rate, rounded up to a nanodollar', () => {
    expect(costNanoUsd(price, usage)).toBe(100 * 3_000 + 1_000 * 300 + 10 * 15_000);
    expect(costNanoUsd({ ...price, cacheRead: 0.0028 }, { ...noUsage, cacheReadTokens: 1 })).toBe(
      3,
    );
  });

  test('a prompt costs at most as much as if all of it were written to the cache', () => {
    expect(worstPromptNanoUsd(price, 1_000)).toBe(3_750_000);
    expect(worstRequestNanoUsd(price, 1_000, 10)).toBe(3_750_000 + 150_000);
  });

  test('a long prompt pays its own rate for every token', () => {
    const tiered = { ...price, longPrompt: { ...price, input: 6, output: 20, aboveTokens: 1_000 } };
    expect(costNanoUsd(tiered, { ...noUsage, inputTokens: 1_000 })).toBe(3_000_000);
    expect(costNanoUsd(tiered, { ...noUsage, inputTokens: 1_001, outputTokens: 1 })).toBe(
      1_001 * 6_000 + 20_000,
    );
  });

  test.each([
    [0, '$0.00'],
    [12, '$0.000000012'],
    [1_234_567, '$0.00123'],
    [45_600_000, '$0.0456'],
    [999_000_000, '$0.999'],
    [12_345_000_000, '$12.35'],
  ])('%d nanodollars read %s', (nanoUsd, text) => {
    expect(usdText(nanoUsd)).toBe(text);
  });

  test('money of a call to an unknown price stays unknown, also in a sum', () => {
    const unknown = spendOf(usage, undefined);
    expect(unknown.nanoUsd).toBeUndefined();
    expect(addSpend(spendOf(usage, price), unknown).nanoUsd).toBeUndefined();
  });
});

describe('the ledger', () => {
  test('holds everything that is left for a call, and the next one what that leaves', () => {
    const first = reserve(run({ nanoUsd: 1_000 }), 'a', { nanoUsd: 700 });
    expect(first.allowance).toEqual({ nanoUsd: 700 });
    const second = reserve(first.state, 'b');
    expect(second.allowance).toEqual({ nanoUsd: 300 });
    expect(reserve(second.state, 'c').allowance).toEqual({ nanoUsd: 0 });
  });

  test('charges what a call consumed and frees the rest', () => {
    const held = reserve(run({ nanoUsd: 2_000_000, tokens: 5_000 }), 'a').state;
    const charged = charge(held, 'a', spendOf(usage, price));
    expect(charged.budget.reserved).toEqual({});
    expect(budgetLeft(charged)).toEqual({ nanoUsd: 2_000_000 - 750_000, tokens: 5_000 - 1_110 });
    expect(charged.usage).toEqual(usage);
  });

  test('keeps all that was held for a call if nobody knows what it consumed, and says so', () => {
    const held = reserve(run({ nanoUsd: 500 }), 'a').state;
    const charged = chargeUnknown(held, 'a');
    expect(budgetLeft(charged)).toEqual({ nanoUsd: 0 });
    expect(costOf(charged)).toMatchObject({ usd: 0, estimatedUsd: 0, mostUsd: 5e-7 });
  });

  test('counts an estimate at its upper bound, so a budget holds whatever vendors bill', () => {
    const charged = charge(run({ nanoUsd: 2_000_000, tokens: 5_000 }), 'a', guessed);
    expect(budgetLeft(charged)).toEqual({ nanoUsd: 1_100_000, tokens: 3_000 });
    expect(costText(costOf(charged))).toBe(
      '$0.000750 of $0.00200, $0.000450 of it estimated, at most $0.000900',
    );
  });

  test.each([
    [2, 0, 'unknown (2 calls of unknown cost)'],
    [1, 0.0015, 'unknown (1 calls of unknown cost, the others $0.00150)'],
  ])('tells of %i calls of unknown cost, and $%f of others', (unpricedCalls, pricedUsd, words) => {
    expect(costText({ unpricedCalls, pricedUsd })).toBe(words);
  });

  test('says unknown, not zero, if nothing was held for a call that was not heard from again', () => {
    const charged = chargeUnknown(charge(run({}), 'a', spendOf(usage, price)), 'b', guessed);
    expect(costOf(charged)).toMatchObject({ unpricedCalls: 1, pricedUsd: 0.0015 });
  });

  test('also says unknown if a call that was not heard from again has no price', () => {
    const most = { nanoUsd: 0, tokens: 900 };
    const tokens = { ...noUsage, inputTokens: 300 };
    const unpriced = estimatedSpend(undefined, { expected: tokens, known: noUsage, most });
    const charged = chargeUnknown(run({ tokens: 5_000 }), 'a', noSpend, unpriced);
    expect(costOf(charged)).toMatchObject({ unpricedCalls: 1, estimatedTokens: 300 });
    expect(budgetLeft(charged)).toEqual({ tokens: 4_100 });
  });

  test('holds nothing without a budget', () => {
    const { state, allowance } = reserve(run({}), 'a');
    expect({ allowance, reserved: state.budget.reserved }).toEqual({ reserved: {} });
    expect(budgetStop(state)).toBeUndefined();
  });

  test('says unknown, not zero, where a model has no price', () => {
    const charged = charge(run({}), 'a', spendOf(usage, undefined));
    expect(costOf(charged)).toEqual({ unpricedCalls: 1, pricedUsd: 0 });
    expect(costOf(charge(run({}), 'a', noSpend))).toEqual({ usd: 0 });
  });
});

describe('a run', () => {
  const reply: UnstampedEvent = {
    type: 'model-call-completed',
    callId: 'm1',
    result: {
      headBefore: 'h',
      head: 'h',
      stopReason: 'end',
      toolCalls: [],
      textPreview: '',
      usage,
      spend: addSpend(spendOf(usage, price), guessed),
      contextTokens: 1_100,
    },
  };

  test('is charged for the failed attempts of a call too, and ends readably where nothing is left', () => {
    const state = aPreparedRun({ budget: { nanoUsd: 1_600_000 }, chain: [aRoute({ price })] });
    const [after] = takeAll(state, reply);
    const { reason, message } = endOf(after);
    expect(reason).toBe('guard_budget');
    expect(message).toMatch(
      /^Forced stop: reached the budget of \$0\.00160 \(\$0\.00150 spent, at most \$0\.00165\)\.\nEvents processed: 3 \| /,
    );
    expect(after.phase).toMatchObject({
      outcome: {
        report: {
          cost: {
            usd: 0.0015,
            estimatedUsd: 0.00045,
            mostUsd: 0.00165,
            estimatedTokens: 1_010,
            mostTokens: 3_110,
            budgetUsd: 0.0016,
          },
        },
      },
    });
  });

  test('passes what is known, expected, and possible to its parent run', () => {
    const state = aPreparedRun({ budget: { nanoUsd: 1_600_000 }, chain: [aRoute({ price })] });
    const { phase } = takeAll(state, reply)[0];
    if (phase.type !== 'ended') throw new Error(`the run is ${phase.type}`);
    const end = endOfSubagent(phase.outcome);
    if (end.type !== 'ended') throw new Error(`the subagent is ${end.type}`);
    const parent = charge(run({ nanoUsd: 2_000_000 }), 't1', end.consumed.spend);
    const { budgetUsd: _own, ...cost } = phase.outcome.report.cost;
    expect(costOf(parent)).toEqual({ ...cost, budgetUsd: 0.002 });
    expect(budgetLeft(parent)).toEqual({ nanoUsd: 2_000_000 - 1_650_000 });
  });

  test('gives each call what is left, and counts a failed one', () => {
    const state = aPreparedRun({
      budget: { nanoUsd: 2_000_000 },
      chain: [aRoute({ price }), aRoute({ provider: 'beta', price })],
    });
    const [, commands] = takeAll(state, {
      type: 'model-call-failed',
      callId: 'm1',
      failure: anInfraError('network', { spend: spendOf(usage, price) }),
    });
    expect(commands.find(({ type }) => type === 'call-model')).toMatchObject({
      input: { routeIndex: 1, allowance: { nanoUsd: 1_250_000 } },
    });
  });

  test('ends by its budget where a call says that it cannot be paid', () => {
    const state = aPreparedRun({ budget: { nanoUsd: 9_000_000 }, chain: [aRoute({ price })] });
    const [after] = takeAll(state, {
      type: 'model-call-failed',
      callId: 'm1',
      failure: anInfraError('budget_exhausted', { message: 'the next call may cost $0.02' }),
    });
    expect(endOf(after)).toMatchObject({
      reason: 'guard_budget',
      message: expect.stringMatching(
        /^Forced stop: the next call may cost \$0\.02; it has the budget of \$0\.00900/,
      ) as string,
    });
  });

  test('keeps a stop from losing what the call in flight consumed', () => {
    const state = aPreparedRun({ chain: [aRoute({ price })] });
    const [after] = takeAll(
      state,
      { type: 'stop-requested', reason: 'enough' },
      {
        type: 'model-call-failed',
        callId: 'm1',
        failure: anInfraError('worker_lost', { spend: guessed }),
      },
    );
    expect(after.phase).toMatchObject({
      outcome: { status: 'stopped', report: { usage, cost: { usd: 0.00075 } } },
    });
  });
});
