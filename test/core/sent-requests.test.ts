/** `modelCalls` counts only calls that sent a request. */
import type { InfraError } from '../../workflows/core/failure';
import { aMeasure, anInfraError, aRoute, aSnapshot } from '../support/builders';
import { RunDriver } from '../support/run-driver';
import type { DrivenWorld } from '../support/run-driver';

type Answer = ReturnType<DrivenWorld['model']>;

function modelCallsOf(answers: readonly Answer[]): number {
  const driver = new RunDriver({
    prepare: () => aSnapshot({ chain: [aRoute({ model: 'one' }), aRoute({ model: 'two' })] }),
    model: (_request, call) => answers[call - 1] ?? { text: 'done' },
  }).run();
  return driver.outcome.report.modelCalls;
}

const heldBack = { heldBack: aMeasure({ tokens: 95_000 }) };
const spared = anInfraError('rate_limit', { spared: true, retryAfterMs: 5_000 });
const paid: Partial<InfraError> = {
  spend: {
    usage: { inputTokens: 9, outputTokens: 0, cacheReadTokens: 0, cacheWriteTokens: 0 },
  },
};

test.each<[string, readonly Answer[], number]>([
  ['a reply', [], 1],
  ['one that was held back, and a reply', [heldBack], 1],
  ['a route that another run found failing, and a reply', [spared], 1],
  ['a refusal, and a reply from the next route', [anInfraError('overloaded')], 2],
  ['no money left', [anInfraError('budget_exhausted')], 0],
  ['held back after an attempt that had sent it', [{ ...heldBack, ...paid }], 2],
  ['spared after an attempt that had sent it', [{ ...spared, ...paid }], 2],
])('%s', (_what, answers, modelCalls) => {
  expect(modelCallsOf(answers)).toBe(modelCalls);
});
