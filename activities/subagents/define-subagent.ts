/** Makes a tool of another agent: the core runs it as a run of its own, with a share of the budget (ADR 0021). */
import { z } from 'zod';
import type { Limits } from '../../workflows/core/limits';
import { personTextChars } from '../../workflows/core/limits';
import type { Budget } from '../../workflows/core/budget/spend';
import type { SubagentPolicy } from '../../workflows/core/tools/ports';
import { defined } from '../../workflows/core/json';
import { checkOptions } from '../lifecycle/check-options';
import { InfraException } from '../lifecycle/infra-exception';
import { allowanceOf, checkBudget } from '../definitions/checks/check-budget';
import { UserError } from '../lifecycle/user-error';
import { defineTool } from '../tools/define-tool';
import type { AgentRequest, AgentType } from '../../workflows/core/typed-agent';
import type { Tool, ToolDefinition } from '../tools/tool';

const taskInput = z.object({
  task: z
    .string()
    .min(1)
    .max(personTextChars)
    .describe(
      'The task, with everything that the subagent must know. It does not see this conversation.',
    ),
});

/** A subagent as its author writes it. */
export interface SubagentDefinition<Agent extends AgentType = AgentType> {
  /** As a tool's name. */
  readonly name: string;
  /** What it is good for, and when to use it. */
  readonly description: string;
  /**
   * One of the worker's agents, or its name: its instructions, chain and tools are the subagent's. If it has a `context` schema, it
   * gets what that schema reads of the calling run's context; otherwise none.
   */
  readonly agent: Agent | Agent['name'];
  /**
   * Share of what is left of the run's budget that it may spend, above 0 and at most 1. Default 0.5; subagents of one reply
   * get at most 0.8 together.
   */
  readonly share?: number;
  /** At most this, within its share. */
  readonly budget?: Budget;
  /** Replaces limits of its agent; what the run has left of its own is never passed. */
  readonly limits?: Partial<Limits>;
  readonly approval?: ToolDefinition<typeof taskInput>['approval'];
}

/** Milliseconds in which an answer is brought in from the store. */
const answerTimeoutMs = 60_000;

/** Checked where it is used. */
const anything = z.unknown().optional();
const shape = z.strictObject({
  name: z.string({ error: 'give a string' }),
  description: z.string({ error: 'give a string' }),
  agent: z.custom(
    (value) => typeof value === 'string' || typeof (value as AgentType | null)?.name === 'string',
    'give an agent, as defineAgent returned it, or its name',
  ),
  share: anything,
  budget: anything,
  limits: anything,
  approval: anything,
});

function policyOf({
  name,
  agent,
  share,
  budget,
  limits,
}: SubagentDefinition): Omit<SubagentPolicy, 'tools'> {
  const where = `Subagent "${name}"`;
  if (share !== undefined && !(share > 0 && share <= 1))
    throw new UserError(`${where}: share is ${share}; give a number above 0 and at most 1.`);
  const allowance =
    budget === undefined ? undefined : allowanceOf(checkBudget(where, budget), undefined);
  return {
    agent: typeof agent === 'string' ? agent : agent.name,
    ...defined({ share, budget: allowance, limits }),
  };
}

/**
 * Creates the tool by which an agent delegates a task to another one.
 *
 * Contract: the subagent is a run of its own, a child of the calling run: it sees only the task, works in the same workspace,
 * and its answer comes back as the tool's output; nothing else of its transcript does.
 * Errors: `UserError` that names the subagent, the value and the remedy; an agent that the worker lacks is found when the
 * activities are made.
 */
export function defineSubagent<Agent extends AgentType = AgentType>(
  definition: SubagentDefinition<Agent>,
): Tool<AgentRequest<Agent> extends { readonly context: infer Context } ? Context : unknown> {
  checkOptions(
    `Subagent ${JSON.stringify((definition as Partial<SubagentDefinition> | undefined)?.name)}`,
    '',
    shape,
    definition,
    `Known options: ${Object.keys(shape.shape).join(', ')}.`,
  );
  const { name, description, approval } = definition;
  const tool = defineTool({
    name,
    description,
    input: taskInput,
    effect: 'read',
    label: 'task',
    timeoutMs: answerTimeoutMs,
    ...defined({ approval }),
    execute: () => {
      throw new InfraException({
        code: 'tool_infrastructure',
        message: `The subagent "${name}" is run by the workflow, not by a worker. Deploy workers of one release.`,
      });
    },
  });
  return { ...tool, subagent: policyOf(definition) };
}
