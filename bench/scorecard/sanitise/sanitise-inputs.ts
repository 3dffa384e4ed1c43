/** The inputs of the section: 400 secrets and 100 injections, each known by its place. */
import { injectionStrings } from './injection-strings';
import { secretShapes } from './secret-shapes';

/** One text that is sent through every sink. */
export interface SanitizeInput {
  readonly name: string;
  readonly text: string;
  /** None for an injection. */
  readonly secrets: readonly string[];
}

/** All inputs, secrets first. */
export const sanitizeInputs: readonly SanitizeInput[] = [
  ...secretShapes(),
  ...injectionStrings.map((text, index) => ({ name: `injection ${index}`, text, secrets: [] })),
];
