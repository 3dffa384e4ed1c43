/** Cases that runs can learn to solve: each a tool that refuses a first call, and the call that works. */
import { z } from 'zod';
import type { Tool } from '../../../activities/tools/tool';
import { defineTool } from '../../../activities/tools/define-tool';
import type { JsonObject } from '../../../workflows/core/json';

/** A call of the scripted model. */
interface RutCall {
  readonly name: string;
  readonly input: JsonObject;
}

/** One case; `token` makes the values of each run different. */
export interface LearningCase {
  readonly id: string;
  readonly wrong: (token: string) => RutCall;
  readonly right: (token: string) => RutCall;
}

/** What every tool says when it worked: how the scripted model sees that the case is solved. */
export const successText = 'OK, here it is:';

function lookUp<Input extends z.ZodType>(
  name: string,
  description: string,
  input: Input,
  look: (input: z.output<Input>) => string | undefined,
): Tool {
  return defineTool({
    name,
    description,
    input,
    effect: 'read',
    execute: (given) => {
      const problem = look(given);
      if (problem !== undefined) throw new Error(problem);
      return `${successText} ${name}`;
    },
  });
}

/** The tools of all cases. */
export const caseTools: readonly Tool[] = [
  lookUp('look_up_order', 'Looks up an order.', z.object({ id: z.string() }), ({ id }) =>
    id === id.toLowerCase() ? undefined : `unknown order "${id}"`,
  ),
  lookUp('stock_quote', 'Quotes a stock.', z.object({ symbol: z.string() }), ({ symbol }) =>
    symbol === symbol.toUpperCase() ? undefined : `no listing for "${symbol}"`,
  ),
  lookUp(
    'make_report',
    'Makes a report of a region.',
    z.object({ region: z.string(), layout: z.enum(['pages', 'table']) }),
    ({ layout }) => (layout === 'table' ? undefined : 'this layout is switched off'),
  ),
  lookUp(
    'fetch_page',
    'Fetches a page.',
    z.object({ address: z.string() }),
    () => 'the fetcher is broken',
  ),
  lookUp('pull_document', 'Pulls a document.', z.object({ url: z.string() }), () => undefined),
  lookUp('convert', 'Converts an amount.', z.object({ amount: z.string() }), ({ amount }) =>
    amount.startsWith('EUR') ? undefined : `cannot convert "${amount}"`,
  ),
];

/** The cases that are learned and measured. */
export const learningCases: readonly LearningCase[] = [
  {
    id: 'lower case',
    wrong: (token) => ({ name: 'look_up_order', input: { id: `ORD-${token}` } }),
    right: (token) => ({ name: 'look_up_order', input: { id: `ord-${token}` } }),
  },
  {
    id: 'upper case',
    wrong: (token) => ({ name: 'stock_quote', input: { symbol: `ac${token}me` } }),
    right: (token) => ({ name: 'stock_quote', input: { symbol: `AC${token}ME` } }),
  },
  {
    id: "a value of the schema's list",
    wrong: (token) => ({
      name: 'make_report',
      input: { region: `north ${token}`, layout: 'pages' },
    }),
    right: (token) => ({
      name: 'make_report',
      input: { region: `north ${token}`, layout: 'table' },
    }),
  },
  {
    id: 'another tool',
    wrong: (token) => ({ name: 'fetch_page', input: { address: `https://a.example/${token}` } }),
    right: (token) => ({ name: 'pull_document', input: { url: `https://a.example/${token}` } }),
  },
];

/** The case for which a bad pattern is planted. */
export const mislaidCase: LearningCase = {
  id: 'a planted bad pattern',
  wrong: (token) => ({ name: 'convert', input: { amount: `eur ${token}` } }),
  right: (token) => ({ name: 'convert', input: { amount: `EUR ${token}` } }),
};
