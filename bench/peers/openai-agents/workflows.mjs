import { Agent } from '@openai/agents-core';
import { TemporalOpenAIRunner, activityAsTool } from '@temporalio/openai-agents/workflow';

const number = { type: 'number' };

/** The Agents SDK's own loop; each model call and each tool call is an activity. */
export async function openaiAgent(instructions, description, prompt, maxTurns) {
  const parameters = {
    type: 'object',
    properties: { k: number, size: number },
    required: ['k', 'size'],
    additionalProperties: false,
  };
  const lookup = activityAsTool(
    { name: 'lookup', description, parameters },
    { startToCloseTimeout: '1 minute' },
  );
  const agent = new Agent({ name: 'Researcher', instructions, model: 'scripted', tools: [lookup] });
  const { finalOutput } = await new TemporalOpenAIRunner().run(agent, prompt, { maxTurns });
  return finalOutput ?? '';
}
