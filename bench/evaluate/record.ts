/** One line a run: what the evaluation keeps, and what is counted from it. */
import { randomOf } from '../random';
import { wilsonInterval } from '../wilson';

/** The arms, as they are compared. */
export const armNames = ['shipped', 'no-recovery', 'raw-error', 'nothing'] as const;

export type ArmName = (typeof armNames)[number];

/** A run that has ended. */
export interface RunRecord {
  readonly model: string;
  readonly job: string;
  readonly heldOut: boolean;
  readonly seed: number;
  readonly arm: ArmName;
  readonly solved: boolean;
  /** What the check says; absent if the job is solved. */
  readonly wrong?: string;
  readonly status: string;
  /** The first 300 characters. */
  readonly answer: string;
  readonly iterations: number;
  /** Codes of the model's mistakes, by model call. */
  readonly turns: readonly (readonly string[])[];
  readonly inputTokens: number;
  readonly outputTokens: number;
  readonly seconds: number;
}

/** What identifies a run: it is not played twice. */
export function keyOf({
  model,
  job,
  seed,
  arm,
}: Pick<RunRecord, 'model' | 'job' | 'seed' | 'arm'>): string {
  return [model, job, seed, arm].join(' ');
}

/** A share of cases, with its interval of 95 % by Wilson's score. */
export interface Share {
  readonly of: number;
  readonly count: number;
  readonly share: number;
  readonly from: number;
  readonly to: number;
}

/** The share of `count` in `of`. */
export function shareOf(count: number, of: number): Share {
  const [from, to] = wilsonInterval(count, of);
  return { of, count, share: of === 0 ? 0 : count / of, from, to };
}

/** Mean of the differences of pairs, with its interval of 95 % by 10,000 seeded resamples. */
export interface Difference {
  readonly pairs: number;
  readonly mean: number;
  readonly from: number;
  readonly to: number;
}

/** Contract: the same for the same differences. */
export function differenceOf(differences: readonly number[]): Difference {
  const pairs = differences.length;
  if (pairs === 0) return { pairs, mean: 0, from: -1, to: 1 };
  const random = randomOf(1);
  const meanOf = (values: readonly number[]): number =>
    values.reduce((sum, value) => sum + value, 0) / pairs;
  const means = Array.from({ length: 10_000 }, () =>
    meanOf(differences.map(() => differences[Math.floor(random() * pairs)] ?? 0)),
  ).toSorted((left, right) => left - right);
  return { pairs, mean: meanOf(differences), from: means[249] ?? 0, to: means[9_749] ?? 0 };
}

/** A mistake, and whether the very next call made none. */
export function mistakesIn({
  turns,
}: Pick<RunRecord, 'turns'>): readonly (readonly [code: string, healed: boolean])[] {
  return turns.flatMap((codes, at) =>
    [...new Set(codes)].map((code) => [code, turns[at + 1]?.length === 0] as const),
  );
}
