import { TemporalProvider } from '@temporalio/ai-sdk/workflow';
import { proxyActivities } from '@temporalio/workflow';
import { generateText, stepCountIs, tool } from 'ai';
import { z } from 'zod';

const { book } = proxyActivities({ startToCloseTimeout: '15 seconds' });
const provider = new TemporalProvider({ default: { startToCloseTimeout: '15 seconds' } });

/** The AI SDK's own loop; each model call and each tool call is an activity. */
export async function faultAgent(run) {
  const { text } = await generateText({
    model: provider.languageModel(`${run}/gpt-5`),
    system: `You book items, then say that you are done. RUN ${run}`,
    prompt: 'Book all.',
    tools: {
      book: tool({
        description: 'Books an item.',
        inputSchema: z.object({ item: z.number() }),
        execute: (input) => book(input),
      }),
    },
    stopWhen: stepCountIs(30),
  });
  return text;
}
