/** What code of a tool's author sees of a run: of the run's context, only what the tool's own schema reads. */
import type { z } from 'zod';
import { InfraException } from '../lifecycle/infra-exception';
import type { RunContext, Tool } from './tool';

/** In words why a schema refuses a context; undefined if it takes it. No value is in it. */
export function contextProblem(schema: z.ZodType, context: unknown): string | undefined {
  const { error } = schema.safeParse(context);
  return error?.issues
    .map(({ path, message }) => `${['context', ...path].join('.')}: ${message}`)
    .join('; ');
}

/** How a tool reads a run's context. */
export interface ContextReader {
  readonly problem?: NonNullable<Tool['contextProblem']>;
  /** Errors: `config_invalid`: the tool's schema has changed since the run started. */
  readonly own: <Run extends RunContext>(run: Run) => Run;
}

/** Reads contexts for the tool of this name. */
export function contextReader(name: string, schema: z.ZodType | undefined): ContextReader {
  if (schema === undefined) return { own: (run) => ({ ...run, context: undefined }) };
  return {
    problem: (context) => contextProblem(schema, context),
    own: (run) => {
      const parsed = schema.safeParse(run.context);
      if (parsed.success) return { ...run, context: parsed.data };
      throw new InfraException({
        code: 'config_invalid',
        message: `Tool "${name}" cannot read the context of this run (${contextProblem(schema, run.context) ?? ''}): its schema has changed since the run started. Deploy a tool that takes the older context, or start the run again.`,
      });
    },
  };
}
