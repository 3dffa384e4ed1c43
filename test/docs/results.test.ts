/** The measured line in docs/results.md is whole and meets the bars that the document names. */
import { z } from 'zod';
import { codeBlocks, sourceText } from './documents';

const series = z.array(z.number().positive());

const historyResult = z.strictObject({
  n: series,
  bytesPerIteration: series,
  eventsPerIteration: series,
  continuedAsNew: z.number().int().min(1),
  largestRunBytes: z.number().max(10_000_000),
  spread: z.number().max(1.1),
  counted: z.strictObject({ iterations: z.number(), toolCallsSucceeded: z.number() }),
  seconds: z.number(),
});

test('the history of 1,000 iterations is flat', () => {
  const document = { file: 'docs/results.md', text: sourceText('docs/results.md') };
  const line = codeBlocks(document).find(({ code }) => code.includes('"bytesPerIteration"'));
  const result = historyResult.parse(JSON.parse(line?.code ?? ''));
  expect(result.n.at(-1)).toBe(1_000);
  expect(result.bytesPerIteration.length).toBe(result.n.length);
  expect(result.eventsPerIteration.length).toBe(result.n.length);
  // From iteration 10 on, as the page says.
  const settled = result.bytesPerIteration.slice(1);
  expect(Math.max(...settled) / Math.min(...settled)).toBeLessThan(1.1);
  expect(result.counted).toEqual({ iterations: 1_000, toolCallsSucceeded: 999 });
});
