/** Makes the tools by which an agent hands its run to another one (ADR 0060). */
import { z } from 'zod';
import { defined } from '../../workflows/core/json';
import type { AgentDefinition, Handoff, HandoffDefinition } from '../definitions/agent';
import { checkAgentShape } from '../definitions/checks/check-definition';
import { UserError } from '../lifecycle/user-error';
import { defineTool } from '../tools/define-tool';
import type { Tool } from '../tools/tool';

/** Characters of a reason. */
const reasonChars = 500;

const input = z.object({
  reason: z
    .string()
    .min(1)
    .max(reasonChars)
    .describe('Why, in one sentence, for the agent that takes over.'),
});

/** Handoffs of a run to one agent: more are a game of ping-pong (ADR 0060). */
const defaultMaxCalls = 5;

/** The longest name of an agent that a tool's name can hold. */
const longestName = 64 - 'transfer_to_'.length;

function definitionOf(handoff: Handoff): HandoffDefinition {
  if (typeof handoff === 'string') return { agent: handoff };
  return 'agent' in handoff ? handoff : { agent: handoff };
}

function handoffTool(from: string, handoff: Handoff): Tool {
  const { agent, description, approval, maxCalls = defaultMaxCalls } = definitionOf(handoff);
  const to = typeof agent === 'string' ? agent : agent.name;
  const where = `Agent "${from}", handoff to "${to}"`;
  if (to === from)
    throw new UserError(`${where}: an agent cannot hand over to itself. Leave it out.`);
  if (to.length > longestName)
    throw new UserError(
      `${where}: the name has ${to.length} characters, and vendors take tool names that leave ${longestName} for it. Give the agent a shorter name.`,
    );
  const tool = defineTool({
    name: `transfer_to_${to.replace(/[^\w-]/g, '_')}`,
    description: `Hands the conversation over to the agent "${to}", which takes it from here.${description === undefined ? '' : ` ${description}`}`,
    input,
    effect: 'read',
    quick: true,
    // Why it is handed over makes no other handoff of it.
    cosmetic: ['reason'],
    label: 'reason',
    maxCalls,
    ...defined({ approval }),
    execute: () => `The conversation was handed over to the agent "${to}", which continues it.`,
  });
  return { ...tool, handoff: to };
}

/**
 * The agents, each with a tool for each of its handoffs.
 *
 * Errors: `UserError` that names agent, handoff, value and remedy.
 */
export function withHandoffTools(agents: readonly AgentDefinition[]): readonly AgentDefinition[] {
  return agents.map((agent) => {
    checkAgentShape(agent);
    const { name, handoffs = [], tools } = agent;
    if (handoffs.length === 0) return agent;
    return { ...agent, tools: [...tools, ...handoffs.map((each) => handoffTool(name, each))] };
  });
}
