/** Plays cases of areas until the time is over, and makes what was found as small as it can. */
import { randomOf } from '../random';
import type { Finding, FuzzArea, FuzzInput, OpenFuzzArea } from './fuzz-area';

/** A finding with all that repeats it. */
export interface FoundCase extends Finding {
  readonly area: string;
  readonly seed: number;
  readonly case: number;
  /** What is left of the mutations when every one that does not matter is gone. */
  readonly mutations: readonly string[];
  readonly base: number;
}

/** What to play. */
export interface FuzzPlan {
  readonly areas: readonly FuzzArea[];
  readonly seed: number;
  /** Each area gets an equal part of it. */
  readonly budgetMs: number;
  /** At most so many cases of each area; absent: as many as the time allows. */
  readonly cases?: number;
  /** The first case to play. Default 0. */
  readonly from?: number;
  readonly onArea?: (name: string, cases: number) => void;
}

/** What came of it. */
export interface FuzzResult {
  readonly cases: number;
  readonly found: readonly FoundCase[];
}

/** Findings of one area after which it is left: more of them say nothing new. */
const mostOfArea = 20;

/** Takes out each mutation that the finding does not need. */
async function shrunk(
  area: OpenFuzzArea,
  input: FuzzInput,
  finding: Finding,
): Promise<readonly [FuzzInput, Finding]> {
  for (const left of input.mutations) {
    const smaller = { ...input, mutations: input.mutations.filter((each) => each !== left) };
    const same = finding.kind === 'hang' ? undefined : await area.attempt(smaller);
    if (same?.kind === finding.kind) return shrunk(area, smaller, same);
  }
  return [input, finding];
}

async function playArea(
  area: FuzzArea,
  { seed, cases = Infinity, from = 0 }: FuzzPlan,
  untilMs: number,
): Promise<FuzzResult> {
  const opened = await area.open();
  const found: FoundCase[] = [];
  let index = from;
  try {
    while (index - from < cases && Date.now() < untilMs && found.length < mostOfArea) {
      const input = opened.draw(randomOf(seed * 1_000_003 + index));
      const finding = await opened.attempt(input);
      if (finding !== undefined) {
        const [least, said] = await shrunk(opened, input, finding);
        const mutations = least.mutations.map(({ name }) => name);
        found.push({ area: area.name, seed, case: index, ...said, base: least.base, mutations });
      }
      index += 1;
    }
  } finally {
    await opened.close();
  }
  return { cases: index - from, found };
}

/** Plays one area after the other. Contract: the same seed and numbers give the same cases. */
export async function runFuzz(plan: FuzzPlan): Promise<FuzzResult> {
  const results: FuzzResult[] = [];
  for (const area of plan.areas) {
    const untilMs = Date.now() + plan.budgetMs / plan.areas.length;
    const result = await playArea(area, plan, untilMs);
    plan.onArea?.(area.name, result.cases);
    results.push(result);
  }
  return {
    cases: results.reduce((sum, { cases }) => sum + cases, 0),
    found: results.flatMap(({ found }) => found),
  };
}
