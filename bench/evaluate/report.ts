/** What the runs of an evaluation show, for people and for programs. */
import type { ArmName, Difference, RunRecord, Share } from './record';
import { armNames, differenceOf, mistakesIn, shareOf } from './record';

function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

const round = (value: number): number => Math.round(value * 1_000) / 1_000;

/** Rounds every number of a share or a difference. */
function rounded<Numbers extends object>(numbers: Numbers): Numbers {
  const entries = Object.entries(numbers).map(([name, value]: [string, number]) => [
    name,
    round(value),
  ]);
  return Object.fromEntries(entries) as Numbers;
}

/** What the runs of one arm show. Tokens, seconds and model calls are means of a run. */
interface ArmSummary {
  readonly runs: number;
  readonly solved: Share;
  /** By the mistake's code. */
  readonly healedAtFirstRetry: Readonly<Record<string, Share>>;
  readonly iterations: number;
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly seconds: number;
}

/** What some jobs show, by arm. */
interface PartSummary {
  readonly arms: Readonly<Record<string, ArmSummary>>;
  /** The share solved as shipped, less that of each other arm, over the same jobs with the same seeds. */
  readonly shippedLess: Readonly<Record<string, Difference>>;
}

/** What an evaluation shows. */
export interface EvaluationSummary {
  readonly heldOut: PartSummary;
  readonly tuned: PartSummary;
}

function armSummary(runs: readonly RunRecord[]): ArmSummary {
  const solved = runs.filter((run) => run.solved).length;
  const mistakes = runs.flatMap((run) => mistakesIn(run));
  const codes = [...new Set(mistakes.map(([code]) => code))].toSorted();
  const healed = codes.map((code) => {
    const all = mistakes.filter(([each]) => each === code);
    return [code, rounded(shareOf(all.filter(([, isHealed]) => isHealed).length, all.length))];
  });
  const each = (value: (run: RunRecord) => number): number =>
    runs.length === 0 ? 0 : round(sum(runs.map(value)) / runs.length);
  return {
    runs: runs.length,
    solved: rounded(shareOf(solved, runs.length)),
    healedAtFirstRetry: Object.fromEntries(healed) as ArmSummary['healedAtFirstRetry'],
    iterations: each(({ iterations }) => iterations),
    inputTokens: each(({ inputTokens }) => inputTokens),
    outputTokens: each(({ outputTokens }) => outputTokens),
    seconds: each(({ seconds }) => seconds),
  };
}

function differenceFrom(runs: readonly RunRecord[], other: ArmName): Difference {
  const found = (arm: ArmName, { job, seed }: RunRecord): RunRecord | undefined =>
    runs.find((run) => run.arm === arm && run.job === job && run.seed === seed);
  const differences = runs
    .filter(({ arm }) => arm === 'shipped')
    .flatMap((run) => {
      const beside = found(other, run);
      return beside === undefined ? [] : [Number(run.solved) - Number(beside.solved)];
    });
  return rounded(differenceOf(differences));
}

/** The jobs that were kept out of tuning, and the others, each by arm. */
export function summaryOf(runs: readonly RunRecord[]): EvaluationSummary {
  const part = (isHeldOut: boolean): PartSummary => {
    const chosen = runs.filter(({ heldOut }) => heldOut === isHeldOut);
    const present = armNames.filter((name) => chosen.some(({ arm }) => arm === name));
    return {
      arms: Object.fromEntries(
        present.map((name) => [name, armSummary(chosen.filter(({ arm }) => arm === name))]),
      ),
      shippedLess: Object.fromEntries(
        present
          .filter((name) => name !== 'shipped')
          .map((name) => [name, differenceFrom(chosen, name)]),
      ),
    };
  };
  return { heldOut: part(true), tuned: part(false) };
}

const percent = (share: number): string => `${Math.round(share * 100)} %`;

function linesOf(name: string, { arms, shippedLess }: PartSummary): readonly string[] {
  const rows = Object.entries(arms).map(([arm, { runs, solved, ...means }]) => {
    const share = `${percent(solved.share)} (${percent(solved.from)} to ${percent(solved.to)})`;
    const less = shippedLess[arm];
    const difference =
      less === undefined
        ? ''
        : `; shipped solves ${percent(less.mean)} more (${percent(less.from)} to ${percent(less.to)})`;
    return (
      `  ${arm}: ${solved.count} of ${runs} solved, ${share}${difference}; ` +
      `${means.iterations} model calls, ${means.inputTokens} + ${means.outputTokens} tokens, ${means.seconds} s a run`
    );
  });
  const healed = Object.entries(arms).flatMap(([arm, { healedAtFirstRetry }]) =>
    Object.entries(healedAtFirstRetry).map(
      ([code, { count, of }]) => `  ${arm}, ${code}: ${count} of ${of} over at the next call`,
    ),
  );
  return [`${name}:`, ...rows, ...healed];
}

/** The summary in lines. */
export function reportLines(summary: EvaluationSummary): readonly string[] {
  return [
    ...linesOf('Jobs kept out of tuning', summary.heldOut),
    ...linesOf('The other jobs', summary.tuned),
  ];
}
