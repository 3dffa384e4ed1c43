/** What `npm run bench` without a name is asked to measure. */
import { parseArgs } from 'node:util';
import { reasonOf } from '../../workers/setup-error';
import type { Cell } from './cells';
import { engines, isPeer } from './engines';
import type { SpeedPlan } from './run-speed';

/** What is to be done. */
export type SpeedRequest =
  | { readonly type: 'problem'; readonly problem: string }
  | { readonly type: 'install-peers' }
  /** Prints the tables of a result that was kept. */
  | { readonly type: 'tables'; readonly file: string }
  | {
      readonly type: 'run';
      readonly plan: SpeedPlan;
      readonly json: boolean;
      /** The peers are among the engines, and are installed first. */
      readonly peers: boolean;
      readonly out?: string;
    };

/** How the command is called. */
export const speedUsage = [
  'usage: npm run bench [-- --quick] [--json] [--peers] [--out FILE]',
  '           [--engines A,B] [--iterations 10,100] [--sizes 1024] [--concurrent 1,100] [--rounds N]',
  '       npm run bench -- --install-peers',
  '       npm run bench -- --tables FILE',
].join('\n');

const options = {
  quick: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
  peers: { type: 'boolean', default: false },
  'install-peers': { type: 'boolean', default: false },
  tables: { type: 'string' },
  out: { type: 'string' },
  engines: { type: 'string' },
  iterations: { type: 'string' },
  sizes: { type: 'string' },
  concurrent: { type: 'string' },
  rounds: { type: 'string' },
} as const;

/** Iterations of each run of the concurrent cells. */
const concurrentIterations = 10;
const usualBytes = 1_024;

/** Of a bench that nobody limits; everything at 1,000 is measured once. */
const whole = {
  iterations: '10,100,1000',
  sizes: '1024,8192',
  concurrent: '1,100,1000',
  rounds: '3',
};
/** Under five minutes with the build: the last round begins before two thirds of the budget have passed. */
const quick = { iterations: '100', sizes: '1024', concurrent: '100', rounds: '3' };
const quickBudgetMs = 210_000;

class Problem extends Error {}

/** Distinct whole numbers of at least 1; an empty text is none. */
function numbersIn(name: string, text: string): readonly number[] {
  const items = text.split(',').filter((item) => item !== '');
  for (const item of items)
    if (!/^[1-9]\d{0,5}$/.test(item))
      throw new Problem(
        `--${name} has "${item}": it takes whole numbers from 1 to 999999, separated by commas.`,
      );
  return [...new Set(items.map(Number))].sort((a, b) => a - b);
}

function enginesIn(text: string | undefined, peers: boolean, isQuick: boolean): readonly string[] {
  const known = Object.keys(engines).filter(
    (name) => peers || !isPeer(engines[name]?.file ?? 'floor'),
  );
  if (text === undefined)
    return known.filter((name) => !isQuick || name === 'floor' || name.startsWith('holdfast'));
  const names = text.split(',');
  for (const name of names) {
    if (engines[name] === undefined)
      throw new Problem(`--engines has "${name}": there are ${Object.keys(engines).join(', ')}.`);
    if (!known.includes(name))
      throw new Problem(`The engine ${name} is a peer: add --peers, which installs it.`);
  }
  return known.filter((name) => name === 'floor' || names.includes(name));
}

function cellsFor(
  iterations: readonly number[],
  sizes: readonly number[],
  concurrent: readonly number[],
  isQuick: boolean,
): readonly Cell[] {
  const sized = sizes.flatMap((resultBytes) =>
    iterations.map((n) => ({ iterations: n, resultBytes })),
  );
  const [usual = usualBytes] = sizes;
  return [
    ...(isQuick ? [] : [{ kind: 'memory' } as const]),
    ...sized.map((size) => ({ kind: 'single', ...size }) as const),
    ...concurrent.map((runs) => {
      const size = { iterations: concurrentIterations, resultBytes: usual };
      return { kind: 'concurrent', runs, ...size } as const;
    }),
    ...iterations.map((n) => ({ kind: 'replay', iterations: n, resultBytes: usual }) as const),
  ];
}

/** Reads the arguments. Contract: nothing is started for arguments with a problem. */
export function readSpeedArguments(args: readonly string[]): SpeedRequest {
  try {
    const { values } = parseArgs({ args: [...args], options });
    if (values['install-peers']) return { type: 'install-peers' };
    if (values.tables !== undefined) return { type: 'tables', file: values.tables };
    const usual = values.quick ? quick : whole;
    const read = (name: keyof typeof usual) => numbersIn(name, values[name] ?? usual[name]);
    const [iterations, sizes, rounds] = [read('iterations'), read('sizes'), read('rounds')];
    if (iterations.length === 0 || sizes.length === 0 || rounds.length !== 1)
      throw new Problem('--iterations and --sizes take at least one number, --rounds takes one.');
    const plan = {
      engines: enginesIn(values.engines, values.peers, values.quick),
      cells: cellsFor(iterations, sizes, read('concurrent'), values.quick),
      rounds: rounds[0] ?? 1,
      ...(values.quick ? { budgetMs: quickBudgetMs } : {}),
    };
    const { json, peers, out } = values;
    return { type: 'run', plan, json, peers, ...(out === undefined ? {} : { out }) };
  } catch (thrown) {
    return { type: 'problem', problem: reasonOf(thrown) };
  }
}
