import { temporalProvider } from '@temporalio/ai-sdk/workflow';
import { proxyActivities } from '@temporalio/workflow';
import { generateText, stepCountIs, tool } from 'ai';
import { z } from 'zod';

const { lookup } = proxyActivities({ startToCloseTimeout: '1 minute' });

/** The AI SDK's own loop; each model call and each tool call is an activity. */
export async function aiSdkAgent(system, description, prompt, maxSteps) {
  const inputSchema = z.object({ k: z.number(), size: z.number() });
  const { text } = await generateText({
    model: temporalProvider.languageModel('scripted'),
    system,
    prompt,
    tools: { lookup: tool({ description, inputSchema, execute: (input) => lookup(input) }) },
    stopWhen: stepCountIs(maxSteps),
  });
  return text;
}
