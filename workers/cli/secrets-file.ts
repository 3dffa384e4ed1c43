/** Reads secrets from a file or from standard input, so that no process has them in its environment. */
import { closeSync, openSync, readFileSync } from 'node:fs';
import { devNull } from 'node:os';
import path from 'node:path';
import { parseEnv } from 'node:util';
import { protectPath } from '../../activities/lifecycle/protected-paths';
import { rememberSecret } from '../../activities/untrusted/known-secrets';
import { isSettingName } from '../env';
import { reasonOf, SetupError } from '../setup-error';

/** Stands for standard input. */
const standardInput = '-';

/**
 * The variables of a file with lines `NAME=value`, as in a `.env` file. Each value is remembered as a secret, unless its name is
 * that of a setting.
 *
 * Contract: standard input is read to its end, once, and is empty then, so that no other process reads it again.
 * Errors: `SetupError` for a file that cannot be read or has no such line.
 */
export function readSecretsFile(
  name: string,
  directory: string,
): Readonly<Record<string, string | undefined>> {
  const isInput = name === standardInput;
  const file = path.resolve(directory, name);
  const shown = isInput ? 'standard input' : file;
  let text: string;
  try {
    text = readFileSync(isInput ? 0 : file, 'utf8');
  } catch (thrown) {
    throw new SetupError(
      `HOLDFAST_SECRETS_FILE names ${shown}, which cannot be read: ${reasonOf(thrown)}. Set it to a file with lines NAME=value, or to "-" for standard input.`,
      { cause: thrown },
    );
  }
  if (isInput) {
    closeSync(0);
    // Takes the lowest number that is free: 0 again.
    openSync(devNull, 'r');
  } else protectPath(file);
  const secrets = parseEnv(text);
  if (Object.keys(secrets).length === 0)
    throw new SetupError(
      `HOLDFAST_SECRETS_FILE names ${shown}, which has no line NAME=value. Write one per variable, such as ANTHROPIC_API_KEY=...`,
    );
  for (const [variable, value] of Object.entries(secrets))
    if (!isSettingName(variable)) rememberSecret(value);
  return secrets;
}
