/** Command line of the evaluation with a real model: which runs are played, where they are kept, the exit code. */
import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { installRuntime } from '../../workers/logging';
import { reasonOf } from '../../workers/setup-error';
import { randomOf } from '../random';
import type { Arm, ArmRun, ModelUnderTest, Task } from './arm';
import { startHoldfast } from './holdfast-arm';
import type { DrawnJob, Job, JobFamily } from './job';
import { calendarJobs } from './jobs/calendar';
import { fileJobs } from './jobs/files';
import { homeJobs } from './jobs/home';
import { lookupJobs } from './jobs/lookup';
import { mailJobs } from './jobs/mail';
import { orderJobs } from './jobs/orders';
import { stockJobs } from './jobs/stock';
import { ticketJobs } from './jobs/tickets';
import { plainArm } from './plain-loop';
import type { ArmName, RunRecord } from './record';
import { armNames, keyOf } from './record';
import { reportLines, summaryOf } from './report';
import type { ProgramOutput } from '../program';

/** All jobs: forty, ten of them kept out of tuning. */
export const jobFamilies: readonly JobFamily[] = [
  ...[fileJobs, orderJobs, ticketJobs, calendarJobs],
  ...[lookupJobs, stockJobs, mailJobs, homeJobs],
];

const usage = `usage: npm run evaluate -- --base-url URL --model NAME [options]

Gives small jobs to a real model, with Holdfast and without. A check decides whether a job is solved.

  --base-url URL      a server that speaks Chat Completions, such as http://127.0.0.1:8080/v1
  --model NAME        as the server knows it
  --protocol WHICH    text (default) or native: how tools are called
  --window N          tokens of the model's window; default 8192
  --temperature N     default 0
  --seeds A,B         of the jobs' numbers and of the sampling; default 1
  --jobs WHICH        held-out, tuned, all (default), or names: files-port,orders-half
  --arms A,B          of ${armNames.join(', ')}; default all
  --minutes N         no further run is begun after so many; default 120
  --out FILE          one JSON line a run; runs that it holds are not played again; default evaluate.jsonl
  --report            plays nothing, and reports what FILE holds
  --json              prints the summary as one line of JSON

The key, if the server wants one: EVALUATE_API_KEY.
`;

const options = {
  'base-url': { type: 'string' },
  model: { type: 'string' },
  protocol: { type: 'string', default: 'text' },
  window: { type: 'string', default: '8192' },
  temperature: { type: 'string', default: '0' },
  seeds: { type: 'string', default: '1' },
  jobs: { type: 'string', default: 'all' },
  arms: { type: 'string', default: armNames.join(',') },
  minutes: { type: 'string', default: '120' },
  out: { type: 'string', default: 'evaluate.jsonl' },
  report: { type: 'boolean', default: false },
  json: { type: 'boolean', default: false },
} as const;

interface Plan {
  readonly model: ModelUnderTest;
  readonly arms: readonly ArmName[];
  readonly jobs: readonly (readonly [family: JobFamily, job: Job])[];
  readonly seeds: readonly number[];
  readonly minutes: number;
  readonly out: string;
  readonly isReport: boolean;
  readonly isJson: boolean;
}

class UsageError extends Error {}

function numberOf(name: string, text: string): number {
  const value = Number(text);
  if (text.trim() !== '' && Number.isFinite(value) && value >= 0) return value;
  throw new UsageError(`--${name} takes a number, not "${text}".`);
}

function wordOf<Word extends string>(name: string, text: string, words: readonly Word[]): Word {
  const word = words.find((each) => each === text);
  if (word !== undefined) return word;
  throw new UsageError(`--${name} knows ${words.join(', ')}, not "${text}".`);
}

function jobsOf(which: string): Plan['jobs'] {
  const all = jobFamilies.flatMap((family) => family.jobs.map((job) => [family, job] as const));
  if (which === 'all') return all;
  if (which === 'held-out' || which === 'tuned')
    return all.filter(([, { isHeldOut }]) => isHeldOut === (which === 'held-out'));
  const names = all.map(([, { id }]) => id);
  const wanted = which.split(',').map((name) => wordOf('jobs', name, names));
  return all.filter(([, { id }]) => wanted.includes(id));
}

function valuesOf(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (thrown) {
    throw new UsageError(reasonOf(thrown));
  }
}

function planOf(args: readonly string[]): Plan {
  const values = valuesOf(args);
  const { 'base-url': baseUrl, model: name } = values;
  if (!values.report && (baseUrl === undefined || name === undefined))
    throw new UsageError('--base-url and --model are needed.');
  const apiKey = process.env['EVALUATE_API_KEY'];
  return {
    model: {
      baseUrl: baseUrl ?? '',
      name: name ?? '',
      ...(apiKey === undefined ? {} : { apiKey }),
      protocol: wordOf('protocol', values.protocol, ['text', 'native']),
      windowTokens: numberOf('window', values.window),
      temperature: numberOf('temperature', values.temperature),
    },
    arms: values.arms.split(',').map((arm) => wordOf('arms', arm, armNames)),
    jobs: jobsOf(values.jobs),
    seeds: values.seeds.split(',').map((seed) => numberOf('seeds', seed)),
    minutes: numberOf('minutes', values.minutes),
    out: values.out,
    isReport: values.report,
    isJson: values.json,
  };
}

