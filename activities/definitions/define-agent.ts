/** Makes an agent of its author's definition, with types by which its runs are started. */
import type { z } from 'zod';
import type { AgentType, ContextOf } from '../../workflows/core/typed-agent';
import type { Tool, ToolSource } from '../tools/tool';
import type { AgentDefinition, Handoff } from './agent';
import { checkAgentShape } from './checks/check-definition';

/** `Given`, if this agent needs no context or can read this one; else nothing is. */
type IfReads<Agent extends AgentType, Context, Given> = [ContextOf<Agent>] extends [undefined]
  ? Given
  : Context extends ContextOf<Agent>
    ? Given
    : never;

/** The handoff, if its agent can read this agent's context. */
export type FittingHandoff<Given, Context> = Given extends AgentType
  ? IfReads<Given, Context, Given>
  : Given extends { readonly agent: infer Agent extends AgentType }
    ? IfReads<Agent, Context, Given>
    : Given;

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
  const Handoffs extends readonly Handoff<z.output<Context>>[] = readonly [],
>(
  definition: AgentDefinition<Name, Context, Output, Tools> & {
    readonly handoffs?: {
      readonly [Index in keyof Handoffs]: FittingHandoff<Handoffs[Index], z.output<Context>>;
    };
  },
): AgentDefinition<Name, Context, Output, Tools> {
  checkAgentShape(definition);
  return definition;
}
