/** The score of one area: a seeded sample of its mutants, without those that are known to change nothing. */
import path from 'node:path';
import { randomOf } from '../random';
import type { MutationArea } from './areas';
import { filesOf } from './areas';
import type { Mutant } from './instrument';
import { instrument } from './instrument';
import type { MutantResult } from './run-mutants';
import { runMutants } from './run-mutants';

/** A mutant that no test can kill, or that is not worth one, and why. */
export interface DisabledMutant {
  readonly file: string;
  /** The first line of what is changed, without its indentation. */
  readonly at: string;
  readonly mutator: string;
  readonly original: string;
  readonly replacement: string;
  readonly why: string;
}

/** What a sample of an area's mutants came to. */
export interface AreaScore {
  readonly area: string;
  /** All mutants of the area that are not disabled. */
  readonly mutants: number;
  readonly disabled: number;
  readonly results: readonly MutantResult[];
}

const plain = (code: string): string => code.replace(/\s+/g, ' ');

function keyOf(mutant: Omit<DisabledMutant, 'why'>): string {
  const { file, at, mutator, original, replacement } = mutant;
  return JSON.stringify([file, plain(at), mutator, plain(original), plain(replacement)]);
}

/** Errors: throws if an entry of the list fits no mutant any more, naming it. */
export function withoutDisabled(
  mutants: readonly Mutant[],
  disabled: readonly DisabledMutant[],
): readonly Mutant[] {
  const present = new Set(mutants.map(keyOf));
  const stale = disabled.find((each) => !present.has(keyOf(each)));
  if (stale !== undefined)
    throw new Error(
      `The list of disabled mutants names one that is not there: ${stale.mutator} of "${stale.at}" in ${stale.file}. Remove the entry, or adapt it to the line as it is now.`,
    );
  const keys = new Set(disabled.map(keyOf));
  return mutants.filter((each) => !keys.has(keyOf(each)));
}

/** The same mutants for a seed, in their order in the code. */
export function sampleOf(
  mutants: readonly Mutant[],
  size: number,
  seed: number,
): readonly Mutant[] {
  const random = randomOf(seed);
  const drawn = mutants.map((mutant, index) => ({ mutant, index, lot: random() }));
  return drawn
    .toSorted((left, right) => left.lot - right.lot)
    .slice(0, size)
    .toSorted((left, right) => left.index - right.index)
    .map(({ mutant }) => mutant);
}

/**
 * Mutates the area and runs its tests.
 *
 * Contract: `onResult` hears of each mutant at once.
 * Errors: rejects if a test fails with no mutant active, or if `disabled` names a mutant that is not there.
 */
export async function scoreArea(
  root: string,
  area: Omit<MutationArea, 'bar'>,
  { size, seed }: { readonly size: number; readonly seed: number },
  disabled: readonly DisabledMutant[],
  onResult: (result: MutantResult) => void,
): Promise<AreaScore> {
  const { sources, tests } = filesOf(root, area);
  const codeFolder = path.join(root, '.holdfast', 'mutate', area.name);
  const all = await instrument(root, sources, codeFolder);
  const here = disabled.filter(({ file }) => sources.includes(file));
  const mutants = withoutDisabled(all, here);
  const results = await runMutants(
    { root, codeFolder },
    { files: tests, without: area.without },
    sampleOf(mutants, size, seed),
    onResult,
  );
  return {
    ...{ area: area.name, results },
    ...{ mutants: mutants.length, disabled: all.length - mutants.length },
  };
}
