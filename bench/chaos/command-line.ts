/** Command line of the chaos: which seed, how long, what people and programs read, the exit code. */
import { parseArgs } from 'node:util';
import { reasonOf } from '../../workers/setup-error';
import type { ChaosRecord, Violation } from './check';
import { countDeclared, findViolations } from './check';
import { ClusterMissing, readClusterControl } from './cluster';
import type { ChaosOptions } from './play';
import { playChaos } from './play';
import type { FaultKind } from './schedule';
import { faultKinds } from './schedule';
import type { ProgramOutput } from '../program';

const usage = `usage: npm run chaos -- [options]

Plays many runs while everything breaks, and looks for what must not be. Needs a Temporal server on Postgres: docs/chaos.md.

  --minutes N      how long things break; default 5
  --seed N         of faults, jobs and the model; default 1
  --runs N         how many runs; default 8 and 2 for each minute
  --only A,B       only these kinds of faults: ${faultKinds.join(', ')}
  --json           prints the summary as one line of JSON
`;

const exitRight = 0;
const exitWrong = 1;
const exitUsage = 2;

const options = {
  minutes: { type: 'string', default: '5' },
  seed: { type: 'string', default: '1' },
  runs: { type: 'string' },
  only: { type: 'string' },
  json: { type: 'boolean', default: false },
} as const;

function positive(text: string, name: string, isWhole: boolean): number {
  const value = Number(text);
  if (value > 0 && Number.isFinite(value) && (!isWhole || Number.isSafeInteger(value)))
    return value;
  throw new Error(`--${name} takes a ${isWhole ? 'whole ' : ''}number above 0, not "${text}".`);
}

function kindsOf(list: string | undefined): readonly FaultKind[] {
  if (list === undefined) return faultKinds;
  return list.split(',').map((name) => {
    const kind = faultKinds.find((each) => each === name);
    if (kind !== undefined) return kind;
    throw new Error(`There is no kind of fault "${name}". Kinds: ${faultKinds.join(', ')}.`);
  });
}

function readOptions(args: readonly string[]): ChaosOptions & { readonly json: boolean } {
  const { values } = parseArgs({ args: [...args], options });
  const minutes = positive(values.minutes, 'minutes', false);
  const runs = values.runs ?? String(Math.ceil(8 + 2 * minutes));
  return {
    seed: positive(values.seed, 'seed', true),
    minutes,
    runs: positive(runs, 'runs', true),
    only: kindsOf(values.only),
    json: values.json,
  };
}

/** The command that plays the same again. */
function repeatCommand({ seed, minutes, runs, only }: ChaosOptions): string {
  const kinds = only.length === faultKinds.length ? '' : ` --only ${only.join(',')}`;
  return `npm run chaos -- --minutes ${minutes} --seed ${seed} --runs ${runs}${kinds}`;
}

/** A violation for people: what it is, which run, what broke around it, how to see it again. */
export function violationText(
  { invariant, text, runId, atMs, faults }: Violation,
  asked: ChaosOptions,
): string {
  return [
    `VIOLATION of "${invariant}", seed ${asked.seed}: ${text}`,
    ...(runId === undefined ? [] : [`  run: ${runId}`]),
    ...(atMs === undefined ? [] : [`  at: ${new Date(atMs).toISOString()}`]),
    ...faults.map((fault) => `  around it: ${fault}`),
    `  to repeat: ${repeatCommand(asked)}`,
  ].join('\n');
}

function summaryOf(
  record: ChaosRecord,
  violations: readonly Violation[],
  asked: ChaosOptions,
): object {
  const { jobs, faults, ledger, clients } = record;
  return {
    runs: jobs.length,
    faults: faults.length,
    violations,
    completed: jobs.filter(({ end }) => end.status === 'completed').length,
    effects: ledger.length,
    events: clients.reduce((sum, { ids }) => sum + ids.length, 0),
    declared: countDeclared(record),
    seed: asked.seed,
    minutes: asked.minutes,
  };
}

/**
 * Plays one chaos.
 *
 * Contract: with `--json` the last line of `result` is `{ runs, faults, violations, … }`. Resolves with the exit code: 0 nothing that
 * must not be, 1 a violation, 2 wrong usage, no cluster, or a fault that could not be made.
 */
export async function runChaos(
  args: readonly string[],
  environment: NodeJS.ProcessEnv,
  { result, people }: ProgramOutput,
): Promise<number> {
  try {
    const asked = readOptions(args);
    const cluster = readClusterControl(environment);
    const { record, folder, forget } = await playChaos(cluster, asked, people);
    const violations = findViolations(record);
    for (const violation of violations) people(violationText(violation, asked));
    const summary = summaryOf(record, violations, asked);
    for (const text of record.notMade) people(`This fault could not be made: ${text}`);
    const isWorldWhole = record.notMade.length === 0;
    if (violations.length === 0 && isWorldWhole) await forget();
    else people(`Logs and the record are in ${folder}.`);
    result(
      asked.json
        ? JSON.stringify(summary)
        : `${record.jobs.length} runs, ${record.faults.length} faults, ${violations.length} violations`,
    );
    if (violations.length > 0) return exitWrong;
    return isWorldWhole ? exitRight : exitUsage;
  } catch (thrown) {
    const isUsage = !(thrown instanceof ClusterMissing);
    people(`${reasonOf(thrown)}${isUsage ? `\n\n${usage}` : ''}`);
    return exitUsage;
  }
}
