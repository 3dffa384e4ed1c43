/** Reads the changed arguments of `holdfast approve --edit`. */
import { readFile } from 'node:fs/promises';
import type { JsonObject } from '../../../workflows/core/json';
import { check, editedInputSchema } from '../../../client/check-input';
import { ClientError, reasonOf } from '../../../client/client-error';

/**
 * Changed arguments: JSON as it is, else the name of a file that holds it.
 *
 * Errors: `invalid-input`.
 */
export async function readEdit(given: string): Promise<JsonObject> {
  const isJson = /^\s*[{["]/.test(given);
  const remedy = 'Give a JSON object with all the arguments, or a file that holds one.';
  let value: unknown;
  try {
    value = JSON.parse(isJson ? given : await readFile(given, 'utf8'));
  } catch (thrown) {
    const what = isJson ? 'The changed arguments' : `The file ${given}`;
    throw new ClientError(
      'invalid-input',
      `${what} cannot be read: ${reasonOf(thrown)}. ${remedy}`,
    );
  }
  return check(editedInputSchema, value, remedy);
}
