/** The arguments of a call as people decide on them: without secrets, which are told apart by a digest (ADR 0041). */
import { createHash } from 'node:crypto';
import type { JsonObject } from '../../workflows/core/json';
import type { ShownArguments } from '../../workflows/core/secrets/ports';
import type { ShowOptions } from '../../workflows/core/secrets/shown-arguments';
import { shownArguments } from '../../workflows/core/secrets/shown-arguments';
import { withoutSecrets } from './known-secrets';

/** Hexadecimal digits of a hidden value's SHA-256: enough to tell values apart by eye (ADR 0041). */
const digestChars = 8;

function identify(value: string): string {
  return createHash('sha256').update(value).digest('hex').slice(0, digestChars);
}

/** The arguments, value by value. Contract: as `shownArguments`; secrets that this process was given are known by value. */
export function argumentsForPeople(
  input: JsonObject,
  options: Omit<ShowOptions, 'redact' | 'identify'>,
): ShownArguments {
  return shownArguments(input, { ...options, redact: withoutSecrets, identify });
}
