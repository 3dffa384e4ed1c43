/** Mutants that no test kills, each with its reason: what is left when the survivors of a sample have been read. */
import type { DisabledMutant } from './score-area';

/** By file, in the order of their lines. */
export const disabledMutants: readonly DisabledMutant[] = [];
