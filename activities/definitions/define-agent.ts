/** Makes an agent of its author's definition, with types by which its runs are started. */
import type { z } from 'zod';
import type { Tool, ToolSource } from '../tools/tool';
import type { AgentDefinition } from './agent';
import { checkAgentShape } from './check-definition';

/**
 * Checks an agent's definition, and returns it with the types of its name, context, output and tools.
 *
 * Contract: nothing is read, connected or started, so that backend code may import the definition; workflow code imports its type.
 * Errors: `UserError` that names the agent and every field that is wrong, missing or unknown.
 */
export function defineAgent<
  const Name extends string,
  Context extends z.ZodType = z.ZodUndefined,
  Output extends z.ZodType = z.ZodUndefined,
  const Tools extends readonly (Tool<z.output<Context>> | ToolSource)[] = readonly [],
>(
  definition: AgentDefinition<Name, Context, Output, Tools>,
): AgentDefinition<Name, Context, Output, Tools> {
  checkAgentShape(definition);
  return definition;
}
