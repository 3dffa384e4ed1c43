import { Agent } from '@openai/agents-core';
import { TemporalOpenAIRunner, activityAsTool } from '@temporalio/openai-agents/workflow';

/** The Agents SDK's own loop; each model call and each tool call is an activity. */
export async function faultAgent(run) {
  const book = activityAsTool(
    {
      name: 'book',
      description: 'Books an item.',
      parameters: {
        type: 'object',
        properties: { item: { type: 'number' } },
        required: ['item'],
        additionalProperties: false,
      },
    },
    { startToCloseTimeout: '15s' },
  );
  const agent = new Agent({
    name: 'Booker',
    instructions: `You book items, then say that you are done. RUN ${run}`,
    model: `${run}/gpt-5`,
    tools: [book],
  });
  const { finalOutput } = await new TemporalOpenAIRunner().run(agent, 'Book all.', {
    maxTurns: 30,
  });
  return finalOutput ?? '';
}
