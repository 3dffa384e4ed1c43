/** Checks options that people give, before a run is spent on them. */
import type { z } from 'zod';
import { UserError } from './user-error';

/**
 * Returns the options as their schema parses them.
 *
 * Errors: `UserError` that names who set them, each option with its fault, and the remedy.
 */
export function checkOptions<Options>(
  where: string,
  name: string,
  schema: z.ZodType<Options>,
  options: unknown,
  remedy = '',
): Options {
  const parsed = schema.safeParse(options);
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) =>
    [[name, ...path].filter((part) => part !== '').join('.'), message]
      .filter((part) => part !== '')
      .join(': '),
  );
  throw new UserError(`${where}: ${[`${problems.join('; ')}.`, remedy].join(' ').trim()}`);
}
