/** What attempts whose workers died are charged. */
import { CallMeter } from '../../activities/model-call/call-meter';
import { noSpend } from '../../workflows/core/budget/spend';

test('what a lost attempt may have consumed is charged once, however many requests follow', () => {
  const meter = new CallMeter({ allowance: undefined, spend: noSpend, lostAttempts: 1 });
  const measure = { tokens: 10, countedTokens: 0 };
  const request = { measure, price: undefined, maxOutputTokens: 100 };
  meter.admit(request);
  const { spend } = meter;
  expect(spend.usage.outputTokens).toBe(100);
  meter.admit(request);
  expect(meter.spend).toEqual(spend);
});