/** The runs that a file holds. Errors: a line that is not JSON, by its number. */
function recordsIn(file: string): readonly RunRecord[] {
  if (!existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n');
  return lines.flatMap((line, at) => {
    if (line.trim() === '') return [];
    try {
      return [JSON.parse(line) as RunRecord];
    } catch {
      throw new UsageError(`Line ${at + 1} of ${file} is not JSON. Remove it to go on.`);
    }
  });
}

/** The job with its numbers, the same for every arm. */
export function drawnJob({ id, draw }: Job, seed: number): DrawnJob {
  const letters = Buffer.from(id).reduce((sum, byte) => (sum * 31 + byte) | 0, seed);
  const random = randomOf(letters);
  const number = (least: number, most: number): number =>
    least + Math.floor(random() * (most - least + 1));
  return draw({
    number,
    oneOf: (items) => {
      const item = items[number(0, items.length - 1)];
      if (item === undefined) throw new Error(`The job ${id} draws from an empty list.`);
      return item;
    },
  });
}

/** A task with a world of its own. */
export function taskOf(family: JobFamily, job: Job, seed: number, runId: string): Task {
  const drawn = drawnJob(job, seed);
  const { files = {}, facts = {} } = drawn;
  const world = { files: new Map(Object.entries(files)), effects: [], facts };
  return { family, drawn, world, runId, seed };
}

function recordOf(
  plan: Plan,
  [, { id: job, isHeldOut: heldOut }]: Plan['jobs'][number],
  seed: number,
  arm: ArmName,
  { drawn, world }: Task,
  { status, answer, turns, inputTokens, outputTokens }: ArmRun,
  seconds: number,
): RunRecord {
  const isCompleted = status === 'completed';
  const wrong = isCompleted ? drawn.check(world, answer) : status;
  return {
    ...{ model: plan.model.name, job, heldOut, seed, arm, solved: wrong === undefined },
    ...(wrong === undefined ? {} : { wrong }),
    ...{
      status,
      answer: answer.slice(0, 300),
      iterations: turns.length,
      turns,
      inputTokens,
      outputTokens,
      seconds,
    },
  };
}

/** The missing runs, a job with its arms after the other, so that a sitting that ends early has whole pairs. */
function missing(plan: Plan, known: ReadonlySet<string>) {
  const { name: model } = plan.model;
  return plan.seeds.flatMap((seed) =>
    plan.jobs.flatMap((each) =>
      plan.arms
        .filter((arm) => !known.has(keyOf({ model, job: each[1].id, seed, arm })))
        .map((arm) => ({ each, seed, arm })),
    ),
  );
}

async function play(plan: Plan, people: (line: string) => void): Promise<void> {
  const runs = missing(plan, new Set(recordsIn(plan.out).map((record) => keyOf(record))));
  if (runs.length === 0) return;
  const endsAtMs = Date.now() + plan.minutes * 60_000;
  installRuntime('error');
  const holdfast = await startHoldfast(plan.model, jobFamilies, plan.seeds);
  const armOf = (arm: ArmName, seed: number): Arm =>
    arm === 'raw-error' || arm === 'nothing' ? plainArm(plan.model, arm) : holdfast.arm(arm, seed);
  try {
    for (const [at, { each, seed, arm }] of runs.entries()) {
      if (Date.now() >= endsAtMs) {
        people(`Time is over: ${runs.length - at} runs are left for the next sitting.`);
        return;
      }
      const task = taskOf(each[0], each[1], seed, `${each[1].id}-${arm}-${seed}-${at}`);
      const startedAtMs = Date.now();
      const run = await armOf(arm, seed)(task);
      const seconds = Math.round((Date.now() - startedAtMs) / 100) / 10;
      const record = recordOf(plan, each, seed, arm, task, run, seconds);
      appendFileSync(plan.out, `${JSON.stringify(record)}\n`);
      people(
        `${at + 1}/${runs.length} ${record.job} seed ${seed} ${arm}: ${record.wrong ?? 'solved'} (${record.iterations} calls, ${seconds} s)`,
      );
    }
  } finally {
    await holdfast.close();
  }
}

/**
 * Plays what is missing, and reports what the file holds.
 *
 * Contract: with `--json` the last line of `result` is the summary. Resolves with the exit code: 0, or 2 for wrong usage.
 * Errors: what a server that does not answer makes of a run without Holdfast.
 */
export async function runEvaluation(
  args: readonly string[],
  { result, people }: ProgramOutput,
): Promise<number> {
  try {
    const plan = planOf(args);
    if (!plan.isReport) await play(plan, people);
    const summary = summaryOf(recordsIn(plan.out));
    if (plan.isJson) result(JSON.stringify(summary));
    else for (const line of reportLines(summary)) result(line);
    return 0;
  } catch (thrown) {
    if (!(thrown instanceof UsageError)) throw thrown;
    people(`${thrown.message}\n\n${usage}`);
    return 2;
  }
}
