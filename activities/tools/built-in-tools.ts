/** The two tools that the core answers: `complete_task` and `ask_user`. */
import { z } from 'zod';
import { askUserTool, completeTaskTool } from '../../workflows/core/tools/ports';
import { UserError } from '../lifecycle/user-error';
import { defineTool, inputNamesOf } from './define-tool';
import type { Tool } from './tool';
import { ToolError } from './tool-error';

/** Names that belong to the runtime. */
export const reservedToolNames: readonly string[] = [completeTaskTool, askUserTool];

function answeredByCore(name: string): never {
  throw new ToolError(`${name} is answered by the run itself and never executed`);
}

/**
 * The tool that ends a run of completion `tool`: `{ summary, result? }`, where `result` must fit the agent's output schema if
 * it has one.
 *
 * Contract: for its schema and `parse`; the core answers the call, so `execute` throws.
 * Errors: `UserError` if the output schema cannot be described to a model.
 */
export function completeTaskSpec(outputSchema?: z.ZodType): Tool {
  const summary = z.string().min(1).describe('What was done, and its result.');
  const input =
    outputSchema === undefined
      ? z.object({ summary })
      : z.object({ summary, result: outputSchema.describe('The result that was asked for.') });
  return defineTool({
    name: completeTaskTool,
    description:
      'Ends the task, when the goal is reached or cannot be reached; say truthfully which.',
    input,
    effect: 'read',
    execute: () => answeredByCore(completeTaskTool),
  });
}

/** Whether a tool is a `complete_task` whose input holds the run's output. */
export function hasResult({ name, inputSchema }: Pick<Tool, 'name' | 'inputSchema'>): boolean {
  return name === completeTaskTool && inputNamesOf(inputSchema).includes('result');
}

/** Name of the form of an answer, for vendors that enforce it. */
export const answerForm = 'answer';

/**
 * The form of a text that ends a run of completion `text`, for an agent with an output schema.
 *
 * Contract: a tool for its schema and `parse` alone; no model is offered it.
 * Errors: `UserError` if the schema is not that of an object, or cannot be described to a model.
 */
export function answerSpec(where: string, outputSchema: z.ZodType): Tool {
  try {
    return defineTool({
      name: answerForm,
      description: 'The answer.',
      input: outputSchema,
      effect: 'read',
      execute: () => answeredByCore(answerForm),
    });
  } catch (thrown) {
    const why = thrown instanceof Error ? thrown.message : String(thrown);
    throw new UserError(
      `${where}: its output schema cannot be the form of a text answer; give z.object({ … }), or set completion: "tool". ${why}`,
      { cause: thrown },
    );
  }
}

/** The tool that asks a person and waits: `{ question }`. Contract: as for `completeTaskSpec`. */
export const askUserSpec: Tool = defineTool({
  name: askUserTool,
  description: 'Asks the person who set the goal one question, and waits for the answer.',
  input: z.object({
    question: z.string().min(1).describe('With everything that is needed to answer it.'),
  }),
  effect: 'read',
  execute: () => answeredByCore(askUserTool),
});
